"""The library's messages name parameters as Python has them; here they become the options of the command line."""

import re

# Parameters whose option is not their own name with dashes.
OTHER_NAMES = {
    "n_trials": "trials",
    "random_state": "seed",
    "n_jobs": "jobs",
    "n_trees": "trees",
    "max_leaves": "leaves",
    "max_rows": "rows",
    "max_depth": "depth",
    "scoring": "metric",
}
PARAMETERS = (
    "any_version",
    "backend",
    "batch_size",
    "budget",
    "categorical",
    "class_weight",
    "codebook",
    "compare",
    "costs",
    "epochs",
    "fill_missing",
    "force",
    "group",
    "inputs",
    "l2",
    "label",
    "layout",
    "leaf_bits",
    "loss",
    "max_cycles",
    "max_depth",
    "max_features",
    "max_leaves",
    "max_projections",
    "max_rows",
    "memory_limit",
    "method",
    "model",
    "n_jobs",
    "n_trees",
    "n_trials",
    "out",
    "proba",
    "package",
    "quantile",
    "random_state",
    "reserve",
    "resume",
    "scales",
    "scheduler",
    "scoring",
    "size",
    "skip_missing",
    "solver",
    "split",
    "step_size",
    "target",
    "task",
    "threshold_bits",
    "time_limit",
    "validation_fraction",
    "worker_timeout",
)
NAMES = "|".join(PARAMETERS)
WITH_UNDERSCORE = "|".join(name for name in PARAMETERS if "_" in name)
QUOTED = r"""'[^'\n]*'(?!\w)|"[^"\n]*"(?!\w)"""
# What belongs to the user: text in quotes (not an apostrophe) or backticks, and words with a slash, which are paths.
OF_THE_USER = rf"""(?<!\w)(?:{QUOTED})|`[^`]*`|[^\s'"`]*[/\\][^\s'"`]*"""
PIECES = re.compile(
    "|".join(
        (
            rf"(?P<user>{OF_THE_USER})",
            # As in "class_weight must be None for regression, not 'balanced'": nobody can give None here.
            rf"(?<![-\w.])(?P<unwanted>{NAMES}) must be None(?P<reason>[^,:;]*), not (?:{QUOTED}|[^\s,:;]+)",
            # As in budget='4KB', time_limit=60 and force=True.
            rf"(?<![-\w.])(?P<parameter>{NAMES})=(?P<value>{QUOTED}|True|False|None|[+-]?\d[\d.e+-]*(?!\w))",
            # As in "use leaf_bits": with an underscore it can be nothing else.
            rf"(?<![-\w.])(?P<name>{WITH_UNDERSCORE})(?![\w=]|\.\w)",
            # As in "leave costs out".
            rf"(?<=leave )(?P<left>{NAMES})(?= out)",
            # Not as in "a split must have two children".
            rf"(?<![-\w.])(?<!\ba )(?P<subject>{NAMES})(?= (?:must|keeps|says)\b)",
        )
    )
)


def as_options(message: str) -> str:
    """Return a message of the library with the options of the command line in place of parameters.

    Examples
    --------
    >>> as_options("say how large the model may be: budget='4KB', or target='arduino-uno'")
    'say how large the model may be: --budget 4KB, or --target arduino-uno'
    >>> as_options("n_trials must be at least 1, not 0")
    '--trials must be at least 1, not 0'
    >>> as_options("split must be 'time:COLUMN', not 'day': a split must have a column")
    "--split must be 'time:COLUMN', not 'day': a split must have a column"
    >>> as_options("the folder is not empty; force=True replaces files in it")
    'the folder is not empty; --force replaces files in it'
    >>> as_options("a codebook needs leaves of more than one number: use leaf_bits")
    'a codebook needs leaves of more than one number: use --leaf-bits'
    >>> as_options("this is regression: leave costs out")
    'this is regression: leave --costs out'
    >>> as_options("class_weight must be None for regression, not 'balanced': there are no classes")
    'leave --class-weight out for regression: there are no classes'

    What the user has named stays as it is:

    >>> as_options("data/target=1/rows.csv has no column 'size=1'")
    "data/target=1/rows.csv has no column 'size=1'"
    """
    return PIECES.sub(_translated, message)


def _translated(match: re.Match[str]) -> str:
    if match["user"] is not None:
        return match["user"]
    if match["unwanted"] is not None:
        return f"leave {_option(match['unwanted'])} out{match['reason']}"
    if match["parameter"] is None:
        return _option(match["name"] or match["left"] or match["subject"])
    value = match["value"].strip("'\"")
    return _option(match["parameter"]) if value == "True" else f"{_option(match['parameter'])} {value}"


def _option(parameter: str) -> str:
    return "--" + OTHER_NAMES.get(parameter, parameter).replace("_", "-")
