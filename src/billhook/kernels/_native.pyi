"""The compiled kernels: positional arguments only, contiguous arrays of exactly these types; some are written to."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Float32s = NDArray[np.float32]
Codes = NDArray[np.uint8] | NDArray[np.uint16]
UInt32s = NDArray[np.uint32]
UInt64s = NDArray[np.uint64]
LeafIds = NDArray[np.uint16] | NDArray[np.uint32]
Rows = NDArray[np.float32] | NDArray[np.float64]

# Of the losses of growing: the number of each. How many outputs gradients are padded to a multiple of. Up to how many
# rows the sums of histograms are of 32 bits, and those above of 64.
GROWTH_LOSSES: dict[str, int]
GROWTH_LANES: int
MOST_NARROW_ROWS: int

class Walker:
    """A forest laid out, ready to be walked; it keeps its arrays."""

    def __init__(
        self,
        offset: Int64s,
        column_feature: Int32s,
        column_missing_right: Bools,
        column_set: Int32s,
        set_offset: Int64s,
        set_bits: UInt32s,
        position_bits: int,
        words: UInt64s,
        node_at: Int32s,
        crown_size: Int32s,
        crown_column: Int32s,
        crown_threshold: Int32s,
        crown_keeps: UInt64s,
        exits: Int32s,
        goes_deeper: Bools,
        value: Floats,
        start: Floats,
        divisor: float,
        end: Floats,
        tree_column: Int32s,
        n_features: int,
        rounds_down: bool,
        is_logistic: bool,
        last_wins: bool,
        /,
    ) -> None: ...
    def write_scores(self, X: Rows, scores: Floats, /) -> None: ...
    def write_winners(self, X: Rows, winners: Int64s, /) -> None: ...
    def write_leaf_ids(self, X: Rows, leaf: LeafIds, first: int, /) -> None: ...

def lay_out(
    offset: Int64s,
    left: Int32s,
    right: Int32s,
    column: Int32s,
    threshold: Int32s,
    visits: Int64s,
    position_bits: int,
    words: UInt64s,
    node_at: Int32s,
    crown_size: Int32s,
    crown_column: Int32s,
    crown_threshold: Int32s,
    crown_keeps: UInt64s,
    exits: Int32s,
    goes_deeper: Bools,
    /,
) -> None: ...
def sum_values_plainly(
    X: NDArray[np.float32],
    offset: Int64s,
    feature: Int32s,
    threshold: NDArray[np.float32],
    left: Int32s,
    right: Int32s,
    missing_left: Bools,
    category_set: Int32s,
    set_offset: Int64s,
    set_bits: UInt32s,
    value: Floats,
    start: Floats,
    divisor: float,
    end: Floats,
    tree_column: Int32s,
    scores: Floats,
    /,
) -> None: ...
def leaf_ids_plainly(
    X: NDArray[np.float32],
    offset: Int64s,
    feature: Int32s,
    threshold: NDArray[np.float32],
    left: Int32s,
    right: Int32s,
    missing_left: Bools,
    category_set: Int32s,
    set_offset: Int64s,
    set_bits: UInt32s,
    leaf: LeafIds,
    first: int,
    /,
) -> None: ...
def choose_winners(scores: Floats, is_logistic: bool, last_wins: bool, winners: Int64s, /) -> None: ...
def softmax(scores: Floats, /) -> None: ...
def has_missing(X: Rows, /) -> bool: ...
def rank_best_first(left: Int32s, right: Int32s, gain: Floats, rank: Int32s, /) -> None: ...
def average_upwards(left: Int32s, right: Int32s, weight: Floats, value: Floats, /) -> None: ...
def read_decimals(text: bytes, number: Floats, /) -> int: ...
def read_integers(text: bytes, number: Int64s, /) -> int: ...
def find_elements(text: bytes, start: int, end: Int64s, /) -> int: ...
def read_fields(data: bytes | memoryview, start: int, tag: int, number: Int64s, /) -> tuple[int, int]: ...
def columns_of_codes(codes: Codes, first: Int32s, columns: Codes, count: Int64s, /) -> None: ...
def cells_of_codes(codes: Codes, first: Int32s, commonest: Int32s, row_start: Int64s, cells: LeafIds, /) -> None: ...
def loss_gradients(
    loss: int,
    shape: float,
    n_outputs: int,
    score: Float32s,
    target: Float32s,
    weight: Float32s,
    g: Float32s,
    h: Float32s,
    /,
) -> None: ...
def grow_tree(
    first: Int32s, has_missing: Bools, columns: Codes, cells: LeafIds, row_start: Int64s, commonest: Int32s,
    g: Float32s, h: Float32s, whole: Int64s, sampled: UInt32s, target: Float32s, weight: Float32s, score: Float32s,
    feature: Int32s, at: Int32s, missing_left: Bools, left: Int32s, right: Int32s, value: Floats, gain: Floats,
    n_rows: Int64s, row_weight: Floats, spare: UInt32s, histograms: Int64s, is_used: Bools, n_used: Int64s,
    n_outputs: int, max_leaves: int, learning_rate: float, l2: float, min_weight: float, largest_step: float,
    reuse_factor: float, max_tests: int, n_tried_features: int, is_random_threshold: bool, leaf_quantile: float,
    is_share: bool, seed: int, /
) -> int: ...  # fmt: skip
def projections_epoch(
    z: Float32s,
    target: Float32s,
    weight: Float32s,
    step_size: Float32s,
    parameter: Float32s,
    moments: Float32s,
    n_hidden: int,
    n_outputs: int,
    batch_size: int,
    loss: int,
    l2: float,
    /,
) -> None: ...
def descend_one(
    leaf: LeafIds, first: UInt64s, column: UInt64s, state: Floats, target: Floats, weight: Floats, skip: Bools,
    used: Bools, table: Floats, anchor: Floats, curvature: Floats, loss: int, width: float, l2: float, group: float,
    largest: float, damping: float, grid: Floats, /
) -> None: ...  # fmt: skip
def descend_many(
    leaf: LeafIds, first: UInt64s, column: UInt64s, state: Floats, target: UInt64s, weight: Floats, skip: Bools,
    used: Bools, table: Floats, anchor: Floats, curvature: Floats, loss: int, width: float, l2: float, group: float,
    largest: float, damping: float, grid: Floats, /
) -> None: ...  # fmt: skip
def sweep_one(
    leaf: LeafIds, first: UInt64s, column: UInt64s, before: int, now: int, move: Floats, state: Floats,
    target: Floats, weight: Floats, loss: int, width: float, sums: Floats, /
) -> None: ...  # fmt: skip
def sweep_many(
    leaf: LeafIds, first: UInt64s, column: UInt64s, before: int, now: int, move: Floats, state: Floats,
    target: UInt64s, weight: Floats, loss: int, width: float, sums: Floats, /
) -> None: ...  # fmt: skip
def step_tree(
    tree: int, first: UInt64s, column: UInt64s, n_columns: int, used: Bools, table: Floats, anchor: Floats,
    curvature: Floats, sums: Floats, loss: int, l2: float, group: float, largest: float, damping: float, grid: Floats,
    move: Floats, /
) -> None: ...  # fmt: skip
def find_states(
    leaf: LeafIds, first: UInt64s, column: UInt64s, table: Floats, skip: Bools, base: Floats, is_log: bool,
    state: Floats, /
) -> None: ...  # fmt: skip
def find_reached(leaf: LeafIds, first: UInt64s, weight: Floats, skip: Bools, reached: Bools, /) -> None: ...
def renumber_leaves(leaf: LeafIds, first: UInt64s, number: LeafIds, /) -> None: ...
def row_losses_one(state: Floats, target: Floats, loss: int, width: float, losses: Floats, /) -> None: ...
def total_loss_one(state: Floats, target: Floats, loss: int, width: float, weight: Floats, /) -> float: ...
def row_losses_many(state: Floats, target: UInt64s, loss: int, width: float, losses: Floats, /) -> None: ...
def total_loss_many(state: Floats, target: UInt64s, loss: int, width: float, weight: Floats, /) -> float: ...
def shuffle(order: UInt32s, seed: int, /) -> None: ...
def sgd_epoch(
    leaf: NDArray[Any],
    first: UInt64s,
    column: UInt64s,
    base: Floats,
    order: UInt32s,
    target: Floats,
    label: UInt64s,
    weight: Floats,
    tree_weight: Floats,
    table: Floats,
    moments: Floats,
    step_of: Int64s,
    n_classes: int,
    loss: int,
    width: float,
    gain: float,
    step_size: float,
    batch_size: int,
    takes_mean: bool,
    weight_step: float,
    weight_shrink: float,
    n_steps: int,
    /,
) -> float: ...
def add_tree(leaf: NDArray[Any], value: Floats, score: Floats, /) -> None: ...
def best_addition(
    score: Floats,
    y: Int64s,
    weight: Int64s,
    swing: float,
    candidates: Int64s,
    leaf: NDArray[Any],
    offset: Int64s,
    value: Floats,
    /,
) -> int: ...
def largest_area(
    score: Floats,
    y: Int64s,
    weight: Int64s,
    candidates: Int64s,
    leaf: NDArray[Any],
    offset: Int64s,
    value: Floats,
    /,
) -> int: ...
def improve_by_swaps(single: Floats, pair: Floats, chosen: NDArray[np.bool_], /) -> float: ...
def find_votes(leaf: NDArray[Any], offset: Int64s, of_node: NDArray[Any], votes: NDArray[Any], /) -> None: ...
def weigh_matches(
    votes: NDArray[Any],
    expected: NDArray[Any],
    weight: Int64s,
    is_unweighted: bool,
    trees: Int64s,
    matches: Int64s,
    /,
) -> None: ...
def weigh_agreement(votes: NDArray[Any], weight: Int64s, is_unweighted: bool, agreement: Int64s, /) -> None: ...
def count_votes(votes: NDArray[Any], counts: Int64s, /) -> None: ...
def sum_by_vote(votes: NDArray[Any], worth: Floats, sums: Floats, /) -> None: ...
def sum_by_leaf_and_class(leaf: NDArray[Any], y: Int64s, weight: Int64s, table: Floats, /) -> float: ...
def sum_of_products(leaf: NDArray[Any], value: Floats, other: Floats, weight: Int64s, /) -> float: ...
def residual_products(
    leaf: NDArray[Any], offset: Int64s, value: Floats, expected: Floats, weight: Int64s, products: Floats, /
) -> None: ...
def add_weighted_trees(
    leaf: NDArray[Any], offset: Int64s, value: Floats, rows: Int64s, tree_weight: Floats, score: Floats, /
) -> None: ...
def slopes_of_trees(
    leaf: NDArray[Any], offset: Int64s, value: Floats, rows: Int64s, slope: Floats, sums: Floats, /
) -> None: ...
def choose_splits_one(
    bucket: NDArray[np.uint16],
    first: UInt32s,
    group: UInt32s,
    test: Int32s,
    left: Int32s,
    right: Int32s,
    leaf: Int32s,
    value: Floats,
    column: int,
    state: Floats,
    target: Floats,
    weight: Floats,
    loss: int,
    width: float,
    n_rows: Int64s,
    row_weight: Floats,
    /,
) -> int: ...
def choose_splits_many(
    bucket: NDArray[np.uint16],
    first: UInt32s,
    group: UInt32s,
    test: Int32s,
    left: Int32s,
    right: Int32s,
    leaf: Int32s,
    value: Floats,
    column: int,
    state: Floats,
    target: UInt64s,
    weight: Floats,
    loss: int,
    width: float,
    n_rows: Int64s,
    row_weight: Floats,
    /,
) -> int: ...
def choose_entries(
    leaf: LeafIds,
    first: UInt64s,
    state: Floats,
    label: UInt64s,
    weight: Floats,
    used: Bools,
    anchor: Floats,
    chosen: Int64s,
    entries: Floats,
    table: Floats,
    loss: int,
    l2: float,
    largest: float,
    n_tried: int,
    /,
) -> None: ...
def move_entries(
    leaf: LeafIds,
    first: UInt64s,
    state: Floats,
    label: UInt64s,
    weight: Floats,
    used: Bools,
    anchor: Floats,
    chosen: Int64s,
    entries: Floats,
    grid: Floats,
    loss: int,
    l2: float,
    largest: float,
    n_passes: int,
    /,
) -> None: ...
def k_means(
    vector: Floats, weight: Floats, seed: int, most_passes: int, centre: Floats, nearest: Int64s, /
) -> float: ...
def find_nearest(vector: Floats, centre: Floats, nearest: Int64s, /) -> None: ...
def count_astray(
    threshold: Float32s, value: Float32s, power: Int64s, offset: Int64s, scale: Int64s, bits: int, n_astray: Int64s, /
) -> None: ...
def code_rows(
    x: Float32s, power: Int64s, offset: Int64s, scale: Int64s, bits: Int64s, missing: int, code: Codes, /
) -> None: ...
