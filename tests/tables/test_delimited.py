"""Text files against pandas, and what is said about those that are no tables."""

import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from billhook.tables import Categorical, _collect, read_features, read_table

MISSING = ["", "NA", "n/a", "NaN", "null", "None", "?"]


def made_up(rng, n_rows=60):
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n_rows).round(3),
            "count": rng.integers(-5, 1000, n_rows),
            "colour": rng.choice(["red", "dark blue", "a,b;c|d\te", 'say "hi"', "grün", "two\nlines"], n_rows),
            "y": rng.choice(["ja", "nein"], n_rows),
        }
    )
    frame.loc[::7, "size"] = np.nan
    frame.loc[::9, "colour"] = None
    return frame


def column(table, name):
    """Return a column with the categories themselves, None where one is missing."""
    found = table.columns[table.names.index(name)]
    if isinstance(found, Categorical):
        assert list(found.categories) == sorted(found.categories)
        return [None if code < 0 else found.categories[code] for code in found.codes]
    return found


def agree(table, frame):
    assert table.names == tuple(name for name in frame.columns if name != "y")
    for name in table.names:
        if frame[name].dtype.kind in "if":
            np.testing.assert_array_equal(column(table, name), frame[name].to_numpy(np.float32))
        else:
            expected = frame[name].astype(object)
            assert column(table, name) == expected.where(expected.notna(), None).tolist()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("compressed", [False, True])
def test_every_delimiter_and_missing_value_is_read_as_pandas_does(delimiter, missing, compressed, tmp_path):
    if delimiter == " " and not missing:
        missing = "?"
    frame = made_up(np.random.default_rng(0))
    if delimiter == " ":
        frame["colour"] = frame["colour"].str.replace("\t", "", regex=False).str.replace("\n", "", regex=False)
    text = frame.to_csv(index=False, sep=delimiter, na_rep=missing)
    path = tmp_path / ("rows.csv.gz" if compressed else "rows.csv")
    path.write_bytes(gzip.compress(text.encode()) if compressed else text.encode("utf-8-sig"))
    table = read_table(path, "y")
    agree(table, frame)
    assert table.y.tolist() == frame["y"].tolist()


def test_runs_of_blanks_are_one_delimiter(tmp_path):
    (tmp_path / "rows.txt").write_text("  a   b \t y\n  1   2.5   0 \n 10  -1   1\n 3     4     0\n 3     4     0\n")
    table = read_table(tmp_path / "rows.txt", "y")
    assert table.names == ("a", "b")
    assert column(table, "b").tolist() == [2.5, -1.0, 4.0, 4.0]


@given(
    st.lists(
        st.tuples(
            st.floats(width=32, allow_subnormal=True), st.text(st.characters(codec="utf-8", exclude_characters="\0"))
        ),
        min_size=3,
        max_size=40,
    ),
    st.sampled_from([",", ";", "\t", "|"]),
)
def test_any_float_and_text_comes_back(tmp_path_factory, cells, delimiter):
    path = tmp_path_factory.mktemp("any") / "rows.csv"
    frame = pd.DataFrame({"x": [number for number, _ in cells], "word": [text for _, text in cells], "y": "a"})
    frame.to_csv(path, index=False, sep=delimiter, quoting=2)
    table = read_features(path, "y", categorical=("word",))
    np.testing.assert_array_equal(column(table, "x"), frame["x"].to_numpy(np.float32))
    expected = [text.strip() for _, text in cells]
    assert column(table, "word") == [None if _collect.is_missing(text) else text for text in expected]


def test_a_text_far_down_makes_the_whole_column_text(tmp_path, monkeypatch):
    monkeypatch.setattr(_collect, "BLOCK", 7)
    numbers = [f"{k % 5}" for k in range(40)]
    numbers[33] = "x"
    lines = "\n".join(f"{number},{k % 11},{k % 2}" for k, number in enumerate(numbers))
    (tmp_path / "rows.csv").write_text(f"a,b,y\n{lines}\n")
    table = read_table(tmp_path / "rows.csv", "y")
    assert column(table, "a") == numbers
    assert column(table, "b").tolist() == [k % 11 for k in range(40)]


def test_what_python_alone_takes_for_a_number_is_text(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b,y\n1_0,1,0\n1_1,2,1\n1_0,3,0\n1_0,3,0\n")
    assert column(read_table(tmp_path / "rows.csv", "y"), "a") == ["1_0", "1_1", "1_0", "1_0"]


def test_without_a_line_of_names_columns_have_numbers(tmp_path):
    (tmp_path / "rows.csv").write_text("1.5,2,0\n2.5,?,1\n3.5,4,0\n4.5,9,1\n")
    table = read_table(tmp_path / "rows.csv", "2")
    assert table.names == ("0", "1")
    assert column(table, "0").tolist() == [1.5, 2.5, 3.5, 4.5]
    assert "columns are called 0 to 2" in table.notes[0]
    np.testing.assert_array_equal(read_table(tmp_path / "rows.csv", "-1").y, table.y)
    assert read_table(tmp_path / "rows.csv", "-3").names == ("1", "2")


def test_numbers_that_count_are_names(tmp_path):
    pd.DataFrame(np.random.default_rng(0).normal(size=(9, 4))).to_csv(tmp_path / "rows.csv", index=False)
    assert len(read_table(tmp_path / "rows.csv", "3").y) == 9


def test_the_index_of_a_data_frame_is_left_out(tmp_path):
    frame = made_up(np.random.default_rng(0))
    frame.to_csv(tmp_path / "rows.csv")
    table = read_table(tmp_path / "rows.csv", "y")
    agree(table, frame)
    assert "Dropped column 'unnamed: 0': it numbers the rows." in table.notes


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("a,b,y\n", "has no rows below its line of column names"),
        pytest.param(b"a,b,y\n1,\xe9,2\n", "not a text file in UTF-8 .byte 0xe9", id="latin-1"),
        pytest.param(b"a\0b,y\n", "not a text file: it has null bytes", id="null bytes"),
        pytest.param(b"PK\x03\x04 sheet", "a zip file or a spreadsheet; save the sheet as CSV", id="spreadsheet"),
        pytest.param(b"\xff\xfea\0", "UTF-16; save it in UTF-8", id="UTF-16"),
        pytest.param(b"\x1f\x8b broken", "damaged .gz file", id="no gzip after its first bytes"),
        pytest.param(
            gzip.compress(b"a,y\n" + b"1,2\n" * 9000, mtime=0)[:-20], "damaged .gz file", id="gzip cut short"
        ),
        ("a,y,a\n1,2,3\n", "more than one column 'a'; does its first line hold column names"),
        ("a,b,y\n1,2,0\n\n1,0\n", "line 4 of .*rows.csv has 2 cells; there are 3 columns"),
        ('a,b,y\n"1\n",2,0\n1,2,3,0\n', "line 4 of .*rows.csv has 4 cells"),
        ("y\n1\n2\n", "has no column beside 'y'"),
        ("a,b,yy\n1,2,3\n", "has no column 'y'; did you mean 'yy'"),
        ("a,b,kind\n1,2,3\n", "has no column 'y'; its columns are a, b, kind"),
        ("a;y\n1,5;0\n2;1\n-3,25;0\n", "'a' of .* holds '-3,25' in row 3: write numbers with a decimal point"),
        ("a,y\n1,0\n2,\n3,1\n4,\n", "has 2 empty cells among 4, the first in row 2: fill them in, or remove"),
        ("a,y\n1,0\n1,1\n1,1\n", "no column to learn from beside 'y': 'a' is 1 in every row"),
        ("a,y\n1,5\n2,5\n", "is '5' in every row: nothing to learn"),
        pytest.param('a,y\n1,"2\n' + "3,4\n" * 40_000, "is a quote not closed", id="quote not closed"),
    ],
)
def test_what_is_no_table_is_said(content, message, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=message):
        read_table(path, "y")


def test_a_file_that_is_not_there_or_a_folder_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "nowhere.csv", "y")
    with pytest.raises(IsADirectoryError):
        read_table(tmp_path, "y")


def test_columns_that_tell_nothing_are_left_out_with_a_reason(tmp_path):
    n_rows = 600
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "good": rng.normal(size=n_rows),
            "empty": "",
            "same": 7,
            "same word": "x",
            "name": [f"person {k}" for k in range(n_rows)],
            "street": [f"street {k % 300}" for k in range(n_rows)],
            "town": [f"town {k % 256}" for k in range(n_rows)],
            "sometimes": ["x", ""] * (n_rows // 2),
            "id": np.arange(1, n_rows + 1),
            "y": rng.normal(size=n_rows),
        }
    )
    frame.to_csv(tmp_path / "rows.csv", index=False)
    table = read_table(tmp_path / "rows.csv", "y")
    assert table.names == ("good", "town", "sometimes")
    assert table.left_out == {
        "empty": "has no value in any row",
        "same": "is 7 in every row",
        "same word": "is 'x' in every row",
        "name": "is text with 600 different values in 600 rows: an identifier or free text",
        "street": "is text with 300 different values in 600 rows: an identifier or free text",
        "id": "numbers the rows",
    }
    assert "Dropped column 'same': it is 7 in every row." in table.notes
    assert read_features(tmp_path / "rows.csv").names == tuple(frame.columns)


def test_a_word_among_numbers_is_named(tmp_path):
    lines = "\n".join(f"{k / 7},{k % 5},{k % 2}" for k in range(400))
    (tmp_path / "rows.csv").write_text(f"a,b,y\n{lines}\nn.d.,1,1\n")
    why = "holds text, 'n.d.', among numbers: correct it, or mark missing values with NA"
    assert read_table(tmp_path / "rows.csv", "y").left_out == {"a": why}


def test_decimal_commas_are_refused_however_many(tmp_path, monkeypatch):
    monkeypatch.setattr(_collect, "MOST_TEXTS", 50)
    lines = "\n".join(f"{k},{k};{k % 5};{k % 2}" for k in range(100))
    (tmp_path / "rows.csv").write_text(f"a;b;y\n{lines}\n")
    with pytest.raises(ValueError, match=r"'a' of .*rows.csv holds '0,0': write numbers with a decimal point"):
        read_table(tmp_path / "rows.csv", "y")


def test_texts_without_end_are_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(_collect, "MOST_TEXTS", 50)
    monkeypatch.setattr(_collect, "BLOCK", 10)
    lines = "\n".join(f"word {k},{k},{k % 2}" for k in range(100))
    (tmp_path / "rows.csv").write_text(f"a,b,y\n{lines}\n")
    assert read_table(tmp_path / "rows.csv", "y").left_out == {
        "a": "is text with more than 50 different values: an identifier or free text"
    }


@pytest.mark.parametrize("most_known", [0, 10, _collect.MOST_KNOWN])
def test_numbers_that_are_remembered_are_those_that_stand_there(tmp_path, monkeypatch, most_known):
    """Columns that repeat their numbers, that do not, and that begin or cease to do so some blocks down."""
    monkeypatch.setattr(_collect, "MOST_KNOWN", most_known)
    rng = np.random.default_rng(0)
    n_rows = 5 * _collect.BLOCK // 2
    few = rng.choice(["1", " 1", "1.0 ", "-0.0", "0", "1e400", "-inf", "16777217", "0.1", *MISSING], n_rows)
    many = rng.normal(size=n_rows).astype(str)
    is_late = np.arange(n_rows) > _collect.BLOCK
    texts = rng.choice(["a", " a", "a  ", "b", "NA", "?", "1"], n_rows)
    underlined = np.where(is_late & (few == "1"), "1_0", few)
    cells = {
        "few": few,
        "many": many,
        "ceases": np.where(is_late, many, few),
        "begins": np.where(is_late, few, many),
        "texts": texts,
        "underlined": underlined,
    }
    lines = [",".join(row) for row in zip(*cells.values(), strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join([",".join(cells), *lines]) + "\n")
    table = read_features(tmp_path / "rows.csv")
    for name in ("few", "many", "ceases", "begins"):
        with np.errstate(over="ignore"):
            expected = np.array([_collect.as_number(str(cell)) for cell in cells[name]]).astype(np.float32)
        assert column(table, name).tobytes() == expected.tobytes()
    for name in ("texts", "underlined"):
        stripped = [str(cell).strip() for cell in cells[name]]
        assert column(table, name) == [None if _collect.is_missing(text) else text for text in stripped]
