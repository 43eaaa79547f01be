"""The table of results that studies write and analyses read: its columns, statuses, and how bytes are counted."""

from typing import NamedTuple

KB = 1024
# Ensembles that are no forests to prune: the label of their method says all.
BOOSTING, SEARCH = "gradient_boosting", "budget_search"

DONE, FAILED, TIMED_OUT, SKIPPED = "done", "failed", "timed_out", "skipped"
# How a run ends, in words.
STATUSES = {DONE: "done", FAILED: "failed", TIMED_OUT: "timed out", SKIPPED: "skipped"}


class SizeAccounting(NamedTuple):
    """A way to count the bytes of a model: the column that has them, and what they are."""

    column: str
    words: str


SIZES = {
    "paper": SizeAccounting("size_paper", "17 + 4 C bytes a node for C classes, as the paper counts"),
    "as_published": SizeAccounting(
        "size_published", "as the paper's tables were billed: on some data sets 25 bytes a node"
    ),
    "packed": SizeAccounting("size_packed", "bytes of the packed model"),
}

# There is one run of each of these.
RUN_KEY = ("data", "fold", "base", "method", "options", "n_leaves", "n_trees")
# A configuration is all its runs, one a fold.
CONFIGURATION_KEY = tuple(name for name in RUN_KEY if name != "fold")
RUN_COLUMNS = (
    *RUN_KEY,
    "status",
    "reason",
    "accuracy_train",
    "accuracy",
    "balanced_accuracy",
    "f1",
    "n_nodes",
    *(size.column for size in SIZES.values()),
    "seconds",
    "seed",
)
CONFIGURATION_COLUMNS = (
    "data", "method", "base", "options", "n_leaves", "n_trees", "accuracy", "spread", "nbytes", "n_folds",
)  # fmt: skip
