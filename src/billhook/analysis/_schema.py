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
    "paper": SizeAccounting("size_paper", "as the paper counts: 17 + 4 C bytes per node for C classes"),
    "as_published": SizeAccounting("size_published", "as in the paper's tables: 25 bytes per node on some data sets"),
    "packed": SizeAccounting("size_packed", "the packed model, without the code that reads it"),
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
