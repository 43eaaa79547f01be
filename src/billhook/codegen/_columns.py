"""The columns of a table in C: where numbers go in a row, and functions that put categories there."""

import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from billhook.codegen._form import LIMITS, Form, Input, c_type, suffix
from billhook.codegen._names import comment
from billhook.packing import Packed
from billhook.tables import EncodedColumn, Encoding

# Signs that may be all that two categories differ in, such as <=50K and >50K.
WORDS = {"<=": "up to", ">=": "from", "<": "below", ">": "above", "+": "plus", "%": "percent", "&": "and"}
LONGEST = 40
# What else a header defines after the prefix.
TAKEN = ("H", "VERSION", "N_FEATURES", "N_CLASSES", "N_SCORES", "DATA_BYTES", "SCALE", "BASE", "THRESHOLD")


class CColumn(NamedTuple):
    """A column in C.

    Attributes
    ----------
    encoded : EncodedColumn
    first : int
        The number of its first feature.
    name : str
        Of the column, as names in C end in it.
    at : str
        For a number, the name of its place in a row.
    missing, unknown, categories : str, str, tuple of str
        For a categorical column, the names of a missing category, of an unknown one if that is another, and of all
        others.
    """

    encoded: EncodedColumn
    first: int
    name: str
    at: str = ""
    missing: str = ""
    unknown: str = ""
    categories: tuple[str, ...] = ()


def c_columns(encoding: Encoding, prefix: str) -> tuple[CColumn, ...]:
    """Return the columns with names in C of which no two are the same."""
    upper = prefix.upper()
    taken = {f"{upper}_{word}" for word in TAKEN}
    functions: set[str] = set()
    columns = []
    first = 0
    for encoded in encoding.columns:
        # The functions for whole numbers end in their type: a column may not end so as another's function does.
        name = _unique(_plain(encoded.name, "column"), functions, ("", "_int16", "_uint8"))
        if encoded.kind == "number":
            column = CColumn(encoded, first, name, at=_unique(f"{upper}_AT_{name}".upper(), taken))
        else:
            words = ("missing", *(_plain(category, "value") for category in encoded.categories))
            missing, *categories = (_unique(f"{upper}_{name}_{word}".upper(), taken) for word in words)
            unknown = "" if encoded.missing is None else _unique(f"{upper}_{name}_unknown".upper(), taken)
            column = CColumn(encoded, first, name, missing=missing, unknown=unknown, categories=tuple(categories))
        columns.append(column)
        first += encoded.n_features
    return tuple(columns)


def _plain(text: str, otherwise: str) -> str:
    """Return a part of a name in C that looks like the text."""
    for sign, word in WORDS.items():
        text = text.replace(sign, f" {word} ")
    text = re.sub(r"^\s*-(?=[\d.])", "minus ", text)
    text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_").lower()[:LONGEST].strip("_") or otherwise


def _unique(name: str, taken: set[str], endings: Iterable[str] = ("",)) -> str:
    """Return the name, with a number behind it if need be, and take it, with all endings."""
    endings = tuple(endings)
    number, unique = 2, name
    while any(unique + ending in taken for ending in endings):
        unique, number = f"{name}_{number}", number + 1
    taken.update(unique + ending for ending in endings)
    return unique


def column_includes(packed: Packed, form: Form) -> list[str]:
    """Return what the functions of `column_lines` need, as lines of a header."""
    kinds = [column.kind for column in packed.encoding.columns] if packed.encoding is not None else []
    return ["#include <math.h>"] if "ordered" in kinds and "float" in form.inputs else []


def column_lines(packed: Packed, form: Form, prefix: str) -> list[str]:
    """Return lines of a header: names for the places of numbers, and for each categorical column its categories.

    There are none for a model without an encoding.
    """
    if packed.encoding is None:
        return []
    all_ = c_columns(packed.encoding, prefix)
    numbers = [column for column in all_ if column.at]
    lines = ["", "/* A row is filled column by column: numbers at their places, categories by functions. */"]
    if numbers:
        lines += ["enum {", *_entries((column.at, column.first, column.encoded.name) for column in numbers), "};"]
    for column in all_:
        if not column.at:
            lines += _categorical(column, form, prefix)
    return lines


def _entries(entries: Iterable[tuple[str, int, str]]) -> list[str]:
    """Return the entries of an enumeration with their texts; no comma after the last, which C++98 does not allow."""
    *most, (name, number, text) = entries
    lines = [f"    {name} = {number}, /* {comment(text)} */" for name, number, text in most]
    return [*lines, f"    {name} = {number} /* {comment(text)} */"]


def _categorical(column: CColumn, form: Form, prefix: str) -> list[str]:
    named = zip(column.categories, column.encoded.categories, strict=True)
    entries = [(name, number, category) for number, (name, category) in enumerate(named)]
    others = [(column.missing, -1, "missing, or none of these")]
    if column.encoded.missing is not None:
        place = column.encoded.categories.index(column.encoded.missing)
        others = [
            (column.unknown, -1, "none of these"),
            (column.missing, place, f"missing: it counts as {column.encoded.missing}"),
        ]
    lines = ["", f"/* {comment(column.encoded.name)} */", "enum {", *_entries([*others, *entries]), "};", ""]
    if column.encoded.kind == "ordered" and form.inputs != ("float",):
        lines.append(f"/* Whole numbers have no value for what is missing: it goes in as {column.categories[0]}. */")
    for kind in _kinds(column, form):
        lines += _put(column, kind, prefix)
    return lines


def _kinds(column: CColumn, form: Form) -> list[Input]:
    """Return the kinds of features that can tell the categories of a column apart."""
    highest = len(column.categories) - 1 if column.encoded.kind == "ordered" else 1
    kinds = [kind for kind in form.inputs if kind == "float" or highest <= LIMITS[kind][1]]
    if not kinds:
        raise ValueError(
            f"column {column.encoded.name!r} has {highest + 1:,} categories, more than {' or '.join(form.inputs)} "
            "features can tell apart; emit with inputs='float' or 'int16'"
        )
    return kinds


def put_name(column: CColumn, kind: Input, prefix: str) -> str:
    """Return the name of the function that puts a category of a column into a row."""
    return f"{prefix}_put_{column.name}{suffix(kind)}"


def _put(column: CColumn, kind: Input, prefix: str) -> list[str]:
    type_, count = c_type(kind), len(column.encoded.categories)
    begin = [f"static inline void {put_name(column, kind, prefix)}({type_} *x, int category)", "{"]
    if column.encoded.kind == "ordered":
        is_known = f"category >= 0 && category < {count}"
        value = f"({type_})({is_known} ? category : 0)"
        if kind == "float":
            value = f"{is_known} ? (float)category : (float)NAN"
        return [*begin, f"    x[{column.first}] = {value};", "}"]
    return [
        *begin,
        "    int k;",
        f"    for (k = 0; k < {count}; k++)",
        f"        x[{column.first} + k] = ({type_})(k == category);",
        "}",
    ]


def example(packed: Packed, form: Form, prefix: str) -> list[str]:
    """Return statements that fill a row, of the first number and the first categorical column."""
    if packed.encoding is None:
        return []
    all_ = c_columns(packed.encoding, prefix)
    numbers = [f"x[{column.at}] = 1;" for column in all_ if column.at]
    names = [
        f"{put_name(column, _kinds(column, form)[0], prefix)}(x, {column.categories[0]});"
        for column in all_
        if not column.at
    ]
    return numbers[:1] + names[:1]


def column_table(encoding: Encoding, form: Form, prefix: str) -> str:
    """Return the columns as a table in Markdown: what each is called in C and which inputs it sets."""
    rows = ["| column | inputs | in C | categories |", "|---|---|---|---|"]
    for column in c_columns(encoding, prefix):
        last = column.first + column.encoded.n_features - 1
        inputs = f"{column.first}" if last == column.first else f"{column.first} to {last}"
        used = f"`x[{column.at}]`" if column.at else f"`{put_name(column, _kinds(column, form)[0], prefix)}`"
        named = zip(
            [*column.categories, column.missing, column.unknown],
            [*column.encoded.categories, "missing", "unknown"],
            strict=True,
        )
        categories = ", ".join(f"{_cell(category)} `{name}`" for name, category in named if name)
        rows.append(f"| {_cell(column.encoded.name)} | {inputs} | {used} | {categories} |")
    return "\n".join(rows)


def _cell(text: str) -> str:
    """Return a text that may stand in a table of Markdown."""
    plain = "".join(char if char.isprintable() else "?" for char in text)
    return re.sub(r"([\\|`*_<>\[\]])", r"\\\1", plain)
