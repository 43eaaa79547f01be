"""All tables and figures of a study, as files."""

import io
import math
import os
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from billhook._files import atomic_write
from billhook.analysis._caps import CAPS, checked_caps
from billhook.analysis._charts import accuracy_by_shape, accuracy_over_memory
from billhook.analysis._comparison import compare
from billhook.analysis._configurations import configurations
from billhook.analysis._diagram import critical_difference_diagram
from billhook.analysis._extras import pandas
from billhook.analysis._fronts import areas, best_below, pareto_fronts
from billhook.analysis._latex import escaped, to_latex
from billhook.analysis._maps import score_map, win_map
from billhook.analysis._scores import rank, wins
from billhook.analysis._shape import by_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from matplotlib.figure import Figure
    from pandas import DataFrame

RESOLUTION = 200


def write_tables(
    results: "DataFrame",
    folder: str | os.PathLike[str],
    *,
    size: str = "paper",
    figures: bool = True,
    caps: "Iterable[float]" = CAPS,
) -> list[Path]:
    """Write every table as CSV and LaTeX, and every figure as PNG and PDF, into a folder; return the files.

    Parameters
    ----------
    results : DataFrame
        One row per run, as for `configurations`.
    folder : path
        Made if it is not there. Files of the same names are replaced; the others stay.
    size : {"paper", "as_published", "packed"}
        What counts as the size of a model.
    figures : bool
        False writes the tables only: figures take nearly all of the time, a second or two for each data set.
    caps : numbers
        The sizes in KB, 1 to 8 in ascending order, below which methods are compared: a table for each.

    Notes
    -----
    Methods are compared by their areas. Where fewer than two data sets or methods are complete, there are no ranks,
    pairs, wins or critical-difference diagram. A data set no model of which has a number of leaves and of trees has
    no table by them. The same results give the same bytes.
    """
    caps = checked_caps(caps)
    table = configurations(results, size=size)
    files = _Files(Path(folder), figures)
    files.table("configurations", table, "", is_listed=False)
    fronts = pareto_fronts(table).drop(columns=["base", "n_folds"])
    files.table(
        "pareto_fronts", fronts.set_index(["data", "method"]), "Configurations on the Pareto fronts.", best=None
    )
    for cap in caps:
        below = best_below(table, cap)
        name = f"accuracy_below_{cap}KB"
        files.table(name, below, f"Best mean accuracy (\\%) of models below {cap} KB.", percent=True)
        title = f"best accuracy (%) below {cap} KB"
        files.figure(name, partial(score_map, 100 * below, title=title, digits=2))
    area = areas(table)
    files.table("area_under_pareto_front", area, "Normalised area under the Pareto front (APF).")
    files.figure("area_under_pareto_front", partial(score_map, area, title="area under the Pareto front"))
    _write_comparison(files, area)
    for data in table["data"].unique():
        files.figure(f"accuracy_over_memory_{data}", partial(accuracy_over_memory, table, data))
        if table.loc[table["data"] == data, ["n_leaves", "n_trees"]].notna().all(axis="columns").any():
            name = f"accuracy_by_shape_{data}"
            caption = f"Mean accuracy (\\%) by leaves and trees on {escaped(data)}."
            files.table(name, by_shape(table, data), caption, percent=True)
            files.figure(name, partial(accuracy_by_shape, table, data))
    return files.written


def _write_comparison(files: "_Files", area: "DataFrame") -> None:
    if area.shape[1] < 2 or len(area.dropna()) < 2:
        return
    compared = compare(area)
    ranks = rank(area)[compared.mean_ranks.index]
    ranks = pandas().concat([ranks, ranks.mean().to_frame("mean").T]).rename_axis("data")
    files.table("ranks", ranks, "Ranks by APF; 1 is best.", digits=2, best="smallest")
    friedman = "" if math.isnan(compared.friedman_p) else f" Friedman's test: p = {compared.friedman_p:.3g}."
    caption = f"Wilcoxon's signed-rank test for each pair, with Holm's correction, by APF.{friedman}"
    files.table("pairs", compared.pairs.set_index(["first", "second"]), caption, best=None)
    files.table("wins", wins(area), "Wins/ties/losses of rows against columns, by APF.", best=None)
    files.figure("wins", partial(win_map, area, title="wins/ties/losses by area under the Pareto front"))
    files.figure("critical_difference", partial(critical_difference_diagram, compared))


class _Files:
    """The files of a folder, as they are written."""

    def __init__(self, folder: Path, figures: bool) -> None:
        self.folder = folder
        self.figures = figures
        self.written: list[Path] = []
        self.stems: dict[str, str] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def table(
        self,
        name: str,
        table: "DataFrame",
        caption: str,
        *,
        percent: bool = False,
        digits: int = 4,
        best: str | None = "largest",
        is_listed: bool = True,
    ) -> None:
        """Write a table; as LaTeX too unless it is too long to be printed."""
        self._write(f"{name}.csv", table.to_csv(index=is_listed, lineterminator="\n").encode())
        if is_listed:
            shown, places = (100 * table, 3) if percent else (table, digits)
            latex = to_latex(shown, caption=caption, label=f"tab:{self._stem(name)}", digits=places, best=best)
            self._write(f"{name}.tex", latex.encode())

    def figure(self, name: str, draw: "Callable[[], Figure]") -> None:
        """Write a figure, twice, without the date, which would make each time another file."""
        if not self.figures:
            return
        from matplotlib import rc_context

        with rc_context({"pdf.fonttype": 42}):  # letters stay letters
            drawn = draw()
            for ending, metadata in (("png", {"Software": None}), ("pdf", {"CreationDate": None})):
                file = io.BytesIO()
                drawn.savefig(file, format=ending, dpi=RESOLUTION, metadata=metadata)
                self._write(f"{name}.{ending}", file.getvalue())

    def _write(self, name: str, contents: bytes) -> None:
        stem, ending = name.rsplit(".", 1)
        path = self.folder / f"{self._stem(stem)}.{ending}"
        with atomic_write(path) as file:
            file.write(contents)
        self.written.append(path)

    def _stem(self, name: str) -> str:
        """Return a name that any file system and LaTeX take, and no other name of this folder has."""
        if name not in self.stems:
            plain = re.sub(r"[^A-Za-z0-9.+-]+", "_", name)
            taken = {stem.lower() for stem in self.stems.values()}
            self.stems[name] = next(
                stem
                for stem in (plain, *(f"{plain}-{k}" for k in range(2, len(taken) + 3)))
                if stem.lower() not in taken
            )
        return self.stems[name]
