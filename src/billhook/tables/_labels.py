"""The label column: classes, or numbers for regression."""

import re
from reprlib import repr as short
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from billhook._checks import resolve_name
from billhook._types import Task
from billhook.tables._cells import MISSING, as_number
from billhook.tables._collect import LabelColumn
from billhook.tables._decimal_commas import WRITE_POINTS, comma_in

# A class may well be called none.
NO_LABEL = MISSING - {"none"}
# Whole numbers are taken for classes if they are few, and each has some rows.
MOST_GUESSED, ROWS_EACH = 32, 3
MOST_CLASSES = 1000


class TrainingLabels(NamedTuple):
    """The label of each row, the task, and notes on how the task was guessed."""

    y: NDArray[Any]
    task: Task
    notes: tuple[str, ...]


def target_of(labels: LabelColumn, name: str, title: str, task: str | None) -> TrainingLabels:
    """Return the labels as classes or numbers.

    Without a task, text and few different whole numbers are classes, and other numbers are for regression.
    """
    where = label_column(name, title)
    known: dict[str, Task] = {name: name for name in get_args(Task)}
    asked = None if task is None else resolve_name(task, known, "there is no task")
    different = list(dict.fromkeys(labels.cells.tolist()))
    numbers = _numbers(different, asked, is_text=labels.is_text)
    check_present(labels.cells, where, NO_LABEL if numbers is None else MISSING)
    chosen, notes = (asked, ()) if asked else _guess(different, numbers, repr(name), len(labels.cells))
    comma = comma_in(map(str, different)) if numbers is None and not labels.is_text else None
    if comma is not None and (asked == "regression" or len(different) > MOST_GUESSED):
        raise ValueError(f"{where} holds {short(comma)}: {WRITE_POINTS}")
    is_regression = chosen == "regression"
    y = _as_numbers(labels.cells, numbers, where) if is_regression else _as_classes(labels, numbers, where)
    n_different = np.unique(y).size
    if n_different == 1:
        raise ValueError(f"{where} is {short(different[0])} in every row: nothing to learn; name another column")
    if chosen == "classification":
        _check_classes(n_different, y, where)
    return TrainingLabels(y, chosen, notes)


def label_name(label: str, names: tuple[str, ...], title: str) -> str:
    """Return the name of the label column; -1 stands for the last column unless one is called so."""
    if label not in names and re.fullmatch(r"-\d+", str(label)) and 1 <= -int(label) <= len(names):
        return names[int(label)]
    name = resolve_name(label, {name: name for name in names}, f"{title} has no column", "its columns are")
    if len(names) < 2:
        raise ValueError(f"{title} has no column beside {name!r}")
    return name


def label_column(name: str, title: str) -> str:
    """Return what messages call the column of the labels."""
    return f"the label column {name!r} of {title}"


def check_present(cells: NDArray[Any], where: str, missing: frozenset[str], n_before: int = 0) -> None:
    """Raise ValueError if a label is missing; before these cells the file has so many others."""
    absent = {cell for cell in set(cells.tolist()) if _is_absent(cell, missing)}
    if not absent:
        return
    rows = [row for row, cell in enumerate(cells.tolist(), n_before + 1) if _is_absent(cell, missing)]
    cells_text = "1 empty cell" if len(rows) == 1 else f"{len(rows):,} empty cells"
    raise ValueError(
        f"{where} has {cells_text} among {n_before + len(cells):,}, the first in row {rows[0]:,}: fill "
        "them in, or remove these rows"
    )


def labels_like(y: NDArray[Any], classes: NDArray[Any] | None) -> NDArray[Any]:
    """Return the labels of a file as the classes that they stand for, or as numbers; unknown ones stay as they are.

    A text file does not tell 1 from "1" or from 1.0: the classes do.
    """
    if classes is None:
        try:
            return y.astype(np.float64)
        except ValueError as error:
            raise ValueError(f"the labels must be numbers: {error}") from None
    known = {str(label): label for label in classes.tolist()}
    if classes.dtype.kind == "b":
        known |= {"true": True, "false": False, "1": True, "0": False, "TRUE": True, "FALSE": False}
    elif classes.dtype.kind in "iuf":
        known |= {str(float(label)): label for label in classes.tolist()}
    labels = [known.get(str(label), label) for label in y.tolist()]
    return np.array(labels, dtype=object)


def _is_absent(cell: Any, missing: frozenset[str]) -> bool:
    return cell is None or (isinstance(cell, str) and cell.lower() in missing) or cell != cell


def _numbers(different: list[Any], asked: Task | None, *, is_text: bool) -> dict[Any, float] | None:
    """Return the number that each cell stands for; None if they are text."""
    if asked != "regression" and is_text:
        return None
    texts = [cell for cell in different if isinstance(cell, str)]
    # 01 and 02 are text: the zero would be lost.
    if asked != "regression" and any(re.match(r"[+-]?0\d", text) for text in texts):
        return None
    try:
        return {cell: as_number(cell) if cell is None or isinstance(cell, str) else float(cell) for cell in different}
    except (ValueError, TypeError):
        return None


def _guess(
    different: list[Any], numbers: dict[Any, float] | None, name: str, n_rows: int
) -> tuple[Task, tuple[str, ...]]:
    if numbers is None:
        return "classification", (f"{name} holds text with {len(different):,} different values: classification.",)
    values = set(numbers.values())
    count = len(values)
    is_whole = all(value == np.rint(value) for value in values)
    if is_whole and (count <= 2 or (count <= MOST_GUESSED and count * ROWS_EACH <= n_rows)):
        why = f"{name} has {count} different whole numbers: classification; task='regression' overrides."
        return "classification", (why,)
    kind = "whole numbers" if is_whole else "numbers"
    return "regression", (f"{name} has {count:,} different {kind}: regression; task='classification' overrides.",)


def _as_numbers(cells: NDArray[Any], numbers: dict[Any, float] | None, where: str) -> NDArray[np.float64]:
    if numbers is None:
        row, cell = next((row, cell) for row, cell in enumerate(cells.tolist(), start=1) if not _is_number(cell))
        raise ValueError(f"{where} holds {short(cell)} in row {row:,}, not a number: use task='classification'")
    y = np.fromiter((numbers[cell] for cell in cells.tolist()), np.float64, len(cells))
    if not np.isfinite(y).all():
        raise ValueError(f"{where} has an infinite number in row {np.flatnonzero(~np.isfinite(y))[0] + 1:,}")
    return y


def _is_number(cell: Any) -> bool:
    try:
        as_number(str(cell))
    except ValueError:
        return False
    return True


def _as_classes(labels: LabelColumn, numbers: dict[Any, float] | None, where: str) -> NDArray[Any]:
    cells = labels.cells.tolist()
    if numbers is None:
        is_plain = len({type(cell) for cell in cells}) == 1 and isinstance(cells[0], bool | int | float)
        return np.array(cells) if is_plain else np.array([str(cell) for cell in cells])
    y = _as_numbers(labels.cells, numbers, where)
    is_whole = bool((y == np.rint(y)).all() and (np.abs(y) < 2**53).all())
    return y.astype(np.int64) if is_whole else y


def _check_classes(n_classes: int, y: NDArray[Any], where: str) -> None:
    if n_classes <= min(MOST_CLASSES, max(2, len(y) / 2)):
        return
    looks = "an identifier or free text: name another column"
    if y.dtype.kind != "U":
        looks = "a number to predict or an identifier: use task='regression', or name another column"
    raise ValueError(f"{where} has {n_classes:,} classes in {len(y):,} rows; it looks like {looks}")
