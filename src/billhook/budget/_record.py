"""What a search leaves behind so that another can go on from it: `search.json` in the folder of a fit."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, get_args

from billhook._files import ModelFileError
from billhook.budget._search import Search
from billhook.budget._space import CompressionConfig, EnsembleFamily, GrowthConfig, Trial
from billhook.budget._splits import TrainingRows

FILE, VERSION = "search.json", 1
# Evaluated again at first: the best for the budget, and for each smaller one.
BEST, BEST_OF_SMALLER = 12, 3
# Choices that records of before do not have, and what they were then.
BEFORE = {"smoothing": 0.0, "projections": 0, "draw": 0, "sweeps": 0}
# Arguments of `fit_table` that may be paths, and what is said of those that cannot stand in a file.
PATHS = ("table", "model", "costs")
UNKEPT = "unkept"
# Arguments of `fit_table` that say what is asked for: all but those that each search is told anew.
KEPT = {
    "table",
    "label",
    "budget",
    "target",
    "reserve",
    "max_cycles",
    "max_features",
    "max_projections",
    "name",
    "task",
    "loss",
    "quantile",
    "scoring",
    "class_weight",
    "costs",
    "categorical",
    "group",
    "split",
    "model",
    "random_state",
}


class RowsRecord(NamedTuple):
    """What tells whether a table is the one of before."""

    n_rows: int
    features: tuple[str, ...]
    classes: tuple[str, ...]

    @classmethod
    def of(cls, rows: TrainingRows) -> "RowsRecord":
        """Return that of some rows."""
        classes = () if rows.classes is None else tuple(map(str, rows.classes.tolist()))
        return cls(rows.n_rows, rows.of_all_columns.feature_names or (), classes)


@dataclass(frozen=True, eq=False)
class SearchRecord:
    """The trials of a search, and what was asked for.

    Attributes
    ----------
    rows : RowsRecord
    best : tuple of Trial
        The best, the first of them for the budget; the others for smaller ones.
    others : tuple of Trial
        All others that were evaluated: they need not be again.
    settings : dict
        Arguments of `fit_table`, as far as a file can hold them.
    """

    rows: RowsRecord
    best: tuple[Trial, ...]
    others: tuple[Trial, ...]
    settings: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, search: Search) -> "SearchRecord":
        """Return that of a finished search."""
        last, *smaller = sorted(search.budgets, reverse=True)
        chosen = search.candidates(last, final=True)[:BEST] + search.candidates(last)[:BEST]
        best = list(dict.fromkeys(candidate.trial for candidate in chosen))[:BEST]
        for budget in smaller:
            best += [candidate.trial for candidate in search.candidates(budget)[:BEST_OF_SMALLER]]
        distinct = tuple(dict.fromkeys(best))
        others = tuple(trial for trial in search.outcomes if trial not in set(distinct))
        return cls(RowsRecord.of(search.whole.rows), distinct, others)

    def check(self, rows: TrainingRows) -> None:
        """Raise ValueError unless these are the rows of before."""
        now = RowsRecord.of(rows)
        for what, before, after in zip(("rows", "features", "classes"), self.rows, now, strict=True):
            if before != after:
                # Rows are a number, and the others names, which mypy cannot know.
                said = (before, after) if what == "rows" else (len(before), len(after))  # type: ignore[arg-type]
                raise ValueError(
                    f"the table is not that of the fit to go on from: it had {said[0]:,} {what}, and this one has "
                    f"{said[1]:,}" + (" others" if said[0] == said[1] else "") + "; fit it anew, without resume"
                )

    def to_json(self) -> str:
        """Return the text of the file."""
        return json.dumps(
            {
                "version": VERSION,
                "settings": self.settings,
                "rows": self.rows._asdict(),
                "best": list(map(asdict, self.best)),
                "others": list(map(asdict, self.others)),
            },
            indent=1,
        )


def read_record(folder: str | PathLike[str]) -> SearchRecord:
    """Return what the search of a fit has left in its folder."""
    path = Path(folder) / FILE
    if not path.is_file():
        what = "it has no search.json" if Path(folder).is_dir() else "there is no such folder"
        what = "it is a file; name the folder" if Path(folder).is_file() else what
        raise FileNotFoundError(f"{folder} is not a fit that can be gone on with: {what}")
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path} is not JSON: {error}") from None
    try:
        if known["version"] != VERSION:
            raise ModelFileError(f"{path} is of version {known['version']!r}, and this Billhook reads {VERSION}")
        rows = RowsRecord(known["rows"]["n_rows"], *(tuple(known["rows"][name]) for name in ("features", "classes")))
        settings = dict(known["settings"])
        unknown = sorted(settings.keys() - KEPT - {UNKEPT})
        if unknown:
            raise KeyError(unknown[0])
        best, others = (tuple(map(_trial_of, known[name])) for name in ("best", "others"))
        return SearchRecord(rows, best, others, settings)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{path} is damaged: {error!r}") from None


def _trial_of(entry: Mapping[str, Any]) -> Trial:
    if entry["growth"]["family"] not in get_args(EnsembleFamily):
        raise ValueError(f"there is no family {entry['growth']['family']!r}")
    growth = GrowthConfig(**_choices_of(GrowthConfig, entry["growth"]))
    compression = CompressionConfig(**_choices_of(CompressionConfig, entry["compression"]))
    if type(entry["budget"]) is not int:
        raise TypeError("a budget is a whole number")
    return Trial(entry["budget"], growth, compression)


def _choices_of(config: type[GrowthConfig | CompressionConfig], known: Mapping[str, Any]) -> dict[str, Any]:
    return {each.name: known[each.name] if each.name in known else BEFORE[each.name] for each in fields(config)}


def settings_to_keep(**arguments: Any) -> dict[str, Any]:
    """Return arguments of `fit_table` as far as a file can hold them, and the names of those that it cannot."""
    kept: dict[str, Any] = {}
    for name, value in arguments.items():
        if name in PATHS and isinstance(value, str | PathLike):
            kept[name] = os.path.abspath(value)
            continue
        try:
            # JSON makes text of other keys.
            if isinstance(value, dict) or json.loads(json.dumps(value)) != value:
                raise TypeError
            kept[name] = value
        except (TypeError, ValueError):
            if name != "table":
                kept.setdefault(UNKEPT, []).append(name)
    return {name: value for name, value in kept.items() if value is not None}
