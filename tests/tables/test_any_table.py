"""Tables as they come: a model that answers for the rows it was learned from, or an error that says what is wrong."""

import csv
import io
import warnings

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from billhook import fit_table
from billhook.packing import load
from billhook.tables import features_of, labels_like, read_features

# A share of the examples of other properties: each of these fits a model.
SHARE = 3
N_ROWS = st.one_of(st.integers(1, 6), st.integers(7, 80))
# Errors of the search, which knows no file.
KNOWN = ("a budget of", "are too few", "targets may be up to")
DELIMITERS = st.sampled_from([",", ";", "\t", "|"])
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)


def by_row(strategy):
    """Return a strategy for columns whose cells are independent."""
    return lambda n_rows: st.lists(strategy, min_size=n_rows, max_size=n_rows)


def with_commas(number):
    return repr(number).replace(".", ",")


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
COLUMNS = {
    "numbers": by_row(FLOATS.map(repr)),
    "few numbers": by_row(st.sampled_from(["0", "1.5", "-2", "1e-3"])),
    "decimal commas": by_row(FLOATS.map(with_commas)),
    "thousands": by_row(st.integers(1_000, 999_999).map("{:,}".format)),
    "huge": by_row(st.integers(-(10**400), 10**400).map(str)),
    "infinite": by_row(st.sampled_from(["inf", "-inf", "Infinity", "1e999", "3"])),
    "dates": by_row(st.dates().map(str)),
    "times": by_row(st.datetimes().map(str)),
    "booleans": by_row(st.sampled_from(["True", "False", "true", "FALSE"])),
    "missing": by_row(st.sampled_from(["", "NA", "?", "#N/A", "null", "nan", "-"])),
    "some missing": by_row(st.one_of(FLOATS.map(repr), st.sampled_from(["", "NA", "-"]))),
    "mixed": by_row(st.one_of(FLOATS.map(repr), WORDS, st.sampled_from(["", "<0.1", "1,5", "5%"]))),
    "words": by_row(WORDS),
    "categories": by_row(st.sampled_from(["red", "dark, blue", 'a "quoted" one', "two\nlines", "gr\u00fcn"])),
    "constant": lambda n_rows: st.just(["7"] * n_rows),
    "row numbers": lambda n_rows: st.just([str(k) for k in range(n_rows)]),
    "one row a class": lambda n_rows: st.just([f"class {k}" for k in range(n_rows)]),
}


@st.composite
def tables(draw):
    """Return names and columns of text, the label column among them."""
    n_rows = draw(N_ROWS)
    kinds = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=5))
    columns = [draw(COLUMNS[kind](n_rows)) for kind in kinds]
    if draw(st.booleans()):
        columns.append(columns[0])
    names = [draw(st.sampled_from(["x{}", "a b{}", "{}", "f,{}", "\u00fc{}"])).format(k) for k in range(len(columns))]
    return names, columns


def check(path, label):
    """Fit a small model; if that is an error it names what is wrong, else the saved model answers as the fitted."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            result = fit_table(path, label, budget=600, n_trials=1)
        except ValueError as error:
            message = str(error)
            assert len(message) < 2_000
            assert path.name in message or any(words in message for words in KNOWN), message
            return
    assert result.packed.nbytes <= 600
    rows = read_features(path, label, categorical=result.packed.encoding.categorical)
    X = features_of(rows, result.packed)
    predicted = result.packed.predict(X)
    result.packed.save(path.with_suffix(".bhk"))
    np.testing.assert_array_equal(load(path.with_suffix(".bhk")).predict(X), predicted)
    if result.packed.classes is None:
        assert np.isfinite(predicted).all()
    else:
        assert set(predicted.tolist()) <= set(result.packed.classes.tolist())
        truth = labels_like(rows.y, result.packed.classes)
        assert {str(label) for label in truth.tolist()} == {str(label) for label in result.packed.classes.tolist()}


@given(
    tables(),
    DELIMITERS,
    st.sampled_from(["utf-8"] * 6 + ["utf-8-sig", "latin-1", "utf-16"]),
    st.sampled_from([0, 1, 2]),
)
@settings(max_examples=settings().max_examples // SHARE)
def test_any_text_is_a_model_or_an_error(tmp_path_factory, table, delimiter, encoding, quoting):
    names, columns = table
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(zip(*columns, strict=True))
    path = tmp_path_factory.mktemp("any") / "rows.csv"
    path.write_bytes(text.getvalue().encode(encoding, "replace"))
    check(path, names[-1])


@given(tables(), st.data())
@settings(max_examples=settings().max_examples // SHARE)
def test_any_arff_is_a_model_or_an_error(tmp_path_factory, table, data):
    names, columns = table
    lines = ["@relation any"]
    for name, column in zip(names, columns, strict=True):
        kinds = ["numeric", "string", "date", "{" + ",".join(map(quoted, dict.fromkeys(column))) + "}"]
        lines.append(f"@attribute {quoted(name)} {data.draw(st.sampled_from(kinds))}")
    lines += ["@data", *(",".join(map(quoted, row)) for row in zip(*columns, strict=True))]
    path = tmp_path_factory.mktemp("any") / "rows.arff"
    path.write_text("\n".join(lines) + "\n")
    check(path, names[-1])


def quoted(text):
    """Return a text as Weka writes it."""
    if text and all(letter.isalnum() or letter in ".-+" for letter in text):
        return text
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", " ").replace("\r", " ")
    return f"'{escaped}'"


PARQUET = {
    "float": by_row(st.floats()),
    "half": lambda n_rows: st.lists(st.floats(width=16), min_size=n_rows, max_size=n_rows),
    "integer": by_row(st.none() | st.integers(-(2**63), 2**63 - 1)),
    "few": by_row(st.sampled_from([0, 1, 2])),
    "decimal": by_row(st.none() | st.decimals(-(10**20), 10**20, allow_nan=False, places=2)),
    "boolean": by_row(st.none() | st.booleans()),
    "text": by_row(st.none() | WORDS),
    "date": by_row(st.none() | st.dates()),
    "time": by_row(st.none() | st.datetimes()),
    "bytes": by_row(st.none() | st.binary(max_size=3)),
    "list": by_row(st.lists(st.integers(0, 9), max_size=2)),
    "nothing": by_row(st.none()),
}


@given(st.data(), N_ROWS)
@settings(max_examples=settings().max_examples // SHARE)
def test_any_parquet_is_a_model_or_an_error(tmp_path_factory, data, n_rows):
    kinds = data.draw(st.lists(st.sampled_from(sorted(PARQUET)), min_size=1, max_size=5))
    frame = pd.DataFrame(
        {f"x{k}": pd.Series(data.draw(PARQUET[kind](n_rows)), dtype=object) for k, kind in enumerate(kinds)}
    )
    for k, kind in enumerate(kinds):
        if kind in ("float", "few", "half"):
            frame[f"x{k}"] = frame[f"x{k}"].astype("float16" if kind == "half" else "float64")
    path = tmp_path_factory.mktemp("any") / "rows.parquet"
    frame.to_parquet(path, row_group_size=data.draw(st.integers(1, 50)))
    check(path, f"x{len(kinds) - 1}")
