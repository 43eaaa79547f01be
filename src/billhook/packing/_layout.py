"""Widths and counts of a packed model, and where its sections begin; `_encode` describes the sections."""

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from billhook.packing._bits import bits_for
from billhook.packing._groups import Group

FACTOR_BITS = 8


@dataclass(frozen=True)
class ByteLayout:
    """Widths and counts that a reader of the bytes needs; nothing else about the model is outside of them.

    Attributes
    ----------
    n_trees, n_inner, n_leaves, n_used, n_features, n_columns, n_values : int
        `n_inner` are the tests of all trees: one for each split, or for each level of symmetric trees. Features in
        use and in all; columns of the scores; numbers a leaf.
    grid : {"ranks", "steps"}
    code_bits, count_bits : int
        Of a threshold code; of the number of thresholds of a feature (ranks).
    shift_bytes, offset_bytes, scale_bytes : int
        Of what each feature's steps have of their own.
    shift, offset, scale : int
        The least of all features' steps, from which their own are counted; the shift is 150 - `power`.
    n_grids : int
        Different steps, if each is written once and features have numbers of them; else 0.
    has_map : bool
        Whether a bit for each feature says if it is in use, instead of the numbers of those that are.
    missing : {"none", "right", "left", "split"}
        Where rows with a missing value go: each split may have a bit of its own. With "none" there are no missing
        values: what is not a number counts as an infinity of its sign.
    tree_bits, least_inner : int
        Of the number of splits of a tree, which is counted from the least.
    leaf_bits : int
        Of one number of a leaf.
    factor_bits : int
        Of what the numbers of a column are times; 0 if that is 1 for all.
    n_pairs, n_entries : int
        0 where there is no table.
    ask_bits, gap_bits, many_bits : int
        Of a table of pairs written as gaps, or 0: of all of it, of a gap, and of a number of gaps; see `_gaps`.
    group, radix : int
        How many tests, or numbers of pairs, stand together, and below which number their digits are; or 0: see
        `_groups`.
    n_thresholds : int
        Of all features (ranks).
    base_bytes, base : int
        Of what the score of a column begins with, which is counted from the least.
    n_categorical, n_categories : int
        How many of the features in use, the last ones, are categorical; entries of all their tables.
    category_bits, size_bits : int
        Of an entry, the code of a category; of the number of entries of a table.
    is_symmetric : bool
        Whether all splits on a level of a tree ask the same, and all leaves are on the last level, as in CatBoost's
        trees: then a tree has one test a level, no shape, and `tree_bits` and `least_inner` are of its levels.
    n_projections, weight_bits : int
        Weighted sums of the codes of all features in use, which splits test as further features; bits of a weight.
    turn_bits, least_turn, low_bits, least_low : int
        Of by how many bits the sum of a projection is shifted down, and of the lowest that it then has: both are
        counted from the least of all projections.
    """

    n_trees: int
    n_inner: int
    n_leaves: int
    n_used: int
    n_features: int
    n_columns: int
    n_values: int
    grid: str
    code_bits: int
    count_bits: int
    shift_bytes: int
    offset_bytes: int
    scale_bytes: int
    shift: int
    offset: int
    scale: int
    n_grids: int
    has_map: bool
    missing: str
    tree_bits: int
    least_inner: int
    leaf_bits: int
    factor_bits: int
    n_pairs: int
    n_entries: int
    ask_bits: int
    gap_bits: int
    many_bits: int
    group: int
    radix: int
    n_thresholds: int
    base_bytes: int
    base: int
    n_categorical: int = 0
    n_categories: int = 0
    category_bits: int = 0
    size_bits: int = 0
    is_symmetric: bool = False
    n_projections: int = 0
    weight_bits: int = 0
    turn_bits: int = 0
    least_turn: int = 0
    low_bits: int = 0
    least_low: int = 0

    @property
    def n_splits(self) -> int:
        """Number of splits of all trees."""
        return self.n_leaves - self.n_trees

    @property
    def n_ordered(self) -> int:
        """Number of features in use that are no categories."""
        return self.n_used - self.n_categorical

    @property
    def n_tested(self) -> int:
        """Number of what splits may test: features in use, and projections behind them."""
        return self.n_used + self.n_projections

    @property
    def least_tests(self) -> int:
        """How many tests a feature in use has at least: a projection may be all that uses it."""
        return 0 if self.n_projections else 1

    @property
    def projection_bits(self) -> int:
        """Bits of a projection."""
        return self.low_bits + self.turn_bits + self.n_used * self.weight_bits

    @property
    def feature_bits(self) -> int:
        """Bits of the number of a feature in use, or of a projection."""
        return bits_for(self.n_tested)

    @property
    def test_bits(self) -> int:
        """Bits of a feature, a threshold code and where missing values go."""
        return self.feature_bits + self.code_bits + (self.missing == "split")

    @property
    def key_bits(self) -> int:
        """Bits of a threshold code and where missing values go."""
        return self.code_bits + (self.missing == "split")

    @property
    def pair_bits(self) -> int:
        """Bits of what a split has: the number of a pair, or its test."""
        return bits_for(self.n_pairs) if self.n_pairs else self.test_bits

    @property
    def entry_bits(self) -> int:
        """Bits of what a leaf has: the number of an entry, or its numbers."""
        return bits_for(self.n_entries) if self.n_entries else self.n_values * self.leaf_bits

    @property
    def step_bytes(self) -> int:
        """Bytes of a feature's steps."""
        return self.shift_bytes + self.offset_bytes + self.scale_bytes

    @property
    def grid_bits(self) -> int:
        """Bits of the number of a feature's steps, where they are written once."""
        return bits_for(self.n_grids)

    @property
    def bias(self) -> int:
        """What is added to the numbers of leaves so that none is negative."""
        return 1 << (self.leaf_bits - 1)

    @property
    def column_bits(self) -> int:
        """Bits of the column that a tree adds to."""
        return bits_for(self.n_columns) if self.n_values < self.n_columns else 0

    @property
    def id_bits(self) -> int:
        """Bits of the number of a feature, among all; 0 where all are in use, in their order."""
        if self.n_categorical:  # of which a feature may be in use several times
            return max(bits_for(self.n_features), 1)
        return bits_for(self.n_features) if self.n_used < self.n_features else 0

    @cached_property
    def sections(self) -> dict[str, int]:
        """Where each section begins, and at last where the bytes end."""
        n_used, n_ordered, n_tests = self.n_used, self.n_ordered, self.n_inner
        ranks = 8 * (-(-n_ordered * self.count_bits // 8) + 4 * self.n_thresholds)
        bits = {
            "features": self.n_features if self.has_map else n_used * self.id_bits,
            "grids": ranks if self.grid == "ranks" else 8 * (self.n_grids or n_ordered) * self.step_bytes,
            "steps": n_ordered * self.grid_bits,
            "sizes": self.n_categorical * self.size_bits,
            "categories": self.n_categories * self.category_bits,
            "projections": self.n_projections * self.projection_bits,
            "trees": self.n_trees * (self.tree_bits + self.column_bits),
            "shapes": 0 if self.is_symmetric else n_tests * 2,
            "tests": Group(self.group, self.radix).section_bits(n_tests, self.pair_bits),
            "pairs": self.ask_bits or self.n_pairs * self.test_bits,
            "leaves": self.n_leaves * self.entry_bits,
            "table": self.n_entries * self.n_values * self.leaf_bits,
            "factors": self.n_columns * self.factor_bits,
            "base": max(8 * self.base_bytes * self.n_columns, 24),
            "end": 0,
        }
        starts = accumulate((-(-n // 8) for n in bits.values()), initial=0)
        return dict(zip(bits, starts, strict=False))
