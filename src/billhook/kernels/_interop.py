"""What a forest read from another library needs: the order its splits were made in, and values of inner nodes."""

import numpy as np
from numpy.typing import NDArray

from billhook.kernels._compile import compiled


@compiled
def rank_best_first(
    left: NDArray[np.int32], right: NDArray[np.int32], gain: NDArray[np.float64], rank: NDArray[np.int32]
) -> None:
    """Give the splits of one tree their numbers in the order in which best-first growth makes them.

    Of all splits whose parent has been made, the one with the largest gain is next; of equal ones
    the one with the lower node number. `rank` of a leaf becomes -1.
    """
    rank[:] = -1
    heap = np.empty(left.size, np.int64)
    size = 0
    if left[0] >= 0:
        heap[0] = 0
        size = 1
    made = 0
    while size > 0:
        node = heap[0]
        rank[node] = made
        made += 1
        size -= 1
        # Move the last entry to the top and let it sink.
        last = heap[size]
        place = 0
        while True:
            child = 2 * place + 1
            if child >= size:
                break
            if child + 1 < size and _comes_first(heap[child + 1], heap[child], gain):
                child += 1
            if not _comes_first(heap[child], last, gain):
                break
            heap[place] = heap[child]
            place = child
        heap[place] = last
        for new in (left[node], right[node]):
            if left[new] >= 0:
                place = size
                size += 1
                while place > 0 and _comes_first(new, heap[(place - 1) // 2], gain):
                    heap[place] = heap[(place - 1) // 2]
                    place = (place - 1) // 2
                heap[place] = new


@compiled
def _comes_first(a: int, b: int, gain: NDArray[np.float64]) -> bool:
    return bool(gain[a] > gain[b] or (gain[a] == gain[b] and a < b))


@compiled
def average_upwards(
    left: NDArray[np.int32], right: NDArray[np.int32], weight: NDArray[np.float64], value: NDArray[np.float64]
) -> None:
    """Replace every inner node's value by the weighted mean of its children's, from the leaves to the root.

    Children come after their parents. Children without weight count the same.
    """
    for node in range(left.size - 1, -1, -1):
        if left[node] >= 0:
            on_left, on_right = weight[left[node]], weight[right[node]]
            share = on_left / (on_left + on_right) if on_left + on_right > 0.0 else 0.5
            for c in range(value.shape[1]):
                value[node, c] = share * value[left[node], c] + (1.0 - share) * value[right[node], c]
