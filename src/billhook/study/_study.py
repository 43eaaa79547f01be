"""What a study is: data sets, base ensembles, and the methods that are compared on them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Literal

from billhook.analysis import BOOSTING, SEARCH
from billhook.study._check import check_study

Options = dict[str, Any]
Frozen = tuple[tuple[str, Any], ...]
PruningData = Literal["training", "dedicated"]


@dataclass(frozen=True)
class DataSource:
    """A data set: by name, one of the paper's or of scikit-learn's; or a table, and the column to predict."""

    name: str
    path: str | None = None
    label: str | None = None
    split: str | None = None
    missing: Literal["keep", "remove"] = "keep"


@dataclass(frozen=True)
class Method:
    """A method: what it is called in tables, and what it does to a base ensemble.

    Attributes
    ----------
    label : str
    base : str, optional
        ``"gradient_boosting"``: it grows its own ensembles, and prunes nothing. ``"budget_search"``: it looks for
        the best model of some numbers of bytes. By default it works on each base ensemble of the study.
    prune : str
        ``"first"``, the first trees; or a method of `pruning_methods`.
    options : dict
        Of pruning, boosting or the search. A list is a choice: all of it is tried. (Kept as pairs, as the next two.)
    refine : dict, optional
        Options of `refine`, for what pruning leaves.
    merge : dict, optional
        `share`, of the size before, to which leaves are then merged; other options of `merge`.
    n_trees, max_leaves : tuple of int
        How many trees to leave, or rounds of boosting, and most leaves of a tree, if not as in the study.
    """

    label: str
    base: str | None = None
    prune: str = "first"
    options: Mapping[str, Any] | Frozen = ()
    refine: Mapping[str, Any] | Frozen | None = None
    merge: Mapping[str, Any] | Frozen | None = None
    n_trees: tuple[int, ...] | None = None
    max_leaves: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        for step in ("options", "refine", "merge"):
            options = getattr(self, step)
            if options is not None:
                pairs = options.items() if isinstance(options, Mapping) else options
                frozen = sorted((name, tuple(value) if isinstance(value, list) else value) for name, value in pairs)
                object.__setattr__(self, step, tuple(frozen))
        for numbers in ("n_trees", "max_leaves"):
            if isinstance(getattr(self, numbers), list):
                object.__setattr__(self, numbers, tuple(getattr(self, numbers)))

    def options_of(self, step: str) -> Frozen:
        """Return the options of a step, ``""``, ``"refine"`` or ``"merge"``, as they were given."""
        options: Frozen = getattr(self, step or "options") or ()
        return options

    def choices(self) -> list[Options]:
        """Return every choice of options that are lists, the first with the lists' first values."""
        named = [
            (f"{step}.{name}" if step else name, value)
            for step in ("", "refine", "merge")
            for name, value in self.options_of(step)
        ]
        lists = {key: value for key, value in named if isinstance(value, tuple)}
        return [dict(zip(lists, values, strict=True)) for values in product(*lists.values())]

    def settings(self, step: str, choice: Options) -> Options:
        """Return the options of a step, ``""``, ``"refine"`` or ``"merge"``, with a choice made of the lists."""
        prefix = f"{step}." if step else ""
        return {name: choice.get(prefix + name, value) for name, value in self.options_of(step)}


@dataclass(frozen=True)
class Study:
    """An experimental study.

    Attributes
    ----------
    name : str
    data : tuple of DataSource
    methods : tuple of Method
    folds, seed : int
        Of cross-validation; all that is drawn comes from the seed.
    bases : tuple of str
        Base ensembles: "random_forest", "extra_trees", "bagging".
    n_base_trees : int
        Trees of a base ensemble.
    max_leaves : tuple of int
        Most leaves of a tree: every one is a base ensemble of its own.
    n_trees : tuple of int
        How many trees the methods leave.
    pruning_data : {"training", "dedicated"}
        Whether trees are chosen and refined by the rows they were grown on, or by a third of the training rows that
        is kept for it.
    sizes : tuple of str
        How bytes are counted: "paper", "as_published", "packed".
    caps : tuple of float
        Kilobytes below which the best are listed.
    """

    name: str
    data: tuple[DataSource, ...]
    methods: tuple[Method, ...]
    folds: int = 5
    seed: int = 12345
    bases: tuple[str, ...] = ("random_forest",)
    n_base_trees: int = 256
    max_leaves: tuple[int, ...] = (64, 128, 256, 512, 1024)
    n_trees: tuple[int, ...] = (8, 16, 32, 64, 128)
    pruning_data: PruningData = "training"
    sizes: tuple[str, ...] = ("paper", "as_published")
    caps: tuple[float, ...] = (32, 64, 128, 256)

    def __post_init__(self) -> None:
        for name in ("data", "methods", "bases", "max_leaves", "n_trees", "sizes", "caps"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        check_study(self)
        for name in ("max_leaves", "n_trees", "caps"):
            object.__setattr__(self, name, tuple(sorted(getattr(self, name))))

    def as_json(self) -> str:
        """Return all of it as text."""
        return json.dumps(asdict(self), sort_keys=True)

    def differences(self, other: str) -> list[str]:
        """Return what differs from the study of a text, in words, but for what results do not depend on."""
        mine, theirs = json.loads(self.as_json()), json.loads(other)
        for fields in (mine, theirs):
            # Whether the data are the same, their contents tell.
            fields["data"] = [{"name": source["name"]} for source in fields.get("data", [])]
        differences = []
        for name in sorted((set(mine) | set(theirs)) - {"name", "caps"}):
            new, old = mine.get(name), theirs.get(name)
            if new == old:
                continue
            key = {"data": "name", "methods": "label"}.get(name)
            if key is not None and isinstance(new, list) and isinstance(old, list):
                new, old = ([entry[key] for entry in entries] for entries in (new, old))
                if new == old:
                    differences.append(f"{name}: the same names with other settings")
                    continue
            differences.append(f"{name}: {_short(old)} there, {_short(new)} here")
        return differences


@dataclass(frozen=True, order=True)
class Unit:
    """What is done at once, as it shares work: one base ensemble on one fold of one data set."""

    data: str
    fold: int
    base: str


@dataclass(frozen=True)
class Configuration:
    """One run on a unit."""

    unit: Unit
    method: Method
    choice: str  # as JSON
    n_leaves: int | None
    n_trees: int | None

    @property
    def key(self) -> tuple[str, int, str, str, str, int, int]:
        """What tells it apart from all others, as the table of results has it; -1 for what it does not have."""
        unit = self.unit
        leaves, trees = (-1 if number is None else number for number in (self.n_leaves, self.n_trees))
        return unit.data, unit.fold, unit.base, self.method.label, self.choice, leaves, trees


def units_of(study: Study, n_folds: dict[str, int]) -> list[Unit]:
    """Return the units of a study, by the number of folds that each data set has."""
    bases = [*study.bases] if any(method.base is None for method in study.methods) else []
    bases += [base for base in (BOOSTING, SEARCH) if any(method.base == base for method in study.methods)]
    return [Unit(name, fold, base) for name, n in n_folds.items() for base in bases for fold in range(n)]


def configurations_of(study: Study, unit: Unit) -> Iterator[Configuration]:
    """Yield the runs of a unit in the order in which they are made."""
    own = unit.base if unit.base in (BOOSTING, SEARCH) else None
    methods = [method for method in study.methods if method.base == own]
    if own == SEARCH:
        for method in methods:
            for choice in method.choices():
                yield Configuration(unit, method, as_text(choice), None, None)
        return
    for n_leaves in sorted({leaves for method in methods for leaves in method.max_leaves or study.max_leaves}):
        for method in (method for method in methods if n_leaves in (method.max_leaves or study.max_leaves)):
            for choice in method.choices():
                for n_trees in method.n_trees or study.n_trees:
                    yield Configuration(unit, method, as_text(choice), n_leaves, n_trees)


def as_text(choice: Options) -> str:
    """Return a choice as the table of results has it."""
    return json.dumps(choice, sort_keys=True)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
