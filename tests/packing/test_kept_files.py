"""Files that earlier releases wrote are read for good, and predict what they did."""

import base64
import json
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import billhook as bh

FILES = Path(__file__).parent / "files"
RELEASES = sorted(path.stem for path in FILES.glob("*.json"))
KEPT = {(release, name): entry for release in RELEASES
        for name, entry in json.loads((FILES / f"{release}.json").read_text()).items()}  # fmt: skip


@pytest.mark.parametrize(("release", "name"), sorted(KEPT))
def test_a_file_of_an_earlier_release_predicts_what_it_did(release, name, tmp_path):
    entry = KEPT[release, name]
    (tmp_path / "model.bhk").write_bytes(zlib.decompress(base64.b85decode(entry["file"])))
    model = bh.load(tmp_path / "model.bhk")
    rows = pd.DataFrame(entry["rows"]) if isinstance(entry["rows"], dict) else np.array(entry["rows"], np.float32)
    expected = np.array([float.fromhex(score) for score in entry["scores"]])
    if model.classes is None:
        scores = np.asarray(model.predict(rows), np.float64)
    else:
        assert model.predict(rows).tolist() == entry["predictions"]
        scores = np.asarray(model.decision_function(rows), np.float64)
    np.testing.assert_array_equal(scores.ravel(), expected)
    model.save(tmp_path / "again.bhk")
    assert bh.load(tmp_path / "again.bhk") == model


def test_both_versions_of_the_format_are_kept():
    versions = {zlib.decompress(base64.b85decode(entry["file"]))[8] for entry in KEPT.values()}
    assert versions == {1, 2}
    assert "0.1.0" in RELEASES
