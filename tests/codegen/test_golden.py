"""The emitted C of four tiny forests, word for word: a change of it is seen in review.

BILLHOOK_GOLDEN=write pytest tests/codegen/test_golden.py    # writes the files anew
"""

import os
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import billhook as bh
from made_up import random_forest
from projected import projected_model

GOLDEN = Path(__file__).parent / "golden"
X = np.array([[-1.0, 5.0], [1.0, -3.0], [2.0, 8.0], [-3.0, 1.0], [4.0, 7.0], [5.0, 2.0]])
THRESHOLDS = np.arange(-3.5, 7.0)


def classes():
    forest = random_forest(np.random.default_rng(0), (2, 3), 2, 3, thresholds=THRESHOLDS)
    return bh.pack(forest, threshold_bits="exact", leaf_bits=4)


def number():
    forest = random_forest(np.random.default_rng(1), (4,), 2, 1, thresholds=THRESHOLDS / 3)
    return bh.pack(forest, threshold_bits=6, leaf_bits=5, missing_values=False)


def softmax():
    """Return a boosted model: its probabilities are the softmax of the scores."""
    forest = random_forest(np.random.default_rng(2), (1, 2, 1), 2, 3, per_class=True, thresholds=THRESHOLDS)
    return bh.pack(replace(forest, link="softmax"), threshold_bits="exact", leaf_bits=4, missing_values=False)


def projections():
    """Return a model whose splits test weighted sums of the codes of features."""
    rng = np.random.default_rng(3)
    return projected_model(rng, (3, 2), 2, 2, 4, 3, rows=rng.normal(size=(60, 2)), leaf_bits=4)[0]


@pytest.mark.parametrize(
    ("make", "layout"),
    [
        *product([classes, number], ["compact", "balanced", "fast"]),
        (softmax, "compact"),
        (projections, "compact"),
    ],
)
def test_the_files_are_those_seen_last(make, layout, tmp_path):
    written = bh.emit(make(), tmp_path / "out", target="arduino-uno", layout=layout, X=X)
    kept = GOLDEN / f"{make.__name__}-{layout}"
    names = {path.relative_to(tmp_path / "out") for path in written}
    for path in written:
        name = path.relative_to(tmp_path / "out")
        if name.parts[0] == "arduino" and name.suffix in (".c", ".h"):
            continue  # the same files once more
        if os.environ.get("BILLHOOK_GOLDEN") == "write":
            (kept / name).parent.mkdir(parents=True, exist_ok=True)
            (kept / name).write_text(path.read_text())
        assert path.read_text() == (kept / name).read_text()
    assert {path.relative_to(kept) for path in kept.rglob("*") if path.is_file()} <= names
