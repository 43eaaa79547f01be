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
}
PARAMETERS = (
    "backend",
    "batch_size",
    "budget",
    "categorical",
    "class_weight",
    "codebook",
    "epochs",
    "force",
    "inputs",
    "l2",
    "label",
    "layout",
    "leaf_bits",
    "loss",
    "max_leaves",
    "max_rows",
    "memory_limit",
    "method",
    "model",
    "n_jobs",
    "n_trees",
    "n_trials",
    "out",
    "random_state",
    "reserve",
    "scales",
    "scheduler",
    "scoring",
    "size",
    "skip_missing",
    "solver",
    "step_size",
    "target",
    "task",
    "threshold_bits",
    "time_limit",
    "validation_fraction",
)
# As in `budget='4KB'` and `time_limit=60`, and at the beginning of "budget must be ...".
WITH_VALUE = re.compile(rf"\b({'|'.join(PARAMETERS)})=('[^']*'|\"[^\"]*\"|[\w.+-]+)")
# As in "(skip_missing, --skip-missing)" and "force (--force) replaces".
BOTH_NAMES = re.compile(r"(?<=\()\w+, (?=--\w)|\b\w+ \((--[\w-]+)\)")
# As in "use leaf_bits": with an underscore it can be nothing else, but in quotes it is a name of the user's.
WITH_UNDERSCORE = re.compile(rf"(?<![-\w'\"])({'|'.join(name for name in PARAMETERS if '_' in name)})(?![\w'\"=])")
ALONE = re.compile(rf"(?<![-\w])({'|'.join(PARAMETERS)})(?= (?:must|keeps|says)\b)")


def as_options(message: str) -> str:
    """Return a message of the library with the options of the command line in place of parameters.

    Examples
    --------
    >>> as_options("say how large the model may be: budget='4KB', or target='arduino-uno'")
    'say how large the model may be: --budget 4KB, or --target arduino-uno'
    >>> as_options("n_trials must be at least 1, not 0")
    '--trials must be at least 1, not 0'
    >>> as_options("the folder is not empty; force=True replaces files in it")
    'the folder is not empty; --force replaces files in it'
    >>> as_options("a codebook needs leaves of more than one number: use leaf_bits")
    'a codebook needs leaves of more than one number: use --leaf-bits'
    """
    message = BOTH_NAMES.sub(lambda match: match[1] or "", message)
    message = WITH_VALUE.sub(_with_value, message)
    for pattern in (WITH_UNDERSCORE, ALONE):
        message = pattern.sub(lambda match: _option(match[1]), message)
    return message


def _with_value(match: re.Match[str]) -> str:
    value = match[2].strip("'\"")
    return _option(match[1]) if value == "True" else f"{_option(match[1])} {value}"


def _option(parameter: str) -> str:
    return "--" + OTHER_NAMES.get(parameter, parameter).replace("_", "-")
