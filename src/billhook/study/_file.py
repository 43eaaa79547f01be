"""Reading a study from a TOML file, with errors that say where."""

import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

from billhook.study._check import check_method
from billhook.study._study import DataSource, Method, Study

TOP = ("name", "folds", "seed", "bases", "trees", "max_leaves", "n_trees", "pruning_data", "sizes", "caps")
ENTRIES = ("data", "methods")
OF_DATA = ("name", "path", "label", "split", "missing")
STEPS = ("options", "refine", "merge")
OF_METHOD = ("label", "base", "prune", *STEPS, "n_trees", "max_leaves")
LISTS = {
    "bases": '["random_forest"]',
    "sizes": '["paper"]',
    "max_leaves": "[64, 128]",
    "n_trees": "[8, 16]",
    "caps": "[32, 64]",
}
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
    if not Path(path).is_file() and name in shipped():
        text = (files("billhook.study") / "studies" / f"{name}.toml").read_text(encoding="utf-8")
        return _Reader(text, f"{name}.toml", Path.cwd()).study()
    path = Path(path)
    if not path.is_file():
        near = get_close_matches(name, shipped(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known by name are {', '.join(shipped())}"
        raise FileNotFoundError(f"there is no study {str(path)!r}; {hint}")
    try:
        text = path.read_text(encoding="utf-8-sig")
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
        for key in ENTRIES:
            if not self.table.get(key):
                raise StudyFileError(f"{self.name} has no {key}: a study needs some")
        given = {key: value for key, value in self.table.items() if key in TOP}
        given["n_base_trees"] = given.pop("trees", 256)
        given.setdefault("name", Path(self.name).stem)
        for key in LISTS:
            if key in given:
                if not isinstance(given[key], list):
                    raise self.error((key,), f"must be a list, as {LISTS[key]}, not {given[key]!r}")
                given[key] = tuple(given[key])
        given["methods"] = tuple(self.method(entry, k) for k, entry in enumerate(self.entries("methods")))
        given["data"] = tuple(self.source(entry, k) for k, entry in enumerate(self.entries("data")))
        try:
            return Study(**given)
        except (ValueError, TypeError) as error:
            key = str(error).split()[0]
            raise StudyFileError(f"{self.place((key,))}{error}") from None

    def source(self, entry: Any, k: int) -> DataSource:
        if isinstance(entry, str):
            return DataSource(entry)
        where = ("data", k)
        self.check_keys(entry, OF_DATA, where)
        for key, value in entry.items():
            if not isinstance(value, str) or not value:
                raise self.error((*where, key), f"must be a text, not {value!r}")
        if "path" not in entry:
            if "name" not in entry:
                raise self.error(where, "needs a name, or the path of a table")
            if surplus := sorted(set(entry) - {"name"}):
                raise self.error((*where, surplus[0]), "is for tables of your own: give a path too")
            return DataSource(entry["name"])
        if "label" not in entry:
            raise self.error((*where, "path"), "needs a label too: the column to predict")
        if entry.get("missing", "keep") not in ("keep", "remove"):
            raise self.error((*where, "missing"), f"must be keep or remove, not {entry['missing']!r}")
        path = self.folder / entry["path"]
        return DataSource(**{"name": path.stem.removesuffix(".csv"), **entry, "path": str(path)})

    def method(self, entry: Any, k: int) -> Method:
        where = ("methods", k)
        self.check_keys(entry, OF_METHOD, where)
        for key in STEPS:
            if not isinstance(entry.get(key, {}), dict):
                raise self.error((*where, key), f"must be a table of options, not {entry[key]!r}")
        for key in ("n_trees", "max_leaves"):
            if not isinstance(entry.get(key, []), list):
                raise self.error((*where, key), f"must be a list, as {LISTS[key]}, not {entry[key]!r}")
        if "label" not in entry:
            raise self.error(where, "needs a label: what it is called in tables")
        method = Method(**entry)
        try:
            check_method(method)
        except (ValueError, TypeError) as error:
            raise StudyFileError(f"{self.place((*where, *self.mentioned(entry, str(error))))}{error}") from None
        return method

    def mentioned(self, entry: Mapping[str, Any], words: str) -> Where:
        """Return where in an entry the key is that an error speaks of, as far as that can be told."""
        keys: list[Where] = [(step, key) for step in STEPS for key in entry.get(step, {})]
        keys += [(key,) for key in entry]
        places = [(-len(one), found.start(), one) for one in keys if (found := re.search(rf"\b{one[-1]}\b", words))]
        return min(places, key=lambda place: place[:2])[2] if places else ()

    # What is checked

    def entries(self, key: str) -> list[Any]:
        found = self.table[key]
        if key == "data" and isinstance(found, str):
            raise self.error((key,), f'must be a list, as ["{found}"]')
        kinds = dict if key == "methods" else dict | str
        if not isinstance(found, list) or not all(isinstance(one, kinds) for one in found):
            raise self.error((key,), f"must be entries, each after a line [[{key}]]")
        return found

    def check_keys(self, table: Mapping[str, Any], known: tuple[str, ...], where: Where) -> None:
        for key in table:
            if key not in known:
                near = get_close_matches(key, known, n=1, cutoff=0.5)
                hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
                raise StudyFileError(f"{self.place((*where, key))}there is no key {key!r} here; {hint}")

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
