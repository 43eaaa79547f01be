"""Text files against pandas, and what is said about those that are no tables."""

import gzip
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from billhook.tables import Categorical, _cells, _collect, read_blocks, read_features, read_table

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
    assert column(table, "word") == [None if _cells.is_missing(text) else text for text in expected]


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
    # With the numbers of its rows, as pandas writes it by default.
    pd.DataFrame(np.random.default_rng(0).normal(size=(9, 4))).to_csv(tmp_path / "rows.csv")
    table = read_table(tmp_path / "rows.csv", "3")
    assert (len(table.y), table.names) == (9, ("0", "1", "2"))
    (tmp_path / "rows.csv").write_text(",0,5\n1,2,3\n2,3,4\n")
    assert len(read_features(tmp_path / "rows.csv").columns[0]) == 3


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_the_index_of_a_data_frame_is_left_out(is_shuffled, tmp_path):
    frame = made_up(np.random.default_rng(0))
    if is_shuffled:
        frame = frame.sample(frac=0.75, random_state=0)
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
        ('a,y\n"1,5",0\n2,1\n"-3,25",0\n', "'a' of .* holds '-3,25' in row 3: write numbers with a decimal point"),
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
            expected = np.array([_cells.as_number(str(cell)) for cell in cells[name]]).astype(np.float32)
        assert column(table, name).tobytes() == expected.tobytes()
    for name in ("texts", "underlined"):
        stripped = [str(cell).strip() for cell in cells[name]]
        assert column(table, name) == [None if _cells.is_missing(text) else text for text in stripped]


# What a cell becomes that holds a number, beside others of its column with decimal commas.
WITH_COMMAS = {
    "0,5": 0.5,
    "-3,25": -3.25,
    "+1,": 1.0,
    ",5": 0.5,
    "-,5": -0.5,
    "1.234,5": 1234.5,
    "-1.234.567,25": -1234567.25,
    "1,5e-3": 0.0015,
    "1,5E3": 1500.0,
    " 7 ": 7.0,
    "1e2": 100.0,
    "2.000": 2000.0,
    "": np.nan,
    "NA": np.nan,
    "#N/A": np.nan,
}


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
@pytest.mark.parametrize("first", [0, 5, 600])
def test_decimal_commas_are_read_wherever_they_begin(delimiter, first, tmp_path):
    cells = ["3"] * first + list(WITH_COMMAS)
    lines = [delimiter.join((cell, str(k % 5), "ab"[k % 2])) for k, cell in enumerate(cells)]
    (tmp_path / "rows.csv").write_text("\n".join([delimiter.join(("a", "b", "y")), *lines]) + "\n")
    table = read_table(tmp_path / "rows.csv", "y")
    expected = [3.0] * first + list(WITH_COMMAS.values())
    np.testing.assert_array_equal(column(table, "a"), np.array(expected, np.float32))
    assert table.notes[0] == "Numbers of column 'a' have decimal commas."


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["1,5", "1.5", "2,5"], "'a' of .* holds '1,5' in row 1: write numbers with a decimal point"),
        (["1,500", "12,250", "3"], "'a' of .* holds '1,500', thousands or decimals: write numbers with a decimal"),
        (["1,5", "1.234", "2,5"], "'a' of .* holds '1,5' in row 1: write numbers"),
        (["1,500,000", "12,250", "3"], "'a' of .* holds '1,500,000' in row 1: write numbers"),
    ],
)
def test_commas_that_could_be_something_else_are_refused(cells, message, tmp_path):
    lines = "".join(f"{cell};{k};{'ab'[k % 2]}\n" for k, cell in enumerate(cells * 10))
    (tmp_path / "rows.csv").write_text(f"a;b;y\n{lines}")
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "rows.csv", "y")


def test_one_column_tells_what_the_commas_of_another_are(tmp_path):
    lines = "".join(f"{k % 9 + 1},500;{k},5;{k % 3},25\n" for k in range(30))
    (tmp_path / "rows.csv").write_text(f"a;b;y\n{lines}")
    table = read_table(tmp_path / "rows.csv", "y")
    assert column(table, "a").tolist() == [k % 9 + 1.5 for k in range(30)]
    assert table.y.tolist() == [k % 3 + 0.25 for k in range(30)]
    assert table.task == "regression"
    assert table.notes[0] == "Numbers of column 'a' and of 2 others have decimal commas."


@pytest.mark.parametrize("cells", [["1.234"], ["512", "1.234", "", "NA"], ["-2.500", "-", "...", "7"]])
def test_points_beside_decimal_commas_may_stand_between_thousands(cells, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a;b;y\n" + "".join(f"{cells[k % len(cells)]};{k},5;{'ab'[k % 2]}\n" for k in range(600)))
    why = (
        r"holds '-?\d\.\d+', thousands or decimals, as numbers of other columns have decimal commas: write thousands"
    )
    for label, message in (("y", f"column 'a' of .* {why}"), ("a", f"label column 'a' of .* {why}")):
        with pytest.raises(ValueError, match=message):
            read_table(path, label)
    for table in (read_features(path), *read_blocks(path, n_rows=512).tables):
        assert table.names == ("b", "y")
        assert re.match(why, table.left_out["a"])
    assert read_features(path, categorical={"a"}).names == ("a", "b", "y")


def test_points_beside_decimal_commas_are_read_where_they_are_clear(tmp_path):
    cells = {"0.5": (0.5, 512.0), "1.234": (1.234, 1234.0), "7": (7.0, 1234567.0)}
    thousands = {512.0: "512", 1234.0: "1.234", 1234567.0: "1.234.567"}
    rows = [f"{cell};{thousands[large]};{k},5;{k % 2}" for k, (cell, (_, large)) in enumerate(cells.items())]
    (tmp_path / "rows.csv").write_text("\n".join(["a;b;c;y", *rows]) + "\n")
    table = read_table(tmp_path / "rows.csv", "y")
    np.testing.assert_array_equal(column(table, "a"), np.array([small for small, _ in cells.values()], np.float32))
    assert column(table, "b").tolist() == [large for _, large in cells.values()]


def test_labels_with_commas_are_as_clear_as_columns(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a;y\n" + "".join(f"{k};{k % 9 + 1},500\n" for k in range(30)))
    with pytest.raises(ValueError, match=r"label column 'y' of .* holds '1,500', thousands or decimals"):
        read_table(path, "y")
    path.write_text("a,y\n" + "".join(f'{k},"{k},5"\n' for k in range(50)))
    with pytest.raises(ValueError, match=r"label column 'y' of .* holds '0,5': write numbers with a decimal point"):
        read_table(path, "y")


def test_many_different_numbers_with_commas_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(_collect, "MOST_TEXTS", 50)
    lines = "\n".join(f"{k},{k};{k % 5};{k % 2}" for k in range(100))
    (tmp_path / "rows.csv").write_text(f"a;b;y\n{lines}\n")
    expected = np.array([float(f"{k}.{k}") for k in range(100)], np.float32)
    np.testing.assert_array_equal(column(read_table(tmp_path / "rows.csv", "y"), "a"), expected)


@pytest.mark.parametrize("mark", ["-", "--", ".", "*", "\u2013"])
@pytest.mark.parametrize("first", [0, 600])
def test_a_mark_among_numbers_is_a_missing_one_and_else_a_category(mark, first, tmp_path):
    cells = ["1.5"] * first + [mark, "2.5", "3.5", mark] * 3
    flags = [(mark, "")[k // 3 % 2] for k in range(len(cells))]
    lines = "".join(f"{cell},{flag},{k % 2}\n" for k, (cell, flag) in enumerate(zip(cells, flags, strict=True)))
    (tmp_path / "rows.csv").write_text(f"a,b,y\n{lines}")
    table = read_table(tmp_path / "rows.csv", "y")
    expected = [np.nan if cell == mark else float(cell) for cell in cells]
    np.testing.assert_array_equal(column(table, "a"), np.array(expected, np.float32))
    assert column(table, "b") == [flag or None for flag in flags]


def test_a_text_among_few_enough_numbers_is_named(tmp_path):
    lines = "".join(f"{'<0.1' if k % 5 == 0 else k % 40},{k % 7},{k % 2}\n" for k in range(400))
    (tmp_path / "rows.csv").write_text(f"a,b,y\n{lines}")
    notes = read_table(tmp_path / "rows.csv", "y").notes
    assert "Column 'a' is categorical, as it holds '<0.1' among numbers: correct it, or mark missing" in notes[-1]


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("2024-{0:02}-{1:02}", "holds dates or times, which are not read"),
        ("{1:02}.{0:02}.2024", "holds dates or times"),
        ("2024-{0:02}-{1:02}T12:00:00Z", "holds dates or times"),
        ("{0}:{1:02}", "holds dates or times"),
        ("{0}{1:02}%", "holds '1001%', which is not read as a number: write digits and a decimal point only"),
        ("${0}{1:02}.50", "holds '$1001.50', which is not read as a number"),
        ("{0}'{1:03}", 'holds "1\'001", which is not read as a number'),
        ("\u2212{0}{1:02}", "holds '\u22121001', which is not read as a number"),
        ("person {0} {1}", "is text with 336 different values"),
    ],
)
def test_columns_that_would_need_a_hand_are_left_out_with_the_reason(written, why, tmp_path):
    cells = [written.format(month, day) for month in range(1, 13) for day in range(1, 29)]
    lines = "".join(f'{k % 7},"{cell}",{k % 2}\n' for k, cell in enumerate(cells))
    (tmp_path / "rows.csv").write_text(f"a,b,y\n{lines}")
    assert read_table(tmp_path / "rows.csv", "y").left_out["b"].startswith(why)


def test_the_row_names_of_r_are_a_column(tmp_path):
    frame = made_up(np.random.default_rng(0))
    lines = frame.to_csv(index=False).splitlines()
    frame["colour"] = "red"
    text = frame.to_csv(index=True, index_label=False)
    assert text.splitlines()[0] == lines[0]
    (tmp_path / "rows.csv").write_text(text)
    table = read_table(tmp_path / "rows.csv", "y")
    assert table.left_out["rownames"] == "numbers the rows"
    np.testing.assert_array_equal(column(table, "size"), frame["size"].to_numpy(np.float32))
    names, *rows = text.splitlines()
    (tmp_path / "rows.csv").write_text("\n".join([names, *rows[::-2]]))
    assert read_table(tmp_path / "rows.csv", "y").left_out["rownames"] == "numbers the rows"


def test_a_column_that_programs_call_names_of_rows_may_still_be_one_of_values(tmp_path):
    for values in (["2", "2", "5", "7"], ["2.5", "1", "5", "7"], ["2", "1", "", "7"]):
        rows = "".join(f"{value},{k % 3},{k % 2}\n" for k, value in enumerate(values))
        (tmp_path / "rows.csv").write_text(f",a,y\n{rows}")
        assert read_table(tmp_path / "rows.csv", "y").names == ("unnamed: 0", "a")
    # Numbers that a user gave rows may say something, unless they count.
    (tmp_path / "rows.csv").write_text("id,a,y\n4,1,0\n2,2,1\n9,3,0\n7,3,1\n")
    assert read_table(tmp_path / "rows.csv", "y").names == ("id", "a")


def test_a_delimiter_at_the_end_of_rows_or_of_all_lines_is_no_column(tmp_path):
    rows = "".join(f"{k},{k % 3},{k % 2},\n" for k in range(20))
    for names in ("a,b,y\n", "a,b,y,\n"):
        (tmp_path / "rows.csv").write_text(names + rows)
        assert read_table(tmp_path / "rows.csv", "y").names == ("a", "b")
    (tmp_path / "rows.csv").write_text("a,b,y\n" + rows * 40 + "1,2,1,5\n")
    with pytest.raises(ValueError, match=r"line 802 of .* has 4 cells; there are 3 columns: put cells that hold"):
        read_table(tmp_path / "rows.csv", "y")


def test_a_first_line_like_the_rows_holds_no_names(tmp_path):
    rows = "".join(f"5.{k % 9},{k % 4},{'setosa' if k < 25 else 'virginica'}\n" for k in range(50))
    (tmp_path / "iris.data").write_text(rows)
    table = read_table(tmp_path / "iris.data", "-1")
    assert table.names == ("0", "1")
    assert len(table.y) == 50
    # Wavelengths are names, as the name beside them is no value.
    (tmp_path / "rows.csv").write_text(rows.replace("5.0,0,setosa", "450.5,451.5,kind", 1))
    assert read_table(tmp_path / "rows.csv", "kind").names == ("450.5", "451.5")


@pytest.mark.parametrize("said", ["sep=;", '"sep=;"', "SEP=;"])
def test_a_line_that_says_the_delimiter_is_heeded(said, tmp_path):
    (tmp_path / "rows.csv").write_text(f"{said}\na;b;y\n" + "".join(f"{k},5;{k};{k % 2}\n" for k in range(20)))
    table = read_table(tmp_path / "rows.csv", "y")
    assert column(table, "a").tolist() == [k + 0.5 for k in range(20)]


@pytest.mark.parametrize("title", ["# made by a device", "Measurements of 2024", "Measurements"])
def test_a_title_above_the_names_is_named(title, tmp_path):
    (tmp_path / "rows.csv").write_text(f"{title}\na,b,y\n" + "".join(f"{k},{k},{k % 2}\n" for k in range(20)))
    with pytest.raises(ValueError, match=f"first line of .* has 1 cell, '{title[:9]}.*, and most below it have 3"):
        read_table(tmp_path / "rows.csv", "y")


def test_of_ten_thousand_columns_not_all_are_listed(tmp_path):
    names = ",".join(f"x{k}" for k in range(10_000))
    (tmp_path / "rows.csv").write_text(f"{names},y\n" + ",".join("1" * 10_001) + "\n")
    with pytest.raises(ValueError, match=r"no column 'klass'; its columns are x0, x1, .*x59 and 9,941 more$"):
        read_table(tmp_path / "rows.csv", "klass")
