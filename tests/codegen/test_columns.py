"""Categories put into a row in C, against what the encoding makes of them in Python."""

import shutil
import subprocess

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import billhook as bh
from billhook.codegen import Form, as_inputs
from billhook.codegen._columns import _categorical, c_columns, put_name
from billhook.tables import Categorical, EncodedColumn, Encoding
from compiled import FLAGS, write_sources

KINDS = ("float", "int16", "uint8")
HOSTILE = (
    "red", "Red", "RED", 'say "hi"', "*/ int x;", "\\", "??/", "日本", "中国", "", "3", "-3", "int", "missing", "<=5",
    ">5", "a\nb", "a" * 300, "grün", "#define", "N_FEATURES",
)  # fmt: skip
COLUMNS = (
    EncodedColumn("colour", "one_hot", HOSTILE),
    EncodedColumn("age"),
    EncodedColumn("Colour", "ordered", HOSTILE),
    EncodedColumn("colour_int16", "ordered", ("no", "yes")),
    EncodedColumn("n", "one_hot", ("features", "classes", "scores")),
    EncodedColumn("scale"),
    EncodedColumn("*/ 価格 \\"),
    EncodedColumn("at", "ordered", ("age", "scale", "x")),
    EncodedColumn("wide", "ordered", tuple(f"c{k}" for k in range(256))),
    EncodedColumn("only", "one_hot", ("x",)),
    EncodedColumn("filled", "ordered", ("a", "unknown", "b"), "b"),
    EncodedColumn("Filled", "one_hot", ("a", "b", "missing"), "b"),
)
COMPILERS = {
    "C99": ["gcc", *FLAGS],
    "C++98": ["g++", "-x", "c++", "-std=c++98", "-Wall", "-Wextra", "-Werror", "-pedantic"],
    "C++17": ["g++", "-x", "c++", "-std=c++17", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic"],
}


def packed_for(encoding, missing_values=True):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, encoding.n_features))
    forest = RandomForestClassifier(2, max_leaf_nodes=4, random_state=0).fit(X, X[:, 0] > 0)
    return bh.pack(forest, missing_values=missing_values).with_encoding(encoding)


def program(encoding, kind, cells):
    """Return a program that prints the row of these cells: a number, or the number of a category or None."""
    statements = []
    for place, cell in zip(c_columns(encoding, "model"), cells, strict=True):
        if place.at:
            statements.append(f"x[{place.at}] = {cell};")
        else:
            category = place.missing if cell is None else place.categories[cell] if cell < 999 else cell
            statements.append(f"{put_name(place, kind, 'model')}(x, {category});")
    type_ = "float" if kind == "float" else f"{kind}_t"
    lines = "\n    ".join(statements)
    return f"""#include <stdio.h>
#include "model.h"
int main(void)
{{
    static {type_} x[MODEL_N_FEATURES];
    int k;
    for (k = 0; k < MODEL_N_FEATURES; k++)
        x[k] = 77;
    {lines}
    for (k = 0; k < MODEL_N_FEATURES; k++)
        printf("%g\\n", (double)x[k]);
    return 0;
}}
"""


def row_in_c(packed, kind, cells, folder, compiler):
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"{compiler[0]} is not installed: make toolchains")
    write_sources(packed, folder, Form("compact", KINDS))
    (folder / "main.c").write_text(program(packed.encoding, kind, cells))
    subprocess.run([*compiler, "main.c", "-o", "main"], cwd=folder, check=True)
    done = subprocess.run([folder / "main"], capture_output=True, text=True, check=True)
    return np.array(done.stdout.split(), np.float32)


def row_in_python(encoding, cells):
    columns = {}
    for column, cell in zip(encoding.columns, cells, strict=True):
        if column.kind == "number":
            columns[column.name] = np.array([cell], np.float32)
        else:
            code = -1 if cell is None else 0
            name = "an unknown category" if cell is None or cell >= 999 else column.categories[cell]
            columns[column.name] = Categorical(np.array([code], np.int32), (name,))
    return encoding.apply(columns)[0]


def cells_of(encoding, choice):
    rng = np.random.default_rng(choice if isinstance(choice, int) else 0)
    for column in encoding.columns:
        if column.kind == "number":
            yield int(rng.integers(200))
        elif choice == "last":
            yield len(column.categories) - 1
        else:
            yield {"missing": None, "unknown": 999}.get(choice, int(rng.integers(len(column.categories))))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("choice", ["missing", "unknown", "last", 1, 2, 3])
def test_a_row_in_c_is_the_row_in_python(kind, choice, tmp_path):
    encoding = Encoding(COLUMNS)
    cells = list(cells_of(encoding, choice))
    found = row_in_c(packed_for(encoding), kind, cells, tmp_path, COMPILERS["C99"])
    np.testing.assert_array_equal(found, as_inputs(row_in_python(encoding, cells), kind))


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_language_takes_the_header(compiler, kind, tmp_path):
    encoding = Encoding(COLUMNS)
    cells = list(cells_of(encoding, 5))
    found = row_in_c(packed_for(encoding), kind, cells, tmp_path, COMPILERS[compiler])
    np.testing.assert_array_equal(found, row_in_python(encoding, cells))


def test_no_two_names_are_the_same():
    found = c_columns(Encoding(COLUMNS), "model")
    names = [name for place in found for name in (place.at, place.missing, *place.categories) if name]
    assert len(set(names)) == len(names)
    assert not set(names) & {"MODEL_H", "MODEL_N_FEATURES", "MODEL_N_CLASSES", "MODEL_N_SCORES", "MODEL_SCALE"}
    assert all(name.isascii() and name.isidentifier() for name in names)
    functions = [put_name(place, kind, "model") for place in found for kind in KINDS]
    assert len(set(functions)) == len(functions)


def test_names_look_like_what_they_stand_for():
    encoding = Encoding(
        (EncodedColumn("Marital Status", "one_hot", ("never", "once, or twice", "<=5", ">5", "grün")),)
    )
    (place,) = c_columns(encoding, "model")
    assert put_name(place, "float", "model") == "model_put_marital_status"
    assert [name.removeprefix("MODEL_MARITAL_STATUS_") for name in (place.missing, *place.categories)] == [
        "MISSING", "NEVER", "ONCE_OR_TWICE", "UP_TO_5", "ABOVE_5", "GRUN",
    ]  # fmt: skip


@pytest.mark.parametrize(("kind", "is_said"), [("ordered", True), ("one_hot", False)])
@pytest.mark.parametrize("inputs", [("float",), ("int16",)])
def test_only_whole_numbers_of_ordered_categories_have_no_value_for_missing(inputs, kind, is_said):
    encoding = Encoding((EncodedColumn("size", kind, ("small", "large")),))
    (column,) = c_columns(encoding, "model")
    lines = "\n".join(_categorical(column, Form(inputs=inputs), "model"))
    said = "/* Whole numbers have no value for what is missing: it goes in as MODEL_SIZE_SMALL. */"
    assert (said in lines) == (is_said and inputs == ("int16",))


@pytest.mark.parametrize("target", ["arduino-uno", "generic"])
@pytest.mark.parametrize("layout", ["compact", "fast"])
@pytest.mark.parametrize("missing_values", [True, False])
def test_the_project_tests_itself_and_lists_every_column(target, layout, missing_values, tmp_path):
    encoding = Encoding(COLUMNS)
    bh.emit(packed_for(encoding, missing_values), tmp_path / "out", target=target, layout=layout)
    subprocess.run(["make", "-C", str(tmp_path / "out"), "test"], check=True, capture_output=True)
    readme = (tmp_path / "out" / "README.md").read_text()
    rows = [line for line in readme.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(COLUMNS)
    assert rows[1] == "| age | 21 | `x[MODEL_AT_AGE]` |  |"
    assert rows[4].startswith("| n | 24 to 26 | `model_put_n` | features `MODEL_N_FEATURES_2`, classes")
    assert "grün `MODEL_COLOUR_GRUN`" in rows[0]
    assert "    model_put_colour(x, MODEL_COLOUR_RED);" in readme


def test_devices_compile_it_without_a_warning(tmp_path):
    if shutil.which("avr-gcc") is None:
        pytest.skip("avr-gcc is not installed: make toolchains")
    encoding = Encoding(COLUMNS)
    write_sources(packed_for(encoding), tmp_path)
    (tmp_path / "main.c").write_text(
        program(encoding, "float", list(cells_of(encoding, 1))).replace("(double)x[k]", "0.0")
    )
    for files in ("main.c", "model.c"):
        subprocess.run(["avr-gcc", "-mmcu=atmega328p", *FLAGS, "-c", files], cwd=tmp_path, check=True)


def test_without_an_encoding_there_is_none_of_it(tmp_path):
    packed = packed_for(Encoding(COLUMNS))
    write_sources(packed.with_encoding(None), tmp_path)
    text = (tmp_path / "model.h").read_text()
    assert "_put_" not in text
    assert "math.h" not in text
