"""A table read in blocks is the table read at once, cut into pieces."""

import numpy as np
import pytest

from billhook.tables import Categorical, read_blocks, read_features

PETS = ["cat", "dog", "", "hamster"]
N_ROWS = 1500


def cells_of(column):
    """Return the cells of a column, those of a categorical one as text."""
    if not isinstance(column, Categorical):
        return column
    return np.array([*column.categories, None], object)[column.codes]


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
    for place, column in enumerate(whole.columns):
        parts = [cells_of(table.columns[place]) for table in tables]
        np.testing.assert_array_equal(np.concatenate(parts), cells_of(column))
    np.testing.assert_array_equal(np.concatenate([table.y for table in tables]), whole.y)


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
