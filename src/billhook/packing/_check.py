"""What makes bytes and a layout a packed model."""

from typing import TYPE_CHECKING

import numpy as np

from billhook.forest import check_encoding
from billhook.packing._fit_quantizers import LOWEST_KEY
from billhook.packing._layout import FACTOR_BITS, ByteLayout
from billhook.packing._quantizers import KEY_SHIFTS, NO_SHIFT, POWERS, Quantizer, RankQuantizer, UniformQuantizer
from billhook.packing._symmetric import MOST_LEAVES, MOST_LEVELS

if TYPE_CHECKING:
    from billhook.packing._packed import Packed


def check_packed(packed: "Packed") -> None:
    """Raise ValueError unless the bytes describe a model of this layout."""
    layout = packed.layout
    _check_about(packed)
    # Before anything is read that a count might make long. A tree has a split, unless there is only the one.
    if not 1 <= layout.n_trees <= max(layout.n_inner, 1) or _least_tested(layout) > layout.n_inner:
        raise ValueError(f"{layout.n_inner} splits are not {layout.n_trees} trees that test {layout.n_used} features")
    is_possible = layout.n_leaves == layout.n_inner + layout.n_trees
    if layout.is_symmetric:
        is_possible = layout.n_inner <= MOST_LEVELS * layout.n_trees and layout.n_leaves <= MOST_LEAVES
        is_possible &= 2 * layout.n_trees <= layout.n_leaves
    if not is_possible or layout.leaf_bits < 1:
        raise ValueError(f"{layout.n_trees} trees of {layout.n_inner} splits cannot have {layout.n_leaves} leaves")
    if layout.n_pairs and _least_tested(layout) > layout.n_pairs:
        raise ValueError(f"{layout.n_pairs} different tests cannot be of {layout.n_used} features")
    if layout.n_inner and not layout.n_used:
        raise ValueError(f"{layout.n_inner} splits test no feature")
    _check_categories(packed)
    _check_projections(packed)
    if layout.grid == "steps" and layout.n_used:
        _check_uniform(packed.quantizers)
    if type(packed.scale) is not float or not np.isfinite(packed.scale) or packed.scale <= 0.0:
        raise ValueError(f"scale must be a number above 0, not {packed.scale!r}")
    if type(packed.base) is not float or not np.isfinite(packed.base) or (packed.base and packed.classes is not None):
        raise ValueError(f"base must be a number, and 0 for classes, not {packed.base!r}")
    n_columns = 1 if packed.n_classes <= 2 and layout.n_columns == 1 else packed.n_classes
    if layout.n_columns != n_columns or layout.n_values not in (1, n_columns):
        raise ValueError(f"{layout.n_values} of {layout.n_columns} columns do not fit {packed.n_classes} classes")
    if layout.factor_bits not in (0, FACTOR_BITS) or (layout.factor_bits and layout.n_columns == 1):
        raise ValueError(f"{layout.n_columns} columns cannot have factors of {layout.factor_bits} bits")
    if packed.n_features != layout.n_features or (packed.used >= packed.n_features).any():
        raise ValueError(f"a feature in use is not one of the {packed.n_features}")
    if packed.used.size != layout.n_used:
        raise ValueError(f"{packed.used.size} features are said to be in use, not {layout.n_used}")
    if packed.feature_names is not None and len(packed.feature_names) != packed.n_features:
        raise ValueError(f"feature_names must be {packed.n_features} strings")
    check_encoding(packed)
    if len(packed.quantizers) != layout.n_used:
        raise ValueError(f"there are {len(packed.quantizers)} quantizers for {layout.n_used} features")
    for quantizer in packed.quantizers:
        if isinstance(quantizer, RankQuantizer) and not (quantizer.thresholds[1:] > quantizer.thresholds[:-1]).all():
            raise ValueError("the thresholds of a feature do not ascend")
    walked = packed.coded
    if (walked.feature >= layout.n_tested).any():
        raise ValueError("a split tests a feature that is not in use")
    tested = np.unique(walked.feature[walked.feature >= 0])
    if packed.projections is not None:
        tested = np.union1d(tested, packed.projections.inputs)
    if tested.size < layout.n_tested:
        raise ValueError("a feature is said to be in use, and no split tests it")
    if (
        layout.n_categorical
        and (walked.threshold[walked.feature >= layout.n_ordered] > (1 << layout.category_bits) - 2).any()
    ):
        raise ValueError("a split tests a code that categories of no set have")
    if layout.n_inner and np.diff(walked.offset).min() < 3:
        raise ValueError("a tree has no split")
    most = np.abs(walked.base) + np.abs(walked.value).max(axis=0).max() * walked.n_trees
    if most.max() >= 2**31:
        raise ValueError("the scores do not fit 32 bits")


def _check_categories(packed: "Packed") -> None:
    """Raise ValueError unless there are tables of categories where, and only where, there are such features."""
    layout = packed.layout
    if layout.n_categorical > layout.n_used or (layout.n_categorical == 0) != (layout.category_bits == 0):
        raise ValueError(
            f"{layout.n_categorical} of {layout.n_used} features cannot have {layout.category_bits} bits"
        )
    if layout.has_map and layout.n_categorical:
        raise ValueError("a bit for each feature cannot say which are in use more than once")


def _least_tested(layout: ByteLayout) -> int:
    """Return how many different features, or projections, splits test at least."""
    return layout.n_projections or layout.n_used


def _check_projections(packed: "Packed") -> None:
    """Raise ValueError for sums of codes that a target could not compute, or of what is missing or a category."""
    layout = packed.layout
    if (layout.n_projections == 0) != (layout.weight_bits == 0):
        raise ValueError(f"{layout.n_projections} projections cannot have weights of {layout.weight_bits} bits")
    if not layout.n_projections:
        return
    if layout.grid != "steps" or layout.n_categorical or layout.missing != "none" or not layout.n_used:
        raise ValueError("projections are of features without missing values, whose codes are those of steps")
    assert packed.projections is not None
    packed.projections.check()


def _check_about(packed: "Packed") -> None:
    """Raise ValueError unless what is said about the model are words that there are."""
    tasks = ("regression",) if packed.classes is None else ("classification",)
    links = ("identity", "exp") if packed.classes is None else ("identity", "logistic", "isolation", "softmax")
    for name, known in (
        ("task", tasks),
        ("link", links),
        ("ties", ("first", "last")),
        ("rounding", ("nearest", "down")),
    ):
        if getattr(packed, name) not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, not {getattr(packed, name)!r}")
    if not isinstance(packed.origin, str):
        raise ValueError(f"origin must be a string, not {packed.origin!r}")
    if type(packed.n_features) is not int or packed.n_features < 1:
        raise ValueError(f"n_features must be a whole number of 1 or more, not {packed.n_features!r}")
    names = packed.feature_names
    if names is not None and not (isinstance(names, tuple) and all(isinstance(name, str) for name in names)):
        raise ValueError("feature_names must be strings")


def _check_uniform(quantizers: list[Quantizer]) -> None:
    """Raise ValueError for steps that a target could not compute with."""
    for quantizer in quantizers:
        if not isinstance(quantizer, UniformQuantizer):
            continue
        # Of keys, which are words of 32 bits, not more than they have.
        low, high = (KEY_SHIFTS[0], 31) if quantizer.is_by_keys else (NO_SHIFT - POWERS[1], 255)
        is_possible = low <= quantizer.fine_shift <= high and abs(quantizer.offset) < 1 << 28
        # A target's difference to an offset below the first key, that of -infinity, may have too many bits.
        if is_possible and quantizer.is_by_keys:
            is_possible = quantizer.offset >= LOWEST_KEY >> quantizer.fine_shift
        if not is_possible:
            raise ValueError(f"the steps of a feature have power {quantizer.power} and offset {quantizer.offset}")
