import errno
import secrets
import shutil
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook.codegen._form import form_of
from billhook.codegen._memory import check_fits
from billhook.codegen._project import project
from billhook.codegen._targets import target_named
from billhook.forest import as_rows
from billhook.packing import Packed, pack

N_TEST_ROWS = 32


def emit(
    model: Any,
    out: str | PathLike[str],
    *,
    target: str = "generic",
    name: str = "model",
    layout: str = "compact",
    inputs: str | Iterable[str] | None = None,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    force: bool = False,
) -> tuple[Path, ...]:
    """Write a model as C99 to a folder: sources, a self-test, a README and, for Arduino boards, a library.

    Nothing is written unless all of it can be.

    Parameters
    ----------
    model : Packed, Forest or fitted estimator
        What is not packed is packed with the defaults of `pack`.
    out : path
        The folder; it may not hold anything yet, unless `force` is given: then files of these names are replaced.
    target : str
        One of `targets`.
    name : str
        The prefix of all names in C.
    layout : {"compact", "fast"}
        As few bytes as it takes, or comparisons in straight lines, which take several times the room and a fraction
        of the time. Both give the same scores.
    inputs : "float", "int16", "uint8" or several of these, optional
        What features are given as. For whole numbers the program needs no floats. By default all three, or floats
        alone in the fast layout, where each takes trees of its own.
    X, y : rows and their labels or targets, optional
        Some of the rows go into the self-test; else rows are made up. With y the header says how well the model does
        on them.

    Returns
    -------
    tuple of Path
        The files written.

    Raises
    ------
    DoesNotFitError
        If the flash of the target cannot hold the model; it says what would fit.
    """
    board = target_named(target)
    form = form_of(layout, inputs, board)
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, not {name!r}")
    packed = model if isinstance(model, Packed) else pack(model)
    check_fits(model, packed, form, board)
    if X is None and y is not None:
        raise ValueError("y says how well the model does on rows: give X too")
    rows = made_up_rows(packed) if X is None else as_rows(X, packed)
    if len(rows) == 0:
        raise ValueError("X has no rows for the self-test")
    # From all over the rows, which may be sorted by their labels.
    chosen = np.linspace(0, len(rows) - 1, min(N_TEST_ROWS, len(rows))).astype(np.int64)
    rows = rows[chosen]
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "this is a file; give the name of a folder", str(out))
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise FileExistsError(errno.EEXIST, "the folder is not empty; force (--force) replaces files in it", str(out))
    if not folder.resolve().parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(folder.resolve().parent))
    notes = () if X is None or y is None else (_quality(packed, X, y),)
    files = project(packed, board, form, name, np.ascontiguousarray(rows, np.float32), notes)
    temporary = folder.resolve().parent / f".billhook-{secrets.token_hex(8)}"
    try:
        for path, text in files.items():
            (temporary / path).parent.mkdir(parents=True, exist_ok=True)
            (temporary / path).write_text(text, encoding="utf-8")
        for path in files:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (temporary / path).replace(folder / path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return tuple(folder / path for path in files)


def _quality(packed: Packed, X: ArrayLike, y: ArrayLike) -> str:
    """Return how well the model does on rows, in words."""
    predicted, expected = packed.predict(X), np.asarray(y)
    if expected.shape != predicted.shape:
        raise ValueError(f"X has {len(predicted):,} rows and y the shape {expected.shape}")
    if packed.classes is not None and not np.isin(expected, packed.classes).all():
        unknown = expected[~np.isin(expected, packed.classes)][0]
        raise ValueError(f"y has a label that the model does not know: {unknown!r}")
    if packed.classes is None:
        error = float(np.sqrt(np.mean((predicted - expected) ** 2)))
        return f"Root mean squared error {error:.4g} on {len(expected)} rows."
    return f"Accuracy {np.mean(predicted == expected):.2%} on {len(expected)} rows."


def made_up_rows(packed: Packed) -> NDArray[np.float32]:
    """Return rows of values near the thresholds, so that they do not all go one way."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(N_TEST_ROWS, packed.n_features)).astype(np.float32)
    for feature, values in packed.typical_values().items():
        rows[:, feature] = rng.choice(values, N_TEST_ROWS)
    return rows
