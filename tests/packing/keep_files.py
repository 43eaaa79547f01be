"""Writes small model files, with what they predict, for `test_kept_files`: run it with the release to be kept.

    python tests/packing/keep_files.py NAME > tests/packing/files/NAME.json

It asks for nothing that 0.1.0 does not have, but for models that came later.
"""

import base64
import json
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor, GradientBoostingClassifier, RandomForestClassifier

import billhook as bh

ROWS = np.random.default_rng(0).integers(-8, 8, (60, 4)).astype(np.float32) / 4
SUM = ROWS @ np.array([1.0, -2.0, 0.5, 0.0], np.float32)
KEPT = ("forest of words", "forest of numbers", "boosted, two classes", "packed forest of words")
KEPT += ("packed forest of booleans, few bits", "packed forest of integers", "packed forest of numbers, few bits")
KEPT += ("packed boosted",)
LABELS = {
    "words": np.array(["low", "mid", "hígh"])[np.digitize(SUM, [-1, 1])],
    "booleans": SUM > 0,
    "integers": (np.digitize(SUM, [-1, 1]) * 7 - 3),
}


def models():
    """Return the models that can be written, by name, and rows for each."""
    made = {}
    options = {"n_estimators": 3, "max_leaf_nodes": 5, "random_state": 0}
    for name, y in LABELS.items():
        made[f"forest of {name}"] = bh.as_forest(RandomForestClassifier(**options).fit(ROWS, y))
    made["forest of numbers"] = bh.as_forest(ExtraTreesRegressor(**options).fit(ROWS, SUM))
    boosted = GradientBoostingClassifier(n_estimators=4, max_leaf_nodes=4, random_state=0)
    made["boosted"] = bh.as_forest(boosted.fit(ROWS, LABELS["words"]))
    made["boosted, two classes"] = bh.as_forest(boosted.fit(ROWS, LABELS["booleans"]))
    for name in list(made):
        made[f"packed {name}"] = bh.pack(made[name], threshold_bits="exact")
        made[f"packed {name}, few bits"] = bh.pack(made[name], threshold_bits=4, leaf_bits=4)
    return {name: (made[name], ROWS[:8]) for name in KEPT} | later()


def later():
    """Return models of kinds that came after 0.1.0, as far as this release has them."""
    if not hasattr(bh, "fit_table"):
        return {}
    import pandas as pd

    frame = pd.DataFrame(ROWS, columns=list("abcd")).assign(word=np.array(["x", "y", "z"])[np.arange(60) % 3])
    y = np.where(frame["word"] == "x", SUM, -SUM) > 0
    made = {}
    for kind in ("one_hot", "ordered"):
        packed = bh.fit_table(frame.assign(y=y), "y", budget=250, n_trials=2, categorical=kind).packed
        made[f"{kind} columns"] = (packed, packed.to_forest())
    counts = bh.fit_table(frame[list("abcd")].assign(y=np.rint(SUM**2)), "y", budget=150, n_trials=2, loss="poisson")
    made["counts"] = (counts.packed, counts.packed.to_forest())
    rows = {name: frame if "columns" in name else ROWS for name in made}
    kept = {}
    for name, (packed, forest) in made.items():
        for kind, model in (("packed", packed), ("forest", forest)):
            if kind == "packed" or getattr(forest, "encoding", None) is not None:
                kept[f"{kind} of {name}"] = (model, rows[name][:8])
    from sklearn.ensemble import HistGradientBoostingRegressor

    categorical = HistGradientBoostingRegressor(
        max_iter=3, max_leaf_nodes=4, categorical_features=[0], min_samples_leaf=3
    )
    sets = np.column_stack([np.arange(60) % 9, ROWS[:, 1:]]).astype(np.float32)
    forest = bh.as_forest(categorical.fit(sets, SUM + 3 * (np.arange(60) % 9 % 2)))
    kept["forest with sets"], kept["packed with sets"] = (forest, sets[:8]), (bh.pack(forest), sets[:8])
    from made_up import symmetric_forest

    symmetric = symmetric_forest(np.random.default_rng(0), [3, 3, 3])
    kept["packed, symmetric"] = (bh.pack(symmetric, leaf_bits=4), ROWS[:8])
    return kept


def entry(model, rows, folder):
    """Return what is kept of a model: its file, rows, and the scores and predictions for them."""
    model.save(folder / "model.bhk")
    is_frame = not isinstance(rows, np.ndarray)
    columns = {name: rows[name].tolist() for name in rows.columns} if is_frame else rows.tolist()
    given = rows
    if model.classes is None:
        scores = np.asarray(model.predict(given), np.float64)
    else:
        scores = np.asarray(model.decision_function(given), np.float64)
    return {
        "file": base64.b85encode(zlib.compress((folder / "model.bhk").read_bytes(), 9)).decode(),
        "rows": columns,
        "scores": [float(score).hex() for score in scores.ravel()],
        "predictions": model.predict(given).tolist() if model.classes is not None else [],
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        kept = {name: entry(model, rows, Path(folder)) for name, (model, rows) in models().items()}
    print("{" + ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in kept.items()) + "}")
    print(f"{sys.argv[1]}: {len(kept)} files", file=sys.stderr)
