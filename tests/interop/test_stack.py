import numpy as np
import pytest

from billhook.interop._stack import growth_rank


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        ([1, -1, -1], [9, -1, -1], "children must come after their parent"),
        ([0, -1, -1], [2, -1, -1], "children must come after their parent"),
        ([1, 0, -1], [2, 2, -1], "children must come after their parent"),
        ([1, -1, -1], [-7, -1, -1], "children must come after their parent"),
        ([1, 2, -1], [2, 2, -1], "a node is the child of two nodes"),
    ],
)
def test_what_is_no_tree_never_reaches_the_kernels(left, right, message):
    with pytest.raises(ValueError, match=message):
        growth_rank(np.array(left), np.array(right), np.zeros(3))


def test_splits_are_ranked_by_gain_once_their_parent_is_made():
    left, right = np.array([1, 3, 5, -1, -1, -1, -1]), np.array([2, 4, 6, -1, -1, -1, -1])
    assert growth_rank(left, right, np.array([1.0, 2.0, 3.0, 0, 0, 0, 0])).tolist() == [0, 2, 1, -1, -1, -1, -1]
