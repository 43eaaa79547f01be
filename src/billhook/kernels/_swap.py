import numpy as np
from numpy.typing import NDArray

from billhook.kernels._compile import compiled


@compiled
def improve_by_swaps(single: NDArray[np.float64], pair: NDArray[np.float64], chosen: NDArray[np.bool_]) -> float:
    """Swap a chosen tree for another, the best such swap each time, until none lowers the objective; return it.

    The objective is the sum of `single` over the chosen trees plus that of the symmetric `pair` over their pairs,
    each pair both ways and each tree with itself.
    """
    n = single.size
    load = np.zeros(n)
    objective = 0.0
    for i in range(n):
        for j in range(n):
            if chosen[j]:
                load[i] += pair[i, j]
    for i in range(n):
        if chosen[i]:
            objective += single[i] + load[i]
    while True:
        best_change, out, new = -1e-12 * (1.0 + abs(objective)), -1, -1
        for i in range(n):
            if not chosen[i]:
                continue
            without_i = -single[i] - 2.0 * load[i] + pair[i, i]
            for j in range(n):
                if not chosen[j]:
                    change = without_i + single[j] + 2.0 * (load[j] - pair[i, j]) + pair[j, j]
                    if change < best_change:
                        best_change, out, new = change, i, j
        if out < 0:
            return objective
        chosen[out], chosen[new] = False, True
        for i in range(n):
            load[i] += pair[i, new] - pair[i, out]
        objective += best_change
