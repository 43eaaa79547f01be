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
