"""What a study must be, whether it comes from a file or from Python: said before anything is run."""

import math
from collections.abc import Collection, Iterable
from inspect import Parameter
from typing import TYPE_CHECKING, Any

from billhook._checks import as_bytes, resolve_name
from billhook.analysis import BOOSTING, SEARCH
from billhook.pruning import evaluate_trees, pruning_methods, select_trees
from billhook.refinement import LOSSES, RefinementOptions

if TYPE_CHECKING:
    from billhook.study._study import Method, Study

BASES = ("random_forest", "extra_trees", "bagging")
SIZES = ("paper", "as_published", "packed")
ENGINES = ("xgboost", "histogram", "exact")
OF_BOOSTING = ("engine", "learning_rate", "max_depth", "min_samples_leaf")
OF_SEARCH = ("budget", "trials")
OF_MERGE = ("share", "loss", "l2")
LARGEST_SEED = 2**32 - 1


def check_study(study: "Study") -> None:
    """Raise an error that says what is wrong with a study."""
    _require(isinstance(study.name, str) and study.name, f"name must be a text, not {study.name!r}")
    for what, names in (
        ("data", [one.name for one in study.data]),
        ("methods", [one.label for one in study.methods]),
    ):
        _require(names, f"a study needs {what}")
        for k, name in enumerate(names):
            _require(name not in names[:k], f"{what} have the name {name!r} twice")
    check_whole("folds", study.folds, 2)
    check_whole("seed", study.seed, 0)
    _require(study.seed <= LARGEST_SEED, f"seed must be at most {LARGEST_SEED:,}, not {study.seed:,}")
    check_whole("trees", study.n_base_trees, 1)
    check_wholes("max_leaves", study.max_leaves, 2)
    check_wholes("n_trees", study.n_trees, 1)
    check_names("bases", study.bases, BASES)
    check_names("sizes", study.sizes, SIZES)
    _require("paper" in study.sizes, 'sizes must have "paper" in it')
    is_right = all(_is_number(cap) and 0 < cap < math.inf for cap in study.caps) and len(study.caps) > 0
    _require(is_right, f"caps must be numbers above 0, in kilobytes, not {list(study.caps)}")
    check_names("pruning_data", (study.pruning_data,), ("training", "dedicated"))
    for method in study.methods:
        try:
            check_method(method)
        except (ValueError, TypeError) as error:
            raise type(error)(f"method {method.label!r}: {error}") from None


def check_method(method: "Method") -> None:
    """Raise an error that says what is wrong with a method."""
    _require(isinstance(method.label, str) and method.label, "it needs a label: what it is called in tables")
    if method.n_trees is not None:
        check_wholes("n_trees", method.n_trees, 1)
    if method.max_leaves is not None:
        check_wholes("max_leaves", method.max_leaves, 2)
    for step in ("", "refine", "merge"):
        for name, value in method.given(step):
            several = value if isinstance(value, tuple) else (value,)
            is_plain = all(isinstance(one, str | int | float | bool) for one in several)
            _require(is_plain, f"{name} must be a text, a number, true or false, or a list of these, not {value!r}")
            is_list = not isinstance(value, tuple) or (value and len(set(value)) == len(value))
            _require(is_list, f"{name} must be different values in a list, not {list(several)}")
    if method.base is None:
        _check_of_forests(method)
        return
    resolve_name(method.base, dict.fromkeys((BOOSTING, SEARCH)), "base cannot be")
    for step in ("refine", "merge"):
        _require(getattr(method, step) is None, f"{step} goes with base ensembles, not with {method.base}")
    _require(method.prune == "first", f"prune goes with base ensembles, not with {method.base}")
    known = OF_BOOSTING if method.base == BOOSTING else OF_SEARCH
    check_keys("option", (name for name, _ in method.given("")), known)
    for choice in method.choices():
        settings = method.settings("", choice)
        if method.base == BOOSTING:
            _check_boosting(settings)
        else:
            _require("budget" in settings, "it needs the option budget, bytes or a list of them, as 4KB")
            as_bytes(settings["budget"], "budget")
            check_whole("trials", settings.get("trials"), 1)


def _check_of_forests(method: "Method") -> None:
    known = {"first": {}, **{one.name: one.options for one in pruning_methods()}}
    options = resolve_name(method.prune, known, "prune cannot be")
    _require(Parameter.empty not in options.values(), f"prune is {method.prune!r}, which takes a function: not here")
    check_keys("option", (name for name, _ in method.given("")), options)
    check_keys(
        "option of refine", (name for name, _ in method.given("refine")), RefinementOptions.__dataclass_fields__
    )
    check_keys("option of merge", (name for name, _ in method.given("merge")), OF_MERGE)
    for choice in method.choices():
        if method.prune != "first" and method.options:
            _rehearse(method.prune, method.settings("", choice))
        if method.refine is not None:
            settings = RefinementOptions(**method.settings("refine", choice))
            settings.check()
            _check_loss(settings.loss)
        if method.merge is not None:
            given = method.settings("merge", choice)
            _require("share" in given, "merge needs a share: of the size, to which leaves are merged")
            check_between("share", given["share"], 0.0, 1.0)
            _check_loss(given.get("loss"))
            if "l2" in given:
                check_between("l2", given["l2"], 0.0, math.inf)


def _check_boosting(settings: dict[str, Any]) -> None:
    engine = settings.get("engine", "xgboost")
    resolve_name(engine, dict.fromkeys(ENGINES), "engine cannot be")
    check_between("learning_rate", settings.get("learning_rate", 0.1), 0.0, math.inf)
    for name in ("max_depth", "min_samples_leaf"):
        if name in settings:
            check_whole(name, settings[name], 1)
    _require(engine != "xgboost" or "min_samples_leaf" not in settings, "min_samples_leaf is not for engine xgboost")


def _check_loss(name: Any) -> None:
    if name is not None:
        resolve_name(name, LOSSES, "loss cannot be")


def _rehearse(name: str, options: dict[str, Any]) -> None:
    """Let a pruning method choose among a few trees: it says itself what is wrong with its options."""
    from sklearn.datasets import load_iris
    from sklearn.ensemble import RandomForestClassifier

    from billhook.interop import as_forest

    X, y = load_iris(return_X_y=True)
    forest = as_forest(RandomForestClassifier(5, max_leaf_nodes=4, random_state=0).fit(X, y))
    select_trees(evaluate_trees(forest, X, y, None), name, 2, 0, options)


# Kinds of values


def check_whole(name: str, value: Any, least: int) -> None:
    """Raise an error if something is not a whole number of at least so much."""
    is_right = isinstance(value, int) and not isinstance(value, bool) and value >= least
    _require(is_right, f"{name} must be a whole number of at least {least}, not {value!r}")


def check_wholes(name: str, values: Any, least: int) -> None:
    """Raise an error if something is not several of them."""
    words = f"{name} must be different whole numbers of at least {least}, as [8, 16], not {_list(values)}"
    _require(isinstance(values, tuple) and values and len(set(values)) == len(values), words)
    _require(all(isinstance(one, int) and not isinstance(one, bool) and one >= least for one in values), words)


def check_between(name: str, value: Any, low: float, high: float) -> None:
    """Raise an error if something is not a number above `low` and not above `high`."""
    words = f"{name} must be a number above {low:g}" + ("" if high == math.inf else f" and at most {high:g}")
    _require(_is_number(value) and low < value <= high and math.isfinite(value), f"{words}, not {value!r}")


def check_names(name: str, values: Any, known: tuple[str, ...]) -> None:
    """Raise an error if something is not some of these names."""
    is_right = isinstance(values, tuple) and values and len(set(values)) == len(values)
    _require(is_right, f"{name} must be some of {', '.join(known)}, not {_list(values)}")
    for value in values:
        resolve_name(value, dict.fromkeys(known), f"{name} cannot be")


def check_keys(what: str, keys: Iterable[str], known: Collection[str]) -> None:
    """Raise an error if a key is not one of those known."""
    for key in keys:
        resolve_name(key, dict.fromkeys(known), f"there is no {what}", "known are" if known else "there are none")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _list(values: Any) -> Any:
    return list(values) if isinstance(values, tuple) else repr(values)


def _require(is_right: Any, words: str) -> None:
    if not is_right:
        raise ValueError(words)
