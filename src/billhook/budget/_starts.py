"""What a search tries first: ways far apart from each other."""

import numpy as np

from billhook.budget._space import MOST_LEAVES, CompressionConfig, Family, GrowthConfig
from billhook.budget._trial_runner import TrialRunner

MOST_BINS, MOST_BINS_OF_VECTORS = 100_000, 25_000


def first_growth_configs(bench: TrialRunner, families: tuple[str, ...]) -> list[GrowthConfig]:
    """Return recipes far apart from each other, the most promising first."""
    if "given" in families:
        shapes = ((MOST_LEAVES, 8), (64, 7), (32, 6), (MOST_LEAVES, 6))
        return [GrowthConfig("given", leaves, bits=bits) for leaves, bits in shapes]
    # Growing takes as long as there are bins of all features, for every class; and where there are more than two, the
    # finest of them gain nothing.
    n_values = bench.rows.n_values
    affordable = MOST_BINS if n_values == 1 else MOST_BINS_OF_VECTORS
    most_bins = max(8, 1 << int(np.log2(max(1.0, affordable / (bench.rows.X.shape[1] * n_values)))))
    first = ((32, 0.4, 7, 64), (128, 0.5, 12, 1024), (8, 0.1, 6, 32), (16, 0.4, 6, 32))
    settings = (*first, (32, 0.3, 8, 256), (16, 0.15, 8, 128), (64, 0.3, 8, 128), (32, 0.1, 7, 64))
    found = []
    for leaves, rate, bits, bins in settings:
        fewer = min(bins, most_bins)
        found.append(GrowthConfig("boosted", leaves, rate, bits - int(np.log2(bins // fewer)), fewer))
    forests: tuple[Family, ...] = ("random_forest", "extra_trees")
    return found + [GrowthConfig(family, 64, 1.0, 7, min(64, most_bins)) for family in forests if family in families]


def first_compression_configs(bench: TrialRunner, budget: int) -> list[CompressionConfig]:
    """Return ways to make an ensemble fit, far apart from each other; the quickest first, the least likely last."""
    n_values = bench.n_values
    if n_values == 1:
        return [
            CompressionConfig(leaf_bits=3),
            CompressionConfig(2.0, 1.0, rounding="labels"),
            CompressionConfig(1.0, 10.0, rounding="labels"),
            CompressionConfig(2.0, 1.0, 3),
        ]
    # A codebook may take a fifth of the bytes.
    most = max(8.0, 0.2 * budget / (n_values * 0.5))
    book = int(min(256, 2 ** np.floor(np.log2(most))))
    bits = 3 if n_values <= 10 else 2
    shared = [CompressionConfig(over, 1.0, 4, book, True, "labels") for over in (1.0, 2.0)]
    each = [CompressionConfig(1.0, None, bits + 1), CompressionConfig(2.0, 1.0, bits, rounding="labels")]
    return [each[0], *shared, each[1]] if n_values > 3 else [each[0], each[1], *shared]
