"""Numbers that float32 does not have: rounded to the nearest, or down for models that compare in float64."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

import billhook as bh
from billhook.cli import main
from billhook.tables import features_of, frame_columns, read_features, read_table, table_of_frame
from made_up import random_forest

# Of 0.1 the nearest float32 number is above, and of 0.3 too; those of 0.7 and -0.1 are below.
CELLS = np.array([0.1, 0.3, 0.7, -0.1, 0.5, 16777217.0, -16777217.0, 1e-50, 3.5e38, np.nan])
DOWN = np.array(
    [
        x if np.isnan(x) else np.nextafter(f, np.float32(-np.inf)) if (f := np.float32(x)) > x else f
        for x in CELLS[:-2]
    ]
    + [np.finfo(np.float32).max, np.nan],
    np.float32,
)
WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "parquet": lambda frame, path: frame.to_parquet(path),
    "arff": lambda frame, path: path.write_text(
        "@relation r\n@attribute x numeric\n@attribute y numeric\n@data\n"
        + frame.to_csv(index=False, header=False, na_rep="?")
    ),
}


@pytest.fixture
def frame():
    return pd.DataFrame({"x": CELLS, "y": np.arange(CELLS.size)})


@pytest.mark.parametrize("ending", WRITERS)
def test_numbers_of_files_are_rounded_as_asked(ending, frame, tmp_path):
    path = tmp_path / f"rows.{ending}"
    WRITERS[ending](frame, path)
    with np.errstate(over="ignore"):
        nearest = CELLS.astype(np.float32)
    for read in (read_table, read_features):
        np.testing.assert_array_equal(read(path, "y").columns[0], nearest)
        np.testing.assert_array_equal(read(path, "y", rounding="down").columns[0], DOWN)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_numbers_of_frames_are_rounded_as_asked(library, frame):
    frame = library({name: frame[name].to_numpy() for name in frame})
    np.testing.assert_array_equal(frame_columns(frame, rounding="down")["x"], DOWN)
    np.testing.assert_array_equal(table_of_frame(frame, "y", rounding="down").columns[0], DOWN)


def stump():
    """Return a forest that says 1 up to 0.1, as LightGBM compares, and 2 above."""
    forest = random_forest(np.random.default_rng(0), sizes=(1,), n_features=1, n_classes=1, thresholds=[0.1])
    value = np.where(np.arange(3) == forest.left[0], 1.0, 2.0)[:, None]
    threshold = np.array([np.nextafter(np.float32(0.1), np.float32(-1)), 0, 0], np.float32)
    names = {"feature_names": ("x",), "rounding": "down"}
    return replace(forest, value=value, threshold=threshold, base=np.zeros(1), tree_weight=np.ones(1), **names)


def test_frames_and_files_give_what_arrays_give(tmp_path):
    forest = stump()
    cells = [0.1, np.nextafter(0.1, 0.0), 0.10000001]
    assert forest.predict(np.array(cells)[:, None]).tolist() == [1.0, 1.0, 2.0]
    frame = pd.DataFrame({"x": cells, "y": cells})
    assert forest.predict(frame[["x"]]).tolist() == [1.0, 1.0, 2.0]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    table = read_features(tmp_path / "rows.csv", "y", rounding=forest.rounding)
    assert forest.predict(features_of(table, forest)).tolist() == [1.0, 1.0, 2.0]


def test_commands_read_rows_as_their_model_rounds_them(tmp_path, capsys):
    stump().save(tmp_path / "model.bhk")
    pd.DataFrame({"x": [0.1, 0.1, 0.5, 0.5], "y": [1.0, 1.0, 2.0, 2.0]}).to_csv(tmp_path / "rows.csv", index=False)
    paths = [str(tmp_path / name) for name in ("model.bhk", "rows.csv")]
    assert main(["refine", *paths, "--label", "y", "--out", str(tmp_path / "refined.bhk")]) == 0
    assert bh.load(tmp_path / "refined.bhk").predict(np.array([[0.1]])).round(2).tolist() == [1.0]
    capsys.readouterr()
