"""What the page's script works with: the configurations of a study, as small as they can be."""

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from billhook.analysis._schema import KB
from billhook.analysis.report._study_report import StudyReport
from billhook.codegen import Target, targets

if TYPE_CHECKING:
    import pandas as pd

STOPS_AN_OCTAVE = 4


def targets_by_flash() -> list[Target]:
    """Return the targets whose flash is limited, the smallest first."""
    return sorted((target for target in targets() if target.flash), key=lambda target: target.flash)


def stops_of(smallest: float, largest: float, caps: Sequence[float]) -> list[int]:
    """Return the memory caps that the slider stops at, in bytes: even steps, and the flash of each target between.

    Powers of two are among them, and so are the caps of the tables.
    """
    low = math.floor(math.log2(max(min(smallest, caps[0] * KB), 1)))
    high = math.ceil(math.log2(max(largest, caps[-1] * KB)))
    steps = range(low * STOPS_AN_OCTAVE, high * STOPS_AN_OCTAVE + 1)
    flashes = {target.flash for target in targets_by_flash() if 2**low <= target.flash <= 2**high}
    of_tables = {_whole_bytes(cap) for cap in caps}
    return sorted({round(2 ** (step / STOPS_AN_OCTAVE)) for step in steps} | flashes | of_tables)


def first_stop(stops: Sequence[int], caps: Sequence[float]) -> int:
    """Return the number of the stop that the slider starts at: the middle cap, or of two the smaller one."""
    return stops.index(_whole_bytes(caps[(len(caps) - 1) // 2]))


def payload(study: StudyReport) -> dict[str, Any]:
    """Return configurations by data set, in the order of their bytes.

    Accuracies are whole millionths. Bytes are rounded up, so that 1023.2 are below a cap of 1024 and 1024.2 are not.
    """
    numbers = {look.name: number for number, look in enumerate(study.looks)}
    table = study.table.sort_values(["nbytes", "accuracy"], kind="stable")
    all_options = list(table["options"].unique())
    places = {options: number for number, options in enumerate(all_options)}
    return {
        "methods": [{"name": look.name, "fill": look.fill} for look in study.looks],
        "data": study.data,
        "options": [option_text(options) for options in all_options],
        "stops": stops_of(table["nbytes"].min(), study.largest, study.caps),
        "span": [round(end, 6) for end in study.span],
        "runs": [_columns(table[table["data"] == name], numbers, places) for name in study.data],
    }


def option_text(text: str) -> str:
    """Return options in words, from JSON; other text as it is.

    Examples
    --------
    >>> option_text('{"rho": 0.3, "solver": "sgd"}')
    'rho 0.3, solver sgd'
    """
    try:
        options = json.loads(text)
    except ValueError:
        return text
    if not isinstance(options, dict):
        return text
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in options.items())


def _whole_bytes(cap: float) -> int:
    return math.floor(cap * KB)


def _columns(rows: "pd.DataFrame", numbers: dict[str, int], places: dict[str, int]) -> dict[str, list[Any]]:
    spread = rows["spread"].fillna(0.0)
    return {
        "method": [numbers[name] for name in rows["method"]],
        "bytes": np.ceil(rows["nbytes"]).astype(int).tolist(),
        "accuracy": (rows["accuracy"] * 1e6).round().astype(int).tolist(),
        "spread": (spread * 1e6).round(-2).astype(int).tolist(),
        "leaves": _counts(rows["n_leaves"]),
        "trees": _counts(rows["n_trees"]),
        "options": [places[options] for options in rows["options"]],
        "folds": rows["n_folds"].astype(int).tolist(),
        "front": rows["front"].astype(int).tolist(),
    }


def _counts(column: "pd.Series[Any]") -> list[int | None]:
    return [None if missing else int(number) for number, missing in zip(column, column.isna(), strict=True)]
