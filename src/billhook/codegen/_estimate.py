"""About how many cycles a row takes on a processor, and how much flash a layout, where no tools are there to measure.

A row takes so many cycles for the code of each feature, for each weight of a projection, for each step down a tree,
for each number of a leaf and for each tree. A tree is taken to be as many steps deep as its leaves are in the mean,
which is more than most rows go. The numbers are those of four forests of 16 trees, measured; the estimate is within a
factor of two for others like them. Processors of which nothing is known are taken for a Cortex-M0, of which
instructions were counted.
"""

from typing import NamedTuple

import numpy as np

from billhook.codegen._balanced_data import balanced_data
from billhook.codegen._fast import uses_codes
from billhook.codegen._form import LayoutName, form_of
from billhook.codegen._steps import code_type
from billhook.codegen._targets import Target
from billhook.packing import Packed


class Steps(NamedTuple):
    """Cycles for a step down a tree, for a number of a leaf, and for a tree."""

    split: float
    number: float
    tree: float


# Cycles for the code of a feature; the fast layout has keys on AVR instead, if these have room, and else nothing.
CODE = {"avr": 185, "cortex-m0": 50}
KEY = {"avr": 35, "cortex-m0": 0}
# Cycles for a weight of a projection, as measured: with codes of a byte, and with longer ones.
WEIGHT = {"avr": (32, 58), "cortex-m0": (20, 21)}
STEPS: dict[str, dict[LayoutName, Steps]] = {
    "avr": {"compact": Steps(215, 40, 60), "balanced": Steps(40, 18, 40), "fast": Steps(7, 6, 10)},
    "cortex-m0": {"compact": Steps(105, 10, 30), "balanced": Steps(21, 5, 20), "fast": Steps(4, 3, 5)},
}
# Of the balanced layout where it is read bit by bit.
IN_BITS = {"avr": Steps(150, 45, 150), "cortex-m0": Steps(60, 10, 60)}
# Bytes of flash for each split, about, in the fast layout.
BYTES_A_SPLIT = {"avr": 14, "cortex-m0": 17}


def estimated_cycles(packed: Packed, layout: LayoutName, target: Target) -> int:
    """Return about how many cycles a row takes."""
    family = target.family if target.family in STEPS else "cortex-m0"
    steps, shape = STEPS[family][layout], packed.layout
    if layout == "balanced" and shape.n_splits and balanced_data(packed).form.unit == 1:
        steps = IN_BITS[family]
    form = form_of("fast", None, target)
    has_codes = layout != "fast" or (family == "avr" and uses_codes(packed, form))
    of_feature = CODE[family] if has_codes else KEY[family]
    of_trees = _mean_depths(packed) * steps.split + shape.n_trees * (shape.n_values * steps.number + steps.tree)
    of_weight = WEIGHT[family][code_type(packed) != "uint8_t"]
    of_projections = shape.n_projections * shape.n_used * of_weight
    return round(of_trees + shape.n_used * of_feature + of_projections)


def data_of(packed: Packed, layout: LayoutName) -> int | None:
    """Return how many bytes of data a layout has besides code; None for the fast one, which is code."""
    if layout == "fast":
        return None
    is_balanced = layout == "balanced" and packed.layout.n_splits > 0
    return int(balanced_data(packed).data.size) if is_balanced else packed.nbytes


def estimated_flash(packed: Packed, layout: LayoutName, target: Target, reader: int) -> int:
    """Return about how many bytes of flash a layout takes, with a reader of the compact one of so many."""
    family = target.family if target.family in STEPS else "cortex-m0"
    nbytes = data_of(packed, layout)
    return packed.layout.n_splits * BYTES_A_SPLIT[family] if nbytes is None else nbytes + reader


def _mean_depths(packed: Packed) -> float:
    """Return how deep the leaves of a tree are in the mean, of all trees together."""
    coded = packed.coded
    total = 0.0
    for first, end in zip(coded.offset[:-1].tolist(), coded.offset[1:].tolist(), strict=True):
        left, right = coded.left[first:end].tolist(), coded.right[first:end].tolist()
        depth = np.zeros(end - first)
        for node, side in enumerate(left):
            if side >= 0:
                depth[[side, right[node]]] = depth[node] + 1
        total += float(depth[coded.feature[first:end] < 0].mean())
    return total
