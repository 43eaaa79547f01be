"""Results of studies that nobody ran, in the form in which a study leaves its own."""

import json

import numpy as np
import pandas as pd

PAPER = ("RF", "RE", "IC", "IE", "COMP", "DREP", "LMD", "CA", "RF-LR", "GB")
BEYOND = ("BCD", "RE+BCD", "merged", "budget search")
GAIN = {"RE": 0.012, "IC": 0.014, "COMP": 0.01, "CA": -0.01, "RF-LR": 0.03, "GB": -0.03, "BCD": 0.035, "merged": 0.04}


def run(data="eeg", method="RF", accuracy=0.9, nbytes=1024, **others):
    """Return the row of a run that is done, of which some columns are given."""
    row = {
        "data": data, "fold": 0, "base": "gradient_boosting" if method == "GB" else "random_forest", "method": method,
        "options": "{}", "n_leaves": 64, "n_trees": 8, "status": "done", "reason": None, "accuracy_train": 1.0,
        "accuracy": accuracy, "balanced_accuracy": accuracy, "f1": accuracy, "n_nodes": 10, "size_paper": nbytes,
        "size_published": nbytes, "size_packed": np.nan, "seconds": 1.0, "seed": 0,
    }  # fmt: skip
    unknown = set(others) - set(row)
    assert not unknown, unknown
    return row | others


def study(
    data=("eeg", "chess", "magic"),
    methods=PAPER,
    bases=("random_forest",),
    folds=2,
    leaves=(64, 256, 1024),
    trees=(8, 32),
    seed=0,
):
    """Return the results of a study: accuracy grows with the size, and some methods are better than others."""
    rng = np.random.default_rng(seed)
    rows = []
    for name in data:
        n_classes, top, slope = int(rng.integers(2, 12)), rng.uniform(0.75, 0.94), rng.uniform(0.1, 0.5)
        for base in bases:
            for method in methods:
                if method == "GB" and base != bases[0]:
                    continue
                shapes = (
                    [(n, k) for n in leaves for k in trees]
                    if method != "budget search"
                    else [(None, k) for k in trees]
                )
                for n_leaves, n_trees in shapes:
                    grown = np.log2((n_leaves or 128) * n_trees) / 18
                    mean = top - slope * (1 - grown) ** 1.5 + GAIN.get(method, 0.0) + rng.normal(0, 0.003)
                    n_nodes = n_trees * (2 * (n_leaves or 128) - 1) // (3 if method == "GB" else 1)
                    for rho in (0.25, 0.5) if method == "DREP" else (None,):
                        rows += [
                            run(
                                name,
                                method,
                                float(np.clip(mean + rng.normal(0, 0.004), 0, 1)),
                                n_nodes * (17 + 4 * n_classes),
                                base="gradient_boosting" if method == "GB" else base,
                                fold=fold,
                                n_leaves=n_leaves,
                                n_trees=n_trees if n_leaves else None,
                                options=json.dumps({"rho": rho} if rho else {} if n_leaves else {"budget": n_trees}),
                                n_nodes=n_nodes,
                                size_published=n_nodes * 25,
                                seed=fold,
                            )
                            for fold in range(folds)
                        ]
    return pd.DataFrame(rows)
