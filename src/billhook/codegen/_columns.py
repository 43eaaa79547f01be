"""The columns of a table in C: where numbers go in a row, and functions that put categories there."""

import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from billhook.codegen._form import Form, Input, c_type, suffix
from billhook.codegen._names import comment
from billhook.packing import Packed
from billhook.tables import EncodedColumn, Encoding

# Signs that may be all that two categories differ in, such as <=50K and >50K.
WORDS = {"<=": "up to", ">=": "from", "<": "below", ">": "above", "+": "plus", "%": "percent", "&": "and"}
LONGEST = 40
# What else a header defines after the prefix.
TAKEN = ("H", "N_FEATURES", "N_CLASSES", "N_SCORES", "DATA_BYTES", "SCALE", "BASE")


class Place(NamedTuple):
    """A column in C.

    Attributes
    ----------
    column : EncodedColumn
    first : int
        The number of its first feature.
    name : str
        Of the column, as names in C end in it.
    at : str
        For a number, the name of its place in a row.
    missing, categories : str, tuple of str
        For a nominal column, the names of a missing category and of all others.
    """

    column: EncodedColumn
    first: int
    name: str
    at: str = ""
    missing: str = ""
    categories: tuple[str, ...] = ()


def places(encoding: Encoding, prefix: str) -> tuple[Place, ...]:
    """Return the columns with names in C of which no two are the same."""
    upper = prefix.upper()
    taken = {f"{upper}_{word}" for word in TAKEN}
    functions: set[str] = set()
    found = []
    first = 0
    for column in encoding.columns:
        # The functions for whole numbers end in their type: a column may not end so as another's function does.
        name = _unique(_plain(column.name, "column"), functions, ("", "_int16", "_uint8"))
        if column.kind == "number":
            place = Place(column, first, name, at=_unique(f"{upper}_AT_{name}".upper(), taken))
        else:
            words = ("missing", *(_plain(category, "value") for category in column.categories))
            missing, *categories = (_unique(f"{upper}_{name}_{word}".upper(), taken) for word in words)
            place = Place(column, first, name, missing=missing, categories=tuple(categories))
        found.append(place)
        first += column.n_features
    return tuple(found)


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
    """Return lines of a header: names for the places of numbers, and for each nominal column its categories.

    There are none for a model without an encoding.
    """
    if packed.encoding is None:
        return []
    all_ = places(packed.encoding, prefix)
    numbers = [place for place in all_ if place.at]
    lines = ["", "/* A row is filled column by column: numbers at their places, categories by functions. */"]
    if numbers:
        lines += ["enum {", *_entries((place.at, place.first, place.column.name) for place in numbers), "};"]
    for place in all_:
        if not place.at:
            lines += _nominal(place, form, prefix)
    return lines


def _entries(entries: Iterable[tuple[str, int, str]]) -> list[str]:
    """Return the entries of an enumeration with their texts; no comma after the last, which C++98 does not allow."""
    *most, (name, number, text) = entries
    lines = [f"    {name} = {number}, /* {comment(text)} */" for name, number, text in most]
    return [*lines, f"    {name} = {number} /* {comment(text)} */"]


def _nominal(place: Place, form: Form, prefix: str) -> list[str]:
    column = place.column
    named = zip(place.categories, column.categories, strict=True)
    entries = [(name, number, category) for number, (name, category) in enumerate(named)]
    missing = (place.missing, -1, "missing, or none of these")
    lines = ["", f"/* {comment(column.name)} */", "enum {", *_entries([missing, *entries]), "};", ""]
    if column.kind == "ordered" and form.inputs != ("float",):
        lines.append(f"/* Whole numbers have no value for what is missing: it goes in as {place.categories[0]}. */")
    for kind in form.inputs:
        lines += _put(place, kind, prefix)
    return lines


def put_name(place: Place, kind: Input, prefix: str) -> str:
    """Return the name of the function that puts a category of a column into a row."""
    return f"{prefix}_put_{place.name}{suffix(kind)}"


def _put(place: Place, kind: Input, prefix: str) -> list[str]:
    type_, count = c_type(kind), len(place.column.categories)
    begin = [f"static inline void {put_name(place, kind, prefix)}({type_} *x, int category)", "{"]
    if place.column.kind == "ordered":
        is_known = f"category >= 0 && category < {count}"
        value = f"({type_})({is_known} ? category : 0)"
        if kind == "float":
            value = f"{is_known} ? (float)category : (float)NAN"
        return [*begin, f"    x[{place.first}] = {value};", "}"]
    return [
        *begin,
        "    int k;",
        f"    for (k = 0; k < {count}; k++)",
        f"        x[{place.first} + k] = ({type_})(k == category);",
        "}",
    ]


def example(packed: Packed, form: Form, prefix: str) -> list[str]:
    """Return statements that fill a row, of the first number and the first nominal column."""
    if packed.encoding is None:
        return []
    all_ = places(packed.encoding, prefix)
    numbers = [f"x[{place.at}] = 1;" for place in all_ if place.at]
    names = [
        f"{put_name(place, form.inputs[0], prefix)}(x, {place.categories[0]});" for place in all_ if not place.at
    ]
    return numbers[:1] + names[:1]


def column_table(encoding: Encoding, form: Form, prefix: str) -> str:
    """Return the columns as a table in Markdown: what each is called in C and which inputs it sets."""
    rows = ["| column | inputs | in C | categories |", "|---|---|---|---|"]
    for place in places(encoding, prefix):
        last = place.first + place.column.n_features - 1
        inputs = f"{place.first}" if last == place.first else f"{place.first} to {last}"
        used = f"`x[{place.at}]`" if place.at else f"`{put_name(place, form.inputs[0], prefix)}`"
        named = zip([*place.categories, place.missing], [*place.column.categories, "missing"], strict=True)
        categories = ", ".join(f"{_cell(category)} `{name}`" for name, category in named if name)
        rows.append(f"| {_cell(place.column.name)} | {inputs} | {used} | {categories} |")
    return "\n".join(rows)


def _cell(text: str) -> str:
    """Return a text that may stand in a table of Markdown."""
    plain = "".join(char if char.isprintable() else "?" for char in text)
    return re.sub(r"([\\|`*_<>\[\]])", r"\\\1", plain)
