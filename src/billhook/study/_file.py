"""Reading a study from a TOML file, with errors that say where."""

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

from billhook.study._check import InvalidStudyError, check_method
from billhook.study._positions import KeyPath, lines_of, path_text
from billhook.study._study import DataSource, Method, Study

TOP = ("name", "folds", "seed", "bases", "trees", "max_leaves", "n_trees", "pruning_data", "sizes", "caps")
ENTRIES = ("data", "methods")
EXTENDS = "extends"
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
    return _Reader(_StudyText.found(str(path), Path())).study()


class _StudyText:
    """The text of a study file, its table, and where things are in it."""

    def __init__(self, text: str, name: str, path: Path | None) -> None:
        self.text, self.name = text, name
        self.path = None if path is None else path.resolve()
        self.folder = Path.cwd() if path is None else path.parent
        try:
            self.table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise StudyFileError(f"{name} is not TOML: {error}") from None

    @classmethod
    def found(cls, given: str, folder: Path) -> "_StudyText":
        """Return the file at a path, which may be relative to a folder, or the one that comes with Billhook."""
        path, name = folder / given, given.removesuffix(".toml")
        if not path.is_file() and name in shipped():
            text = (files("billhook.study") / "studies" / f"{name}.toml").read_text(encoding="utf-8")
            return cls(text, f"{name}.toml", None)
        if not path.is_file():
            near = get_close_matches(name, shipped(), n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known by name are {', '.join(shipped())}"
            raise FileNotFoundError(f"there is no study {str(path)!r}; {hint}")
        try:
            return cls(path.read_text(encoding="utf-8-sig"), str(path), path)
        except UnicodeDecodeError as error:
            raise StudyFileError(f"{path} is no text: {error}") from None

    def place(self, path: KeyPath) -> str:
        """Return the file and the line of a key; where there is no single line, the path of the key."""
        lines = lines_of(self.text, path)
        if lines is None:
            return f"{self.name}: " if len(path) < 2 else f"{self.name}, {path_text(path)}: "
        first, last = lines
        if first == last or len(path) == 1:
            return f"{self.name}, line {first}: "
        return f"{self.name}, lines {first} to {last}, {path_text(path)}: "

    def error(self, path: KeyPath, message: str) -> StudyFileError:
        """Return an error about a key, whose name the message begins with."""
        key = next(step for step in reversed(path) if isinstance(step, str))
        return StudyFileError(f"{self.place(path)}{key} {message}")

    def check_keys(self, table: Mapping[str, Any], known: tuple[str, ...], path: KeyPath) -> None:
        for key in table:
            if key not in known:
                near = get_close_matches(key, known, n=1, cutoff=0.5)
                hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
                raise StudyFileError(f"{self.place((*path, key))}there is no key {key!r} here; {hint}")


class _Reader:
    """Makes a study of a file and of those that it extends."""

    def __init__(self, file: _StudyText) -> None:
        self.file = file
        self.table: dict[str, Any] = {}
        self.file_of: dict[str, _StudyText] = {}
        for text in reversed(self._extended(file)):
            text.check_keys(text.table, (EXTENDS, *TOP, *ENTRIES), ())
            keys = [key for key in text.table if key != EXTENDS]
            self.table |= {key: text.table[key] for key in keys}
            self.file_of |= dict.fromkeys(keys, text)
        if "name" not in file.table:
            self.table["name"] = Path(file.name).stem

    def _extended(self, file: _StudyText) -> list[_StudyText]:
        """Return a file, the one that it extends, and so on."""
        chain = [file]
        while EXTENDS in chain[-1].table:
            last = chain[-1]
            base = last.table[EXTENDS]
            if not isinstance(base, str) or not base:
                raise last.error((EXTENDS,), f"must be the name of a study, or the path of a file, not {base!r}")
            try:
                extended = _StudyText.found(base, last.folder)
            except FileNotFoundError as error:
                raise StudyFileError(f"{last.place((EXTENDS,))}{error}") from None
            if extended.path is not None and extended.path in [text.path for text in chain]:
                raise last.error((EXTENDS,), f"goes round in a circle, back to {extended.path}")
            chain.append(extended)
        return chain

    def study(self) -> Study:
        for key in ENTRIES:
            if not self.table.get(key):
                raise StudyFileError(f"{self.file.name} has no {key}: a study needs some")
        fields = {key: value for key, value in self.table.items() if key in TOP}
        fields["n_base_trees"] = fields.pop("trees", 256)
        for key in LISTS:
            if key in fields:
                if not isinstance(fields[key], list):
                    raise self.error((key,), f"must be a list, as {LISTS[key]}, not {fields[key]!r}")
                fields[key] = tuple(fields[key])
        fields["methods"] = tuple(self.method(entry, k) for k, entry in enumerate(self.entries("methods")))
        fields["data"] = tuple(self.source(entry, k) for k, entry in enumerate(self.entries("data")))
        try:
            return Study(**fields)
        except InvalidStudyError as error:
            raise StudyFileError(f"{self.place(error.path)}{error}") from None

    def source(self, entry: Any, k: int) -> DataSource:
        if isinstance(entry, str):
            return DataSource(entry)
        path = ("data", k)
        self.file_of["data"].check_keys(entry, OF_DATA, path)
        for key, value in entry.items():
            if not isinstance(value, str) or not value:
                raise self.error((*path, key), f"must be a text, not {value!r}")
        if "path" not in entry:
            if "name" not in entry:
                raise self.error(path, "needs a name, or the path of a table")
            if surplus := sorted(set(entry) - {"name"}):
                raise self.error((*path, surplus[0]), "is for tables of your own: give a path too")
            return DataSource(entry["name"])
        if "label" not in entry:
            raise self.error((*path, "path"), "needs a label too: the column to predict")
        if entry.get("missing", "keep") not in ("keep", "remove"):
            raise self.error((*path, "missing"), f"must be keep or remove, not {entry['missing']!r}")
        file = self.file_of["data"].folder / entry["path"]
        return DataSource(**{"name": file.stem.removesuffix(".csv"), **entry, "path": str(file)})

    def method(self, entry: Any, k: int) -> Method:
        path = ("methods", k)
        self.file_of["methods"].check_keys(entry, OF_METHOD, path)
        for key in STEPS:
            if not isinstance(entry.get(key, {}), dict):
                raise self.error((*path, key), f"must be a table of options, not {entry[key]!r}")
        for key in ("n_trees", "max_leaves"):
            if not isinstance(entry.get(key, []), list):
                raise self.error((*path, key), f"must be a list, as {LISTS[key]}, not {entry[key]!r}")
        if "label" not in entry:
            raise self.error(path, "needs a label: what it is called in tables")
        method = Method(**entry)
        try:
            check_method(method)
        except InvalidStudyError as error:
            raise StudyFileError(f"{self.place((*path, *error.path))}{error}") from None
        return method

    def entries(self, key: str) -> list[Any]:
        entries = self.table[key]
        if key == "data" and isinstance(entries, str):
            raise self.error((key,), f'must be a list, as ["{entries}"]')
        kinds = dict if key == "methods" else dict | str
        if not isinstance(entries, list) or not all(isinstance(entry, kinds) for entry in entries):
            raise self.error((key,), f"must be entries, each after a line [[{key}]]")
        return entries

    # In which file

    def error(self, path: KeyPath, message: str) -> StudyFileError:
        return self._file_at(path).error(path, message)

    def place(self, path: KeyPath) -> str:
        return self._file_at(path).place(path)

    def _file_at(self, path: KeyPath) -> _StudyText:
        return self.file_of.get(str(path[0]), self.file) if path else self.file
