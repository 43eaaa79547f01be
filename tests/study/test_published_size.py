import numpy as np
import pytest

import billhook as bh
from made_up import random_forest


@pytest.mark.parametrize(
    ("n_features", "n_classes", "bytes_a_node"),
    [(22, 10, 25), (10, 12, 25), (42, 3, 25), (14, 9, 25), (23, 18, 25), (36, 6, 41), (14, 2, 25), (784, 10, 57)],
)
def test_five_data_sets_were_published_at_25_bytes_a_node(n_features, n_classes, bytes_a_node):
    forest = random_forest(np.random.default_rng(0), sizes=(3,), n_features=n_features, n_classes=n_classes)
    assert bh.study.published_size(forest) == 7 * bytes_a_node
