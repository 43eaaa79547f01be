"""Reports of searches that never were."""

import numpy as np

from billhook.budget._interval import Interval
from billhook.budget._stages import Stage
from billhook.budget.report._report import FitReport, Point, TargetFit

TARGETS = (
    TargetFit("arduino-uno", 32_256, 2_048, 17_320, True),
    TargetFit("arduino-mkr1000", 262_144, 32_768, 16_990, True),
    TargetFit("attiny85", 8_192, 512, 17_320, False),
    TargetFit("raspberry-pi-zero", 0, 0, 16_990, True),
)


def made_up_points(n_points, seed=0, *, budget=16_384):
    """Return candidates whose score grows with their bytes, up to noise."""
    random = np.random.default_rng(seed)
    sizes = np.sort((budget / 2.0 ** random.uniform(0.0, 6.0, n_points)).astype(int))
    scores = 0.98 - 0.3 * (sizes / 200.0) ** -0.5 - random.exponential(0.012, n_points)
    best = -np.inf
    points = []
    for size, score in zip(sizes.tolist(), scores.tolist(), strict=True):
        is_on_front, best = score > best, max(best, score)
        points.append(
            [size, score, made_up_settings(random), is_on_front or bool(random.random() < 0.1), is_on_front]
        )
    chosen = max(range(n_points), key=lambda k: points[k][1])
    return tuple(Point(*point, k == chosen) for k, point in enumerate(points))


def made_up_settings(random):
    return {
        "family": str(random.choice(["boosted", "random_forest"])),
        "leaves": int(random.choice([8, 16, 32, 64])),
        "learning_rate": float(random.choice([0.2, 0.4, 1.0])),
        "bits": 7,
        "bins": 64,
        "min_weight": 1.0,
        "overgrow": float(random.choice([1.0, 2.0])),
        "l2": 1.0,
        "leaf_bits": 4,
        "codebook": 128,
        "by_class": True,
        "rounding": "scores",
    }


def made_up_confusion(n_classes, seed=0):
    random = np.random.default_rng(seed)
    return random.poisson(2.0, (n_classes, n_classes)) * (random.random((n_classes, n_classes)) < 0.6) + np.diag(
        random.integers(150, 300, n_classes)
    )


def made_up_report(n_points=200, n_classes=10, **changes):
    """Return the report of a classifier, or with no classes of a regression; `changes` are other fields."""
    random = np.random.default_rng(1)
    points = changes.get("points", made_up_points(n_points))
    chosen = next(point for point in points if point.is_chosen)
    end = chosen.score
    true = random.normal(0.0, 40.0, 500)
    fields = {
        "title": "pendigits.csv",
        "task": "classification" if n_classes else "regression",
        "scoring": "accuracy" if n_classes else "r2",
        "n_rows": 10_992,
        "n_features": 16,
        "budget": 16_384,
        "nbytes": chosen.nbytes,
        "target": "arduino-uno",
        "scores": (end - 0.002, end + 0.003, end - 0.001),
        "interval": Interval(0.94, 0.97),
        "points": points,
        "stages": (
            Stage("grown", end + 0.0041, None, "boosted trees, 1,210 leaves"),
            Stage("made to fit", end - 0.0012, None, "sibling leaves merged, 612 are left"),
            Stage("refined", end + 0.0015, None, "leaf values fitted once more"),
            Stage("packed", end, chosen.nbytes, "leaf values of 4 bits, 128 different leaves"),
        ),
        "targets": TARGETS,
        "classes": tuple(f"digit {k}" if n_classes <= 30 else f"class {k}" for k in range(n_classes)),
        "confusion": made_up_confusion(n_classes) if n_classes else None,
        "errors": None if n_classes else np.column_stack([true, true + random.normal(0.0, 9.0, 500)]),
        "notes": ("Two columns hold the same numbers: x3, x7.", "A budget of 24 KB would gain about 0.3 points."),
        "n_trials": n_points,
        "seconds": 183.4,
        "seed": 0,
        "versions": {"billhook": "0.1.0", "python": "3.11.9", "xgboost": "3.0.2"},
    }
    return FitReport(**(fields | changes))
