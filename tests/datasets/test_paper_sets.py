"""The paper's data sets in $BILLHOOK_DATA: their size after preparation, and every number against pandas."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import billhook as bh
from billhook.datasets import catalogue

FOLDER = Path(os.environ.get("BILLHOOK_DATA") or "nowhere")
MANIFEST = FOLDER / "manifest.json"
PRESENT = sorted(json.loads(MANIFEST.read_text())) if MANIFEST.exists() else []

pytestmark = pytest.mark.skipif(not PRESENT, reason="BILLHOOK_DATA is not set: the paper's data sets are not here")


@pytest.fixture(scope="module")
def manifest():
    return json.loads(MANIFEST.read_text())


def expected(name):
    """Return features by name and labels as pandas makes them, in the way of the authors."""
    frame = pd.read_parquet(FOLDER / f"{name}.parquet").dropna()
    return pd.get_dummies(frame.drop(columns="label"), prefix_sep="="), frame["label"].astype(str).to_numpy()


@pytest.mark.parametrize("name", [name for name in PRESENT if name != "mnist"])
def test_the_sizes_are_those_of_the_manifest(name, manifest):
    said = manifest[name]
    data = bh.datasets.load(name, rows="all", download=False)
    assert data.X.shape == (said["rows_after_dropna"], said["d_after_onehot"])
    assert data.X.dtype == np.float32
    assert np.isfinite(data.X).all()
    assert len(data.feature_names) == len(set(data.feature_names)) == said["d_after_onehot"]
    labels, counts = np.unique(data.y, return_counts=True)
    assert data.classes.tolist() == labels.tolist()
    assert dict(zip(map(str, labels), counts.tolist(), strict=True)) == said["class_counts"]
    assert data.train is None


@pytest.mark.parametrize("name", [name for name in PRESENT if name != "mnist"])
def test_every_number_is_that_of_pandas(name):
    data = bh.datasets.load(name, rows="all", download=False)
    frame, labels = expected(name)
    assert sorted(frame.columns) == sorted(data.feature_names)
    np.testing.assert_array_equal(data.X, frame[list(data.feature_names)].to_numpy(np.float32))
    assert data.y.astype(str).tolist() == labels.tolist()


@pytest.mark.skipif("mnist" not in PRESENT, reason="mnist is not in BILLHOOK_DATA")
def test_mnist_has_the_rows_of_the_paper_and_its_given_split():
    data = bh.datasets.load("mnist", download=False)
    assert data.X.shape == (7000, 784)
    ((train, test),) = data.folds(5, 0)
    assert train.tolist() == list(range(6000))
    assert test.tolist() == list(range(6000, 7000))
    table = pd.read_parquet(FOLDER / "mnist.parquet", columns=["pixel300", "pixel401", "label", "split"])
    rows = pd.concat([table[table["split"] == "train"][:6000], table[table["split"] == "test"][:1000]])
    assert data.y.tolist() == rows["label"].tolist()
    for pixel in (300, 401):
        assert data.X[:, pixel].tolist() == rows[f"pixel{pixel}"].tolist()
    assert "The paper prints N = 70,000; here it is 7,000." in data.notes


@pytest.mark.skipif("magic" not in PRESENT, reason="magic is not in BILLHOOK_DATA")
def test_magic_lacks_its_first_row_as_in_the_paper():
    paper, everything = (bh.datasets.load("magic", rows=rows, download=False) for rows in ("paper", "all"))
    assert paper.X.shape == (19019, 10)
    np.testing.assert_array_equal(paper.X, everything.X[1:])
    assert (paper.y == everything.y[1:]).all()
    assert "The paper prints N = 19,019; here it is 19,020." in everything.notes


def test_differences_from_the_print_are_said():
    notes = {
        name: " ".join(bh.datasets.load(name, download=False).notes) for name in ("chess", "avila", "satimage", "eeg")
    }
    assert "The paper prints C = 17; here it is 18." in notes["chess"]
    assert "The paper prints C = 11; here it is 12." in notes["avila"]
    assert "The paper prints N = 6,430; here it is 6,435." in notes["satimage"]
    assert notes["eeg"] == ""


def test_the_catalogue_agrees_with_the_manifest(manifest):
    for entry in catalogue():
        if entry.name not in manifest:
            continue
        said = manifest[entry.name]
        assert (entry.rows, entry.features, entry.classes) == (said["rows"], said["d_after_onehot"], said["classes"])
        assert sorted(entry.counts) == sorted(said["class_counts"].values())


def test_a_part_of_a_set_is_not_taken_for_it(tmp_path, monkeypatch):
    partial = FOLDER / "partial" / "ida2016-partial.parquet"
    if not partial.exists():
        pytest.skip("no part of ida2016 in BILLHOOK_DATA")
    (tmp_path / "ida2016.parquet").symlink_to(partial)
    monkeypatch.setenv("BILLHOOK_DATA", str(tmp_path))
    with pytest.raises(
        ValueError, match=r"not the paper's ida2016: ida2016.parquet has 9,000 rows; ida2016 has 76,000"
    ):
        bh.datasets.load("ida2016")
