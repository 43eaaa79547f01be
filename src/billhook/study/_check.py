"""What a study must be, whether it comes from a file or from Python: said before anything is run."""

import math
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from inspect import Parameter
from typing import TYPE_CHECKING, Any

from billhook._checks import as_bytes, resolve_name
from billhook.analysis import BOOSTING, SEARCH, SIZES
from billhook.pruning import pruning_methods
from billhook.refinement import LOSSES, RefinementOptions
from billhook.study._positions import KeyPath
from billhook.study._pruning_options import check_pruning_option

if TYPE_CHECKING:
    from billhook.study._study import Method, Study

BASES = ("random_forest", "extra_trees", "bagging")
ENGINES = ("xgboost", "histogram", "exact")
OF_BOOSTING = ("engine", "learning_rate", "max_depth", "min_samples_leaf")
OF_SEARCH = ("budget", "trials")
OF_MERGE = ("share", "loss", "l2")
LARGEST_SEED = 2**32 - 1


class InvalidStudyError(ValueError):
    """Something in a study that cannot be meant so.

    Attributes
    ----------
    path : tuple
        Where it is, in the words of a study file: ``("methods", 2, "n_trees")``.
    """

    def __init__(self, message: str, path: KeyPath = ()) -> None:
        super().__init__(message)
        self.path = path


@contextmanager
def at(*path: str | int) -> Iterator[None]:
    """Have errors say that they are about what is at this path."""
    try:
        yield
    except InvalidStudyError as error:
        raise InvalidStudyError(str(error), (*path, *error.path)) from None
    except (ValueError, TypeError) as error:
        raise InvalidStudyError(str(error), path) from None


def check_study(study: "Study") -> None:
    """Raise an error that says what is wrong with a study."""
    with at("name"):
        _require(isinstance(study.name, str) and study.name, f"name must be a text, not {study.name!r}")
    for what, names in (
        ("data", [source.name for source in study.data]),
        ("methods", [method.label for method in study.methods]),
    ):
        _require(names, f"a study needs {what}")
        for k, name in enumerate(names):
            with at(what, k):
                _require(name not in names[:k], f"{what} have the name {name!r} twice")
    check_whole("folds", study.folds, 2)
    check_whole("seed", study.seed, 0)
    with at("seed"):
        _require(study.seed <= LARGEST_SEED, f"seed must be at most {LARGEST_SEED:,}, not {study.seed:,}")
    check_whole("trees", study.n_base_trees, 1)
    check_wholes("max_leaves", study.max_leaves, 2)
    check_wholes("n_trees", study.n_trees, 1)
    check_names("bases", study.bases, BASES)
    check_names("sizes", study.sizes, tuple(SIZES))
    with at("sizes"):
        _require("paper" in study.sizes, 'sizes must have "paper" in it')
    with at("caps"):
        is_right = all(_is_number(cap) and 0 < cap < math.inf for cap in study.caps) and len(study.caps) > 0
        _require(is_right, f"caps must be numbers above 0, in kilobytes, not {list(study.caps)}")
    check_names("pruning_data", (study.pruning_data,), ("training", "dedicated"))
    for k, method in enumerate(study.methods):
        try:
            check_method(method)
        except InvalidStudyError as error:
            raise InvalidStudyError(f"method {method.label!r}: {error}", ("methods", k, *error.path)) from None


def check_method(method: "Method") -> None:
    """Raise an error that says what is wrong with a method, and at which key."""
    with at("label"):
        _require(isinstance(method.label, str) and method.label, "it needs a label: what it is called in tables")
    if method.n_trees is not None:
        check_wholes("n_trees", method.n_trees, 1)
    if method.max_leaves is not None:
        check_wholes("max_leaves", method.max_leaves, 2)
    for step in ("options", "refine", "merge"):
        for name, value in getattr(method, step) or ():
            with at(step, name):
                _check_plain(name, value)
    if method.base is None:
        _check_of_forests(method)
        return
    with at("base"):
        resolve_name(method.base, dict.fromkeys((BOOSTING, SEARCH)), "base cannot be")
    for step in ("refine", "merge"):
        with at(step):
            _require(getattr(method, step) is None, f"{step} goes with base ensembles, not with {method.base}")
    with at("prune"):
        _require(method.prune == "first", f"prune goes with base ensembles, not with {method.base}")
    known = OF_BOOSTING if method.base == BOOSTING else OF_SEARCH
    for choice in method.choices():
        with at("options"):
            check_keys("option", (name for name, _ in method.options_of("")), known)
            _check_own_base(method.base, method.settings("", choice))


def _check_plain(name: str, value: Any) -> None:
    values = value if isinstance(value, tuple) else (value,)
    is_plain = all(isinstance(item, str | int | float | bool) for item in values)
    _require(is_plain, f"{name} must be a text, a number, true or false, or a list of these, not {value!r}")
    is_list = not isinstance(value, tuple) or (value and len(set(value)) == len(value))
    _require(is_list, f"{name} must be different values in a list, not {list(values)}")


def _check_own_base(base: str, settings: dict[str, Any]) -> None:
    if base == BOOSTING:
        _check_boosting(settings)
        return
    _require("budget" in settings, "it needs the option budget, bytes or a list of them, as 4KB")
    with at("budget"):
        as_bytes(settings["budget"], "budget")
    check_whole("trials", settings.get("trials"), 1)


def _check_of_forests(method: "Method") -> None:
    known = {"first": {}, **{known.name: known.options for known in pruning_methods()}}
    with at("prune"):
        options = resolve_name(method.prune, known, "prune cannot be")
        takes_function = Parameter.empty in options.values()
        _require(not takes_function, f"prune is {method.prune!r}, which takes a function: not here")
    with at("options"):
        check_keys("option", (name for name, _ in method.options_of("")), options)
    with at("refine"):
        names = (name for name, _ in method.options_of("refine"))
        check_keys("option of refine", names, RefinementOptions.__dataclass_fields__)
    with at("merge"):
        check_keys("option of merge", (name for name, _ in method.options_of("merge")), OF_MERGE)
    for choice in method.choices():
        for name, value in method.settings("", choice).items():
            with at("options", name):
                check_pruning_option(name, value)
        if method.refine is not None:
            with at("refine"):
                _check_refinement(method.settings("refine", choice))
        if method.merge is not None:
            with at("merge"):
                _check_merge(method.settings("merge", choice))


def _check_refinement(settings: dict[str, Any]) -> None:
    _check_loss(settings.get("loss"))
    if error := _refinement_error(settings):
        # It is about the option without which it would not be raised.
        for name in settings:
            others = {other: value for other, value in settings.items() if other != name}
            if _refinement_error(others) != error:
                raise InvalidStudyError(error, (name,))
        raise InvalidStudyError(error)


def _refinement_error(settings: dict[str, Any]) -> str | None:
    try:
        RefinementOptions(**settings).check()
    except (ValueError, TypeError) as error:
        return str(error)
    return None


def _check_merge(settings: dict[str, Any]) -> None:
    _require("share" in settings, "merge needs a share: of the size, to which leaves are merged")
    check_between("share", settings["share"], 0.0, 1.0)
    _check_loss(settings.get("loss"))
    if "l2" in settings:
        check_between("l2", settings["l2"], 0.0, math.inf)


def _check_boosting(settings: dict[str, Any]) -> None:
    engine = settings.get("engine", "xgboost")
    with at("engine"):
        resolve_name(engine, dict.fromkeys(ENGINES), "engine cannot be")
    check_between("learning_rate", settings.get("learning_rate", 0.1), 0.0, math.inf)
    for name in ("max_depth", "min_samples_leaf"):
        if name in settings:
            check_whole(name, settings[name], 1)
    with at("min_samples_leaf"):
        is_right = engine != "xgboost" or "min_samples_leaf" not in settings
        _require(is_right, "min_samples_leaf is not for engine xgboost")


def _check_loss(name: Any) -> None:
    if name is not None:
        with at("loss"):
            resolve_name(name, LOSSES, "loss cannot be")


# Kinds of values; the name is that of the key.


def check_whole(name: str, value: Any, least: int) -> None:
    """Raise an error if something is not a whole number of at least so much."""
    is_right = isinstance(value, int) and not isinstance(value, bool) and value >= least
    with at(name):
        _require(is_right, f"{name} must be a whole number of at least {least}, not {value!r}")


def check_wholes(name: str, values: Any, least: int) -> None:
    """Raise an error if something is not several of them."""
    words = f"{name} must be different whole numbers of at least {least}, as [8, 16], not {_list(values)}"
    with at(name):
        _require(isinstance(values, tuple) and values and len(set(values)) == len(values), words)
        is_right = all(isinstance(value, int) and not isinstance(value, bool) and value >= least for value in values)
        _require(is_right, words)


def check_between(name: str, value: Any, low: float, high: float) -> None:
    """Raise an error if something is not a number above `low` and not above `high`."""
    words = f"{name} must be a number above {low:g}" + ("" if high == math.inf else f" and at most {high:g}")
    with at(name):
        _require(_is_number(value) and low < value <= high and math.isfinite(value), f"{words}, not {value!r}")


def check_names(name: str, values: Any, known: tuple[str, ...]) -> None:
    """Raise an error if something is not some of these names."""
    is_right = isinstance(values, tuple) and values and len(set(values)) == len(values)
    with at(name):
        _require(is_right, f"{name} must be some of {', '.join(known)}, not {_list(values)}")
        for value in values:
            resolve_name(value, dict.fromkeys(known), f"{name} cannot be")


def check_keys(what: str, keys: Iterable[str], known: Collection[str]) -> None:
    """Raise an error if a key is not one of those known."""
    for key in keys:
        with at(key):
            resolve_name(key, dict.fromkeys(known), f"there is no {what}", "known are" if known else "there are none")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _list(values: Any) -> Any:
    return list(values) if isinstance(values, tuple) else repr(values)


def _require(is_right: Any, words: str) -> None:
    if not is_right:
        raise ValueError(words)
