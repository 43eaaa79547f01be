"""A table read in blocks is the table read at once, cut into pieces."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from billhook.tables import Categorical, read_blocks, read_features

PETS = ["cat", "dog", "", "hamster"]
N_ROWS = 1500


def cells_of(column):
    """Return the cells of a column, those of a categorical one as text."""
    if not isinstance(column, Categorical):
        return column
    return np.array([*column.categories, None], object)[column.codes]


def assert_pieces(tables, whole):
    """Assert that a column of numbers is one in every piece, and that the pieces make up all columns and labels."""
    for place, column in enumerate(whole.columns):
        parts = [table.columns[place] for table in tables]
        if not isinstance(column, Categorical):
            assert not any(isinstance(part, Categorical) for part in parts)
        np.testing.assert_array_equal(np.concatenate([cells_of(part) for part in parts]), cells_of(column))
    np.testing.assert_array_equal(np.concatenate([table.y for table in tables]), whole.y)


@pytest.fixture(params=["csv", "parquet", "arff"])
def path(request, tmp_path):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=N_ROWS).astype(np.float32)
    pets = rng.choice(PETS, N_ROWS)
    zips = rng.integers(100, 120, N_ROWS)
    path = tmp_path / f"table.{request.param}"
    if request.param == "parquet":
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        frame = pandas.DataFrame({"number": numbers, "pet": pets, "zip": zips, "y": numbers > 0})
        frame.to_parquet(path)
        return path
    lines = [
        f"{number:.9g},{pet or '?'},{zip_},{number > 0}"
        for number, pet, zip_ in zip(numbers, pets, zips, strict=True)
    ]
    head = ["number,pet,zip,y"]
    if request.param == "arff":
        head = ["@relation r", "@attribute number real", "@attribute pet string"]
        head += ["@attribute zip integer", "@attribute y {True,False}", "@data"]
    path.write_text("\n".join([*head, *lines]) + "\n")
    return path


def test_blocks_are_pieces_of_the_whole(path):
    whole = read_features(path, "y", categorical={"zip"})
    blocks = read_blocks(path, "y", categorical={"zip"}, n_rows=600)
    tables = list(blocks.tables)
    assert len(tables) > 1
    assert blocks.names == whole.names
    assert blocks.label == "y"
    assert [table.n_before for table in tables] == [
        sum(len(table.y) for table in tables[:k]) for k in range(len(tables))
    ]
    assert_pieces(tables, whole)


def test_about_as_many_rows_are_expected_as_there_are(path):
    assert abs(read_blocks(path).about_n_rows - N_ROWS) < 0.1 * N_ROWS


def test_only_columns_that_are_asked_for_are_read(path):
    [table] = read_blocks(path, names={"zip", "absent"}, n_rows=10_000).tables
    assert table.names == ("zip",)
    assert not table.left_out


def test_a_missing_label_in_a_later_block_has_its_row_in_the_file(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("x,y\n" + "1,a\n" * 600 + "1,\n" + "1,a\n" * 600)
    with pytest.raises(ValueError, match="the first in row 601"):
        list(read_blocks(path, "y", n_rows=512).tables)


def test_a_file_without_rows_is_refused(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("x,y\n")
    with pytest.raises(ValueError, match="has no rows below its line of column names"):
        list(read_blocks(path).tables)


def written(path, columns):
    lines = [";".join(row) for row in zip(*columns.values(), strict=True)]
    path.write_text("\n".join([";".join(columns), *lines]) + "\n")
    return path


def test_blocks_of_decimal_commas_are_pieces_of_the_whole(tmp_path):
    """What tells decimals from thousands stands in the last block: those before it are read by it all the same."""
    early, late = ["1.500", "12.250", "7"] * 400, ["1.000,5", "2,25", ""] * 100
    columns = {
        "points": early + late,
        "whole": ["3", "", "NA"] * 400 + late,
        "unclear": ["1,500", "-2,250", "3"] * 500,
        "words": ["a,b", "0,5", ""] * 500,
        "codes": ["1,5", "2,5", "1.5"] * 500,
        "y": ["1,250", "0,500", "4"] * 500,
    }
    path = written(tmp_path / "table.csv", columns)
    whole = read_features(path, "y", categorical={"codes"})
    blocks = read_blocks(path, "y", categorical={"codes"}, n_rows=512)
    tables = list(blocks.tables)
    assert len(tables) == 3
    assert_pieces(tables, whole)
    assert blocks.notes == whole.notes == ("Numbers of column 'points' and of 3 others have decimal commas.",)
    points, is_whole, unclear, _, codes = whole.columns
    assert points[:3].tolist() == [1500.0, 12250.0, 7.0]
    assert points[1200:1202].tolist() == is_whole[1200:1202].tolist() == [1000.5, 2.25]
    assert unclear[:3].tolist() == [1.5, -2.25, 3.0]
    assert codes.categories == ("1,5", "1.5", "2,5")
    assert whole.y[:3].tolist() == ["1.250", "0.500", "4"]


def test_columns_that_are_not_asked_for_tell_what_commas_are(tmp_path):
    path = written(tmp_path / "table.csv", {"unclear": ["1,500"] * 600, "clear": ["0,5"] * 600})
    blocks = read_blocks(path, names={"unclear"}, n_rows=512)
    assert [float(table.columns[0][0]) for table in blocks.tables] == [1.5, 1.5]
    assert blocks.notes == ("Numbers of column 'unclear' have decimal commas.",)


def test_commas_that_stay_unclear_are_refused_in_every_block(tmp_path):
    path = written(tmp_path / "table.csv", {"unclear": ["1,500", "2"] * 600, "n": ["1", "2"] * 600})
    for table in (read_features(path), *read_blocks(path, n_rows=512).tables):
        assert table.names == ("n",)
        assert "holds '1,500', thousands or decimals: write numbers with a decimal point" in table.left_out["unclear"]
    with pytest.raises(ValueError, match=r"label column 'unclear' of .* holds '1,500', thousands or decimals"):
        read_blocks(path, "unclear")


COMMA_CELLS = [
    "0,5",
    "1,500",
    "12,250,000",
    "1.234,5",
    "2.000",
    "1.5",
    "7",
    "1e2",
    "-3,25",
    "",
    "NA",
    "-",
    "word",
    "a,b",
]


@given(
    st.lists(st.tuples(*[st.sampled_from(COMMA_CELLS)] * 2), min_size=1, max_size=30),
    st.lists(st.tuples(*[st.sampled_from(COMMA_CELLS[:7])] * 2), min_size=1, max_size=30),
    st.integers(1, 12),
)
def test_blocks_of_any_cells_are_pieces_of_the_whole(tmp_path_factory, any_cells, numbers, n_rows):
    path = tmp_path_factory.mktemp("tables") / "table.csv"
    for rows in (any_cells, numbers):
        cells = [("0", *row, "1") for row in rows]
        written(path, dict(zip(("first", "a", "b", "y"), zip(*cells, strict=True), strict=True)))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("billhook.tables._collect.BLOCK", 2)
            whole = read_features(path, "y")
            tables = list(read_blocks(path, "y", n_rows=n_rows).tables)
        assert {name: why for table in tables for name, why in table.left_out.items()} == whole.left_out
        for place, column in enumerate(whole.columns):
            if isinstance(column, Categorical):  # a piece of it may hold numbers alone
                continue
            np.testing.assert_array_equal(np.concatenate([table.columns[place] for table in tables]), column)


def test_marks_alone_are_missing_numbers_in_a_block(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("x,y\n" + "1.5,a\n" * 600 + "-,a\n" * 1200 + "2,a\n")
    assert_pieces(list(read_blocks(path, "y", n_rows=512).tables), read_features(path, "y"))


def test_a_damaged_page_is_said_when_its_rows_are_due(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "table.parquet"
    frame = pandas.DataFrame({"a": np.random.default_rng(0).normal(size=500)})
    frame.to_parquet(path, write_page_checksum=True)
    data = bytearray(path.read_bytes())
    data[1000] ^= 255
    path.write_bytes(data)
    with pytest.raises(OSError, match=r"table.parquet is damaged: rows from 1 on cannot be read"):
        list(read_blocks(path).tables)
