"""The numbers in the sections of a blob from a packed model, and back; `_blob_sections` says what they are."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from billhook._files import ModelFileError
from billhook._types import Int64Array
from billhook.forest import Forest
from billhook.packing._bits import bits_for
from billhook.packing._blob_sections import (
    LOWS,
    TURNS,
    WEIGHTS,
    WORD,
    Section,
    section,
    signed_numbers,
    signed_section,
)
from billhook.packing._decode import decode_factors, forest_of_nodes
from billhook.packing._encode import n_trees_of_columns
from billhook.packing._leaf_values import by_leaf
from billhook.packing._left_first import left_first, level_by_level, levels_of
from billhook.packing._projections import MOST_TURN, MOST_WEIGHT_BITS, Projections
from billhook.packing._quantizers import (
    NO_SHIFT,
    CategoryQuantizer,
    Quantizer,
    RankQuantizer,
    UniformQuantizer,
    from_ordered_keys,
    ordered_keys,
)
from billhook.packing._symmetric import MOST_LEAVES, MOST_LEVELS, with_splits

if TYPE_CHECKING:
    from billhook.packing._packed import Packed

RANKS, CATEGORIES = 0, 1


def sections_of(packed: "Packed", floats: tuple[float, float]) -> dict[str, Section]:
    """Return the sections of a model, with what a unit is worth and what is added as floats of 32 bits."""
    layout, coded = packed.layout, packed.coded
    order = left_first(coded)
    trees = np.diff(coded.offset) // 2
    asking, sizes = order.inner, section(order.on_left)
    sizes = sizes if sizes.width else section(order.on_left, 1)
    if layout.is_symmetric:
        asking, sizes = levels_of(coded), section(np.zeros(asking.size, np.int64))
    by_feature = np.argsort(packed.used, kind="stable")
    factor = decode_factors(layout, packed.data)
    times = np.ones(layout.n_columns, np.int64) if factor is None else factor
    bases = coded.base.astype(np.int64) - layout.bias * n_trees_of_columns(coded) * times
    words = np.array(floats, "<f4").view("<u4").astype(np.int64)
    return {
        "features": section(np.diff([0, *packed.used[by_feature]])),
        **_kinds([packed.quantizers[k] for k in by_feature]),
        "trees": section(trees),
        "columns": section(coded.tree_column),
        "sizes": sizes,
        **_tests(packed, asking, by_feature),
        **_projections(packed.projections, by_feature),
        **_leaves(packed, order.leaf, times),
        "factors": section(times - 1),
        "bases": section(np.concatenate([bases % 2**WORD, [packed.n_features], words]), WORD),
    }


def _kinds(quantizers: list[Quantizer]) -> dict[str, Section]:
    """Return how values of features become codes; equal steps stand once."""
    rows, keys, categories = [], np.zeros(0, np.int64), np.zeros(0, np.int64)
    category_bits = 0
    for quantizer in quantizers:
        if isinstance(quantizer, RankQuantizer):
            rows.append((RANKS, keys.size, quantizer.thresholds.size))
            keys = np.concatenate([keys, quantizer.keys.astype(np.int64)])
        elif isinstance(quantizer, CategoryQuantizer):
            rows.append((CATEGORIES, categories.size, quantizer.of_category.size))
            categories = np.concatenate([categories, quantizer.of_category])
            # The highest code of so many bits is that of unknown categories.
            category_bits = bits_for(quantizer.n_codes)
        else:
            rows.append((quantizer.fine_shift, quantizer.offset % 2**WORD, quantizer.scale))
    different, kind = np.unique(np.array(rows, np.int64).reshape(-1, 3), axis=0, return_inverse=True)
    return {
        "kinds": section(kind),
        "shifts": section(different[:, 0]),
        "begins": section(different[:, 1]),
        "scales": section(different[:, 2]),
        "keys": section(keys, WORD),
        "categories": section(categories, category_bits),
    }


def _projections(projections: Projections | None, by_feature: Int64Array) -> dict[str, Section]:
    """Return the sections of projections, in place of those that are empty where there are some."""
    if projections is None:
        return {}
    return {
        WEIGHTS: signed_section(projections.weights[:, by_feature]),
        TURNS: section(projections.turn),
        LOWS: signed_section(projections.low),
    }


def _tests(packed: "Packed", asking: Int64Array, by_feature: Int64Array) -> dict[str, Section]:
    """Return what splits, or levels, ask: in their order, or as numbers of a table if that is shorter."""
    layout, coded = packed.layout, packed.coded
    place = np.append(np.argsort(by_feature, kind="stable"), np.arange(layout.n_used, layout.n_tested))
    feature = place[coded.feature[asking]] if asking.size else asking
    goes_right = (~coded.missing_left[asking]).astype(np.int64)
    rows = np.stack([feature, coded.threshold[asking].astype(np.int64), goes_right], axis=1)
    if layout.missing in ("none", "right"):
        rows[:, 2] = 0
    different, number = np.unique(rows, axis=0, return_inverse=True)
    n_bits = layout.test_bits
    numbers = np.zeros(0, np.int64)
    if len(different) * n_bits + len(rows) * bits_for(len(different)) < len(rows) * n_bits:
        rows, numbers = different, number.ravel()
    has_missing = layout.missing in ("left", "split")
    return {
        "numbers": section(numbers),
        "tested": section(rows[:, 0]),
        "codes": section(rows[:, 1], layout.code_bits),
        "missing": section(rows[:, 2] if has_missing else []),
    }


def _leaves(packed: "Packed", leaf: Int64Array, times: Int64Array) -> dict[str, Section]:
    """Return the values of leaves: in their order, or as numbers of a table if the model has one."""
    layout, coded = packed.layout, packed.coded
    n_leaves = np.diff(coded.offset) // 2 + 1
    values = coded.value[leaf].astype(np.int64) // by_leaf(times, coded.tree_column, n_leaves, layout.n_values)
    numbers = np.zeros(0, np.int64)
    if layout.n_entries:
        values, numbers = np.unique(values, axis=0, return_inverse=True)
        numbers = numbers.ravel()
    return {
        # A bit at least, so that what a section has of numbers does not exceed what bytes have of bits.
        "leaves": section(numbers, max(bits_for(len(values)), 1)),
        "values": section(values + layout.bias, layout.leaf_bits),
    }


class BlobModel(NamedTuple):
    """What sections say about a model: as `encode` takes it, and the two floats."""

    walked: Forest
    used: Int64Array
    quantizers: list[Quantizer]
    n_features: int
    leaf_bits: int
    factor: Int64Array | None
    is_symmetric: bool
    projections: Projections | None
    floats: tuple[float, float]


def model_of(sections: Mapping[str, Section], *, has_one_value: bool, missing_values: bool) -> BlobModel:
    """Return the model that sections are; ValueError or ModelFileError if they are none."""
    count = {name: part.numbers.size for name, part in sections.items()}
    number = {name: part.numbers for name, part in sections.items()}
    if count["bases"] < 4 or sections["bases"].width != WORD:
        raise ModelFileError("its section of bases is cut off")
    n_columns = count["bases"] - 3
    n_values = 1 if has_one_value else n_columns
    is_symmetric = count["sizes"] > 0 and not sections["sizes"].width
    n_splits = int(number["trees"].sum())
    n_leaves = n_splits + count["trees"]
    n_asking = n_splits
    if is_symmetric:
        if (number["trees"] & (number["trees"] + 1)).any() or n_leaves > MOST_LEAVES:
            raise ModelFileError(f"symmetric trees cannot have {n_splits} splits")
        n_asking = int(_n_levels(number["trees"]).sum())
        if number["trees"].max(initial=0) >> MOST_LEVELS:
            raise ModelFileError(f"a symmetric tree cannot have {number['trees'].max()} splits")
    n_tests = count["tested"] if count["numbers"] else n_asking
    n_projections = 0 if missing_values else count[TURNS]
    expected = {
        "columns": count["trees"],
        "sizes": n_splits,
        "numbers": n_asking if count["numbers"] else 0,
        "tested": n_tests,
        "codes": n_tests,
        "missing": n_projections or (n_tests if count["missing"] else 0),
        "leaves": n_leaves if count["leaves"] else 0,
        "factors": n_columns,
        "kinds": count["features"],
        "begins": count["shifts"],
        "scales": count["shifts"],
    }
    n_rows, odd = divmod(count["values"], n_values)
    if n_projections:
        expected |= {LOWS: n_projections, WEIGHTS: n_projections * count["features"]}
    for name, wanted in expected.items():
        if count[name] != wanted:
            raise ModelFileError(f"its section of {name} has {count[name]:,} numbers, not {wanted:,}")
    if odd or not (count["leaves"] or n_rows == n_leaves) or not sections["values"].width <= 16:
        raise ModelFileError(f"{count['values']:,} values are not those of {n_leaves:,} leaves")
    if max(sections[name].width for name in ("categories", "factors")) > 8 or sections["codes"].width > 16:
        raise ModelFileError("its codes, or factors, have too many bits")
    projections = None
    if n_projections:
        projections = _projections_of(sections)
        number |= {name: np.zeros(0, np.int64) for name in (LOWS, WEIGHTS, TURNS)}
    features = np.cumsum(number["features"])
    quantizers = _quantizers(number, sections["codes"].width, sections["categories"].width)
    # Those of categories come last in a packed model.
    is_table = np.array([isinstance(quantizer, CategoryQuantizer) for quantizer in quantizers], np.bool_)
    order = np.argsort(is_table, kind="stable")
    if (np.diff(features[~is_table]) == 0).any() or (features >= number["bases"][-3]).any():
        raise ModelFileError(f"features up to {features.max()} in use are not those of a model")
    factor = number["factors"] + 1 if sections["factors"].width else None
    place = np.append(np.argsort(order, kind="stable"), order.size + np.arange(n_projections))
    return BlobModel(
        _forest(number, n_values, place, factor, sections["values"].width, is_symmetric),
        features[order],
        [quantizers[k] for k in order],
        int(number["bases"][-3]),
        sections["values"].width,
        factor,
        is_symmetric,
        projections,
        tuple(number["bases"][-2:].astype("<u4").view("<f4").astype(np.float64).tolist()),
    )


def _projections_of(sections: Mapping[str, Section]) -> Projections:
    weights, turns, lows = (sections[name] for name in (WEIGHTS, TURNS, LOWS))
    if not (1 <= weights.width <= MOST_WEIGHT_BITS and turns.width <= MOST_TURN.bit_length() and lows.width):
        widths = ", ".join(str(part.width) for part in (weights, turns, lows))
        raise ModelFileError(f"weights, turns and lows of projections cannot have {widths} bits")
    n_projections = turns.numbers.size
    projections = Projections(
        signed_numbers(weights).reshape(n_projections, weights.numbers.size // n_projections),
        turns.numbers,
        signed_numbers(lows),
        sections["codes"].width,
    )
    projections.check()
    return projections


def _quantizers(number: Mapping[str, Int64Array], code_bits: int, category_bits: int) -> list[Quantizer]:
    quantizers: list[Quantizer] = []
    taken = {RANKS: 0, CATEGORIES: 0}
    tables = {RANKS: number["keys"], CATEGORIES: number["categories"]}
    for kind in number["kinds"].tolist():
        shift, begin, scale = (int(number[name][kind]) for name in ("shifts", "begins", "scales"))
        if shift not in tables:
            if scale >> 16:
                raise ModelFileError(f"the steps of a feature cannot have scale {scale}")
            offset = (begin + 2**31) % 2**WORD - 2**31
            quantizers.append(UniformQuantizer(NO_SHIFT - shift, offset, scale, code_bits))
            continue
        table = tables[shift][begin : begin + scale]
        if begin != taken[shift] or table.size < scale:
            raise ModelFileError(f"entries {begin:,} to {begin + scale:,} of a table are not those of a feature")
        taken[shift] += scale
        if shift == RANKS:
            quantizers.append(_ranks(table))
        else:
            quantizers.append(CategoryQuantizer(table, 1 << category_bits))
    for kind, table in tables.items():
        if taken[kind] != table.size:
            raise ModelFileError(f"{taken[kind]:,} thresholds or categories belong to features, not {table.size:,}")
    return quantizers


def _ranks(keys: Int64Array) -> RankQuantizer:
    thresholds = from_ordered_keys(keys.astype(np.uint32))
    # Of not a number there are several, and of zero two.
    if np.isnan(thresholds).any() or not np.array_equal(ordered_keys(thresholds), keys):
        raise ModelFileError("a threshold is no number")
    return RankQuantizer(thresholds)


def _n_levels(trees: Int64Array) -> Int64Array:
    """Return how many levels symmetric trees of so many splits have."""
    return np.array([int(n).bit_length() for n in trees.tolist()], np.int64)


def _forest(
    number: Mapping[str, Int64Array],
    n_values: int,
    place: Int64Array,
    factor: Int64Array | None,
    leaf_bits: int,
    is_symmetric: bool,
) -> Forest:
    """Return the forest on codes; `place` has the number in a packed model for each feature in use."""
    trees, columns = number["trees"], number["columns"]
    n_columns = number["bases"].size - 3
    if int(columns.max(initial=0)) > n_columns - n_values:
        raise ModelFileError(f"a tree adds to score {columns.max()} of {n_columns}")
    if int(number["tested"].max(initial=-1)) >= place.size:
        raise ModelFileError(f"a test is of feature {number['tested'].max()} of {place.size} in use, or projections")
    tests = np.arange(number["tested"].size)
    if number["numbers"].size:
        tests = number["numbers"]
        if int(tests.max()) >= number["tested"].size:
            raise ModelFileError(f"a split has test {tests.max()} of {number['tested'].size}")
    values = number["values"].reshape(-1, n_values)
    if number["leaves"].size:
        if int(number["leaves"].max()) >= len(values):
            raise ModelFileError(f"a leaf has values {number['leaves'].max()} of {len(values)}")
        values = values[number["leaves"]]
    bias = 1 << (leaf_bits - 1) if leaf_bits else 0
    values = values - bias
    if factor is not None:
        values = values * by_leaf(factor, columns, trees + 1, n_values)
    each = trees.size if n_values == n_columns else np.bincount(columns, minlength=n_columns)
    bases = number["bases"][:-3] + bias * each * (1 if factor is None else factor)
    missing_left = np.zeros(tests.size, np.bool_)
    if number["missing"].size:
        missing_left = number["missing"][tests] == 0
    nodes = {
        "n_inner": trees,
        "column": columns,
        "goes_on": np.zeros((0, 2), np.bool_),
        "feature": place[number["tested"][tests]],
        "code": number["codes"][tests],
        "missing_left": missing_left,
        "value": values,
        "base": (bases + 2**31) % 2**WORD - 2**31,
    }
    if is_symmetric:
        nodes = with_splits(nodes | {"n_inner": _n_levels(trees)})
    else:
        order = level_by_level(trees, number["sizes"])
        nodes |= {name: nodes[name][order.inner] for name in ("feature", "code", "missing_left")}
        nodes |= {"value": values[order.leaf], "goes_on": order.goes_on}
    return forest_of_nodes(nodes, place.size, n_columns)
