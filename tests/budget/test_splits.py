import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from billhook.budget import TrainingRows
from billhook.budget._splits import sample_rows, split_rows


def rows_of(y, classes=None):
    y = np.asarray(y)
    X = np.arange(len(y), dtype=np.float32)[:, None]
    return TrainingRows(X, y, np.ones(len(y)), None if classes is None else np.arange(classes))


@given(st.lists(st.integers(0, 4), min_size=2, max_size=200), st.integers(0, 5), st.integers(0, 3))
def test_every_row_is_on_one_side_and_no_class_is_held_out_whole(labels, number, seed):
    known, y = np.unique(labels, return_inverse=True)
    rows = rows_of(y, known.size)
    if np.bincount(y).max() < 2:
        with pytest.raises(ValueError, match="too few"):
            split_rows(rows, number, seed)
        return
    parted = split_rows(rows, number, seed)
    assert sorted([*parted.train, *parted.held_out]) == list(range(len(y)))
    assert parted.held_out.size >= 1
    assert set(y[parted.train]) == set(range(known.size))


def test_a_share_of_each_class_is_held_out():
    y = np.repeat([0, 1, 2], [1000, 200, 40])
    parted = split_rows(rows_of(y, 3), 0, 0)
    np.testing.assert_allclose(np.bincount(y[parted.held_out]), [150, 30, 6], atol=1)


def test_small_classes_together_have_their_share():
    y = np.repeat(np.arange(500), 2)
    held = [split_rows(rows_of(y, 500), number, 0).held_out.size for number in range(20)]
    assert np.mean(held) == pytest.approx(150, rel=0.1)


def test_numbers_of_both_sides_are_alike():
    y = np.random.default_rng(0).exponential(size=400)
    means = [y[split_rows(rows_of(y), number, 0).held_out].mean() for number in range(30)]
    at_random = [np.random.default_rng(k).choice(y, 60, replace=False).mean() for k in range(30)]
    assert np.std(means) < 0.6 * np.std(at_random)
    assert np.mean(means) == pytest.approx(y.mean(), rel=0.05)


def test_parts_differ_by_number_and_by_seed_and_by_nothing_else():
    rows = rows_of(np.arange(300) % 3, 3)
    one, same = split_rows(rows, 0, 0), split_rows(rows, 0, 0)
    np.testing.assert_array_equal(one.held_out, same.held_out)
    assert not np.array_equal(one.held_out, split_rows(rows, 1, 0).held_out)
    assert not np.array_equal(one.held_out, split_rows(rows, 0, 1).held_out)


def test_a_sample_has_every_class():
    y = np.r_[np.zeros(5000, np.int64), 1]
    some = sample_rows(rows_of(y, 2), 100, 0)
    assert 100 <= some.n_rows <= 102
    assert set(some.y) == {0, 1}
    np.testing.assert_array_equal(y[some.X[:, 0].astype(int)], some.y)
    assert sample_rows(rows_of(y, 2), 10_000, 0).n_rows == 5001
