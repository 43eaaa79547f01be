"""Quantizers chosen by what kernels count against those chosen by what `UniformQuantizer.code_thresholds` counts."""

import numpy as np
import pytest

from billhook.packing import _fit_quantizers
from billhook.packing._fit_quantizers import feature_values, finite_ascending, fitted_quantizer
from billhook.packing._quantizers import UniformQuantizer

RNG = np.random.default_rng(0)
FEATURES = {
    "normal": RNG.normal(size=900),
    "sizes": np.exp(RNG.normal(0, 5, 900)),
    "multiples": RNG.integers(-300, 3000, 900) / 3.0,
    "far away": np.append(RNG.normal(4200, 30, 900), [9e5, -4e4, 3e37]),
    "infinite": np.append(RNG.normal(size=900), [np.inf, -np.inf, np.nan]),
}


@pytest.mark.parametrize("with_rows", [False, True])
@pytest.mark.parametrize("bits", [2, 6, 8, 12])
@pytest.mark.parametrize("name", FEATURES)
def test_the_same_quantizer_is_chosen_by_slow_counts(name, bits, with_rows, monkeypatch):
    x = FEATURES[name].astype(np.float32)
    threshold = np.unique(x[::-11][~np.isnan(x[::-11])])
    seen = feature_values(threshold, x if with_rows else None)
    chosen = fitted_quantizer(threshold, bits, seen)

    def slow_counts(threshold, _values, *numbers):
        tried = (UniformQuantizer(*map(int, steps), numbers[-1]) for steps in zip(*numbers[:-1], strict=True))
        return np.array([steps.code_thresholds(threshold, seen)[1].sum() for steps in tried])

    monkeypatch.setattr(_fit_quantizers, "n_astray", slow_counts)
    assert fitted_quantizer(threshold, bits, seen) == chosen


def test_finite_values_are_ascending_whether_they_were_or_not():
    x = np.array([3.0, np.nan, -1.0, np.inf, 2.0, -np.inf, 2.0], np.float32)
    ordered = finite_ascending(x)
    assert ordered.tolist() == [-1.0, 2.0, 2.0, 3.0]
    assert finite_ascending(ordered).tolist() == ordered.tolist()
    assert x[0] == 3.0
    assert finite_ascending(x[:0]).size == 0
