"""Reading a study from a TOML file, with errors that say where."""

import re
import tomllib
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib.resources import files
from inspect import Parameter
from os import PathLike
from pathlib import Path
from typing import Any

from billhook.pruning import pruning_methods
from billhook.refinement import Settings
from billhook.study._study import BASES, BOOSTING, SEARCH, SIZES, Method, Source, Study

TOP = ("name", "folds", "seed", "bases", "trees", "max_leaves", "n_trees", "pruning_data", "sizes", "caps")
ENTRIES = ("data", "methods")
OF_DATA = ("name", "path", "label", "split", "missing")
STEPS = ("options", "refine", "merge")
OF_METHOD = ("label", "base", "prune", *STEPS, "n_trees", "max_leaves")
OF_MERGE = ("share", "loss", "l2")
OF_BOOSTING = ("engine", "learning_rate", "max_depth", "min_samples_leaf")
ENGINES = ("xgboost", "histogram", "exact")
OF_SEARCH = ("budget", "trials")
Where = tuple[str | int, ...]


class StudyFileError(ValueError):
    """A study file that is not one."""


def shipped() -> tuple[str, ...]:
    """Return the names of the studies that come with Billhook.

    Examples
    --------
    >>> import billhook as bh
    >>> "paper" in bh.study.shipped()
    True
    """
    folder = files("billhook.study") / "studies"
    return tuple(sorted(path.name.removesuffix(".toml") for path in folder.iterdir() if path.name.endswith(".toml")))


def read(path: str | PathLike[str]) -> Study:
    """Return the study of a TOML file, or one that comes with Billhook, by its name or the name of its file.

    Paths of tables in it are relative to the file.

    Examples
    --------
    >>> import billhook as bh
    >>> study = bh.study.read("smoke")
    >>> [method.label for method in study.methods][:3]
    ['RF', 'RE', 'IC']
    """
    name = str(path).removesuffix(".toml")
    if not Path(path).exists() and name in shipped():
        text = (files("billhook.study") / "studies" / f"{name}.toml").read_text(encoding="utf-8")
        return _Reader(text, f"{name}.toml", Path.cwd()).study()
    path = Path(path)
    if not path.exists():
        near = get_close_matches(name, shipped(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known by name are {', '.join(shipped())}"
        raise FileNotFoundError(f"there is no study {str(path)!r}; {hint}")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise StudyFileError(f"{path} is no text: {error}") from None
    return _Reader(text, str(path), path.parent).study()


class _Reader:
    """Makes a study of a text, and knows where things are in it."""

    def __init__(self, text: str, name: str, folder: Path) -> None:
        self.text, self.name, self.folder = text, name, folder
        try:
            self.table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise StudyFileError(f"{name} is not TOML: {error}") from None

    def study(self) -> Study:
        self.check_keys(self.table, TOP + ENTRIES, ())
        for key in ("data", "methods"):
            if not self.table.get(key):
                raise StudyFileError(f"{self.name} has no {key}: a study needs some")
        given = {key: value for key, value in self.table.items() if key in TOP}
        given["n_base_trees"] = given.pop("trees", 256)
        given.setdefault("name", Path(self.name).stem)
        self.check("name", given["name"], lambda value: isinstance(value, str) and value, "a text")
        self.whole("folds", given.get("folds", 5), 2)
        self.whole("seed", given.get("seed", 0), 0)
        self.whole("trees", given["n_base_trees"], 1)
        for key, least in (("max_leaves", 2), ("n_trees", 1)):
            if key in given:
                given[key] = self.wholes((key,), given[key], least)
        for key, known in (("bases", BASES), ("sizes", SIZES)):
            if key in given:
                given[key] = self.names((key,), given[key], known)
        if "paper" not in given.get("sizes", SIZES):
            raise self.error(("sizes",), 'must have "paper" in it')
        if "caps" in given:
            self.check(
                "caps", given["caps"], lambda value: _is_list(value, _is_above_0), "numbers above 0, kilobytes"
            )
            given["caps"] = tuple(given["caps"])
        if "pruning_data" in given:
            self.one_of(("pruning_data",), given["pruning_data"], ("training", "dedicated"))
        methods = tuple(self.method(entry, k) for k, entry in enumerate(self.entries("methods")))
        data = tuple(self.source(entry, k) for k, entry in enumerate(self.entries("data")))
        self.distinct([one.label for one in methods], "methods", "label")
        self.distinct([one.name for one in data], "data", "name")
        return Study(**{**given, "methods": methods, "data": data})

    def source(self, entry: Any, k: int) -> Source:
        if isinstance(entry, str):
            return Source(entry)
        where = ("data", k)
        self.check_keys(entry, OF_DATA, where)
        for key, value in entry.items():
            self.check((*where, key), value, lambda value: isinstance(value, str) and value, "a text")
        if "path" not in entry:
            if "name" not in entry:
                raise self.error(where, "needs a name, or the path of a table")
            if surplus := sorted(set(entry) - {"name"}):
                raise self.error((*where, surplus[0]), "is for tables of your own: give a path too")
            return Source(entry["name"])
        if "label" not in entry:
            raise self.error((*where, "path"), "needs a label too: the column to predict")
        self.one_of((*where, "missing"), entry.get("missing", "keep"), ("keep", "remove"))
        path = self.folder / entry["path"]
        return Source(**{"name": path.stem.removesuffix(".csv"), **entry, "path": str(path)})

    def method(self, entry: Any, k: int) -> Method:
        where = ("methods", k)
        self.check_keys(entry, OF_METHOD, where)
        if not isinstance(entry.get("label"), str) or not entry["label"]:
            raise self.error(where, "needs a label: what it is called in tables")
        base = entry.get("base")
        if base is not None:
            self.one_of((*where, "base"), base, (BOOSTING, SEARCH))
        for key in STEPS:
            if key in entry:
                self.check((*where, key), entry[key], lambda value: isinstance(value, dict), "a table of options")
        options = entry.get("options", {})
        if base is not None:
            for key in ("prune", "refine", "merge"):
                if key in entry:
                    raise self.error((*where, key), f"goes with base ensembles, not with {base}")
            self.check_keys(options, OF_BOOSTING if base == BOOSTING else OF_SEARCH, (*where, "options"))
            if base == BOOSTING:
                self.one_of((*where, "options", "engine"), options.get("engine", "xgboost"), ENGINES)
            elif "budget" not in options or "trials" not in options:
                raise self.error(where, "needs the options budget, bytes or a list of them, and trials")
        else:
            known = {"first": {}, **{one.name: one.options for one in pruning_methods()}}
            prune = entry.get("prune", "first")
            self.one_of((*where, "prune"), prune, tuple(known))
            if Parameter.empty in known[prune].values():
                raise self.error(
                    (*where, "prune"), f"is {prune!r}, which takes a function of your own: none in a file"
                )
            self.check_keys(options, tuple(known[prune]), (*where, "options"))
            self.check_keys(entry.get("refine", {}), tuple(Settings.__dataclass_fields__), (*where, "refine"))
            self.check_keys(entry.get("merge", {}), OF_MERGE, (*where, "merge"))
            if "merge" in entry and "share" not in entry["merge"]:
                raise self.error((*where, "merge"), "needs a share: of the size, to which leaves are merged")
        for key in STEPS:
            self.check_lists(entry.get(key, {}), (*where, key))
        steps: dict[str, Any] = {key: _frozen(entry[key]) for key in STEPS if key in entry}
        for key, least in (("n_trees", 1), ("max_leaves", 2)):
            if key in entry:
                steps[key] = self.wholes((*where, key), entry[key], least)
        return Method(entry["label"], base, entry.get("prune", "first"), **steps)

    def check_lists(self, options: Mapping[str, Any], where: Where) -> None:
        for key, value in options.items():
            if isinstance(value, list):
                self.check(
                    (*where, key), value, lambda value: _is_list(value, _is_plain), "different values in a list"
                )
            else:
                self.check((*where, key), value, _is_plain, "a text, a number, true or false, or a list of these")

    # What is checked

    def entries(self, key: str) -> list[Any]:
        found = self.table[key]
        if not isinstance(found, list) or not all(isinstance(one, dict | str) for one in found):
            raise self.error((key,), f"must be entries, each after a line [[{key}]]")
        if key == "methods" and any(isinstance(one, str) for one in found):
            raise self.error((key,), "must be entries, each after a line [[methods]]")
        return found

    def check_keys(self, table: Mapping[str, Any], known: tuple[str, ...], where: Where) -> None:
        for key in table:
            if key not in known:
                near = get_close_matches(key, known, n=1, cutoff=0.5)
                hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known) or 'none'}"
                raise StudyFileError(f"{self.place((*where, key))}there is no key {key!r} here; {hint}")

    def check(self, where: str | Where, value: Any, is_right: Callable[[Any], Any], what: str) -> None:
        if not is_right(value):
            raise self.error((where,) if isinstance(where, str) else where, f"must be {what}, not {value!r}")

    def whole(self, key: str, value: Any, least: int) -> None:
        self.check(key, value, lambda value: _is_whole(value, least), f"a whole number of at least {least}")

    def wholes(self, where: Where, value: Any, least: int) -> tuple[int, ...]:
        what = f"different whole numbers of at least {least}, as [8, 16]"
        self.check(where, value, lambda value: _is_list(value, lambda one: _is_whole(one, least)), what)
        return tuple(sorted(value))

    def names(self, where: Where, value: Any, known: tuple[str, ...]) -> tuple[str, ...]:
        self.check(where, value, lambda value: _is_list(value, lambda one: isinstance(one, str)), f"some of {known}")
        for one in value:
            self.one_of(where, one, known)
        return tuple(value)

    def one_of(self, where: Where, value: Any, known: tuple[str, ...]) -> None:
        if value not in known:
            near = get_close_matches(str(value), known, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
            raise self.error(where, f"cannot be {value!r}; {hint}")

    def distinct(self, names: list[str], key: str, what: str) -> None:
        for k, name in enumerate(names):
            if name in names[:k]:
                raise self.error((key, k), f"have the {what} {name!r} twice")

    def error(self, where: Where, message: str) -> StudyFileError:
        """Return an error about a key."""
        key = next(part for part in reversed(where) if isinstance(part, str))
        return StudyFileError(f"{self.place(where)}{key} {message}")

    def place(self, where: Where) -> str:
        """Return the file and, if it can be found, the line of a key."""
        line = line_of(self.text, where)
        return f"{self.name}: " if line is None else f"{self.name}, line {line}: "


def line_of(text: str, where: Where) -> int | None:
    """Return the line of a TOML text in which a key is, by tables, numbers in lists of tables, and names."""
    table: Where = ()
    counts: dict[str, int] = {}
    best: tuple[int, int] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[\[?\s*([^\]]+?)\s*\]\]?", line)
        if header and "=" not in line.split("]")[0]:
            names = [part.strip().strip("\"'") for part in header[1].split(".")]
            if line.lstrip().startswith("[["):
                counts[names[0]] = counts.get(names[0], -1) + 1
            table = (names[0], *([counts[names[0]]] if names[0] in counts else []), *names[1:])
            found = len(table) if where[: len(table)] == table else 0
        else:
            keys = re.findall(r"[\"']?([\w.-]+)[\"']?\s*=", line.split("#")[0])
            found = 0
            if where[: len(table)] == table:
                rest = [part for part in where[len(table) :] if isinstance(part, str)]
                n_found = 0
                for key in keys:
                    n_found += n_found < len(rest) and key == rest[n_found]
                found = len(table) + n_found if n_found else 0
        if found and (best is None or found > best[0]):
            best = (found, number)
    return None if best is None else best[1]


def _frozen(table: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted((key, tuple(value) if isinstance(value, list) else value) for key, value in table.items()))


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_above_0(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _is_list(value: Any, is_right: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and bool(value) and all(map(is_right, value)) and len(set(value)) == len(value)
