"""Tables for papers: LaTeX with booktabs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from billhook._checks import resolve_name
from billhook.analysis._extras import pandas

if TYPE_CHECKING:
    from pandas import DataFrame

ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: "\\" + character for character in "&%$#_{}"},
}
# As long as this, a table goes over several pages (package longtable).
LONG = 60


def to_latex(table: "DataFrame", *, caption: str, label: str, digits: int = 4, best: str | None = "largest") -> str:
    r"""Return a table as LaTeX, with the rules of the package booktabs and the best number of each row in bold.

    Which is best is decided on the numbers as printed, so that all are bold that look the same. What is missing is a
    dash. Rows under the same first name, as those of `by_shape`, stand together. A table of more than 60 rows is a
    longtable.

    Parameters
    ----------
    table : DataFrame
    caption : str
        LaTeX, as it is; the names in the table are escaped.
    label : str
        For `\ref`.
    digits : int
        After the point, of numbers that are not whole.
    best : {"largest", "smallest", None}
        What is bold; nothing for None.
    """
    choose = resolve_name(str(best), {"largest": np.nanmax, "smallest": np.nanmin, "None": None}, "best cannot be")
    if digits < 0:
        raise ValueError(f"digits must be 0 or more, not {digits}")
    names = [list(key) if isinstance(key, tuple) else [key] for key in table.index]
    n_names = table.index.nlevels
    head = [*(str(name or "") for name in table.index.names), *table.columns]
    body: list[str] = []
    for number, (key, row) in enumerate(zip(names, table.itertuples(index=False, name=None), strict=True)):
        is_new = number == 0 or n_names == 1 or key[0] != names[number - 1][0]
        if n_names > 1 and is_new and number:
            body.append(r"\addlinespace")
        shown = key if is_new else ["", *key[1:]]
        body.append(_row([*map(escaped, shown), *_cells(row, digits, choose)]))
    columns = "l" * n_names + "".join("r" if _is_number(table[name]) else "l" for name in table.columns)
    return _page(columns, _row([escaped(name) for name in head]), body, f"\\caption{{{caption}}}\\label{{{label}}}")


def _page(columns: str, head: str, body: Sequence[str], caption: str) -> str:
    rows = "\n".join(body)
    if len(body) > LONG:
        return (
            f"\\begin{{longtable}}{{{columns}}}\n{caption}\\\\\n\\toprule\n{head}\n\\midrule\n\\endfirsthead\n"
            f"\\toprule\n{head}\n\\midrule\n\\endhead\n\\bottomrule\n\\endfoot\n{rows}\n\\end{{longtable}}\n"
        )
    return (
        f"\\begin{{table}}\n\\centering\n{caption}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n{head}\n\\midrule\n"
        f"{rows}\n\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n"
    )


def _cells(row: Sequence[Any], digits: int, choose: Any) -> list[str]:
    cells = [_cell(value, digits) for value in row]
    numbers = [float(cell) if _is_float(value) else np.nan for cell, value in zip(cells, row, strict=True)]
    if choose is None or np.isnan(numbers).all():
        return cells
    bold = choose(numbers)
    return [rf"\textbf{{{cell}}}" if number == bold else cell for cell, number in zip(cells, numbers, strict=True)]


def _cell(value: Any, digits: int) -> str:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if not isinstance(value, str) and pandas().isna(value):
        return "--"
    return f"{value:.{digits}f}" if _is_float(value) else escaped(value)


def _is_float(value: Any) -> bool:
    return isinstance(value, float | np.floating) and not np.isnan(value)


def _is_number(column: Any) -> bool:
    types = pandas().api.types
    return bool(types.is_numeric_dtype(column) and not types.is_bool_dtype(column))


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def escaped(value: object) -> str:
    """Return a text in which no character means anything to LaTeX."""
    return "".join(ESCAPES.get(character, character) for character in str(value))
