from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from billhook._types import Float32Array, Vector
from billhook.forest import Forest, derive
from billhook.interop import as_forest
from billhook.packing._as_sum import as_sum, centred, without_idle_splits
from billhook.packing._bits import bits_for
from billhook.packing._codebook import round_to_codebook, round_to_codebook_with_rows
from billhook.packing._coding import Coding, coding_of, with_codes, without_unused
from billhook.packing._encode import encode, layout_without_tables, with_table_of_pairs
from billhook.packing._leaf_values import (
    LARGEST_FACTOR,
    LARGEST_SUM,
    Rounded,
    find_units,
    largest_by_column,
    round_values,
)
from billhook.packing._pack_options import PackOptions, RoundingRows, checked_options, checked_rows
from billhook.packing._packed import Packed, codes_of
from billhook.packing._rounding import round_with_rows, whole_base
from billhook.packing._score_rounding import round_to_scores
from billhook.packing._symmetric import are_symmetric
from billhook.refinement import kernel_targets


def pack(
    model: Any,
    *,
    threshold_bits: int | Literal["exact"] = 8,
    leaf_bits: int = 8,
    codebook: int | None = None,
    scales: Literal["one", "class"] = "one",
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    loss: str | None = None,
    sample_weight: ArrayLike | None = None,
    missing_values: bool = True,
) -> Packed:
    """Return a forest quantized and bit-packed into few bytes.

    Parameters
    ----------
    model : Forest or fitted estimator
    threshold_bits : int or "exact"
        Bits of a threshold, 2 to 16: the thresholds of a feature are rounded to that many equal steps between its
        lowest and its highest. With ``"exact"`` every float32 row reaches the leaves that it reaches in the forest.
    leaf_bits : int
        Bits of a leaf value, 2 to 16. A leaf has a value for each class, or a single value for two classes and for
        regression.
    codebook : int, optional
        The largest number of different leaves, 2 to 65,536, for more than two classes: leaves then are indices into
        a codebook of vectors of values. With ``codebook=64`` a leaf takes 6 bits, however many classes there are.
    scales : {"one", "class"}
        Whether leaf values of all classes have the same scale, or those of each class a scale of their own, which
        takes a byte a class. For two classes and for regression there is no difference.
    X, y : rows and their labels or targets, optional
        With X, thresholds are rounded so that few of these rows go another way, and leaves are rounded one tree
        after the other, so that later trees make up for what earlier ones lost of the scores of these rows. That is
        worth points of accuracy at 2 to 5 bits, and needs no labels. With y too, later trees make up for what is
        lost of the fit to y: better still with few bits or a codebook, but it learns from these rows anew, and from
        noise in them too.
    loss : str, optional
        What is minimised with y, as for `refine`: "cross_entropy", "mse" or "squared_hinge" for classification,
        "mse", "huber", "absolute" or "quantile_0.9" for regression, "poisson" with a log link. By default
        cross-entropy for classes whose scores become probabilities by a link,
        squares for other classes and for regression, and the Poisson deviance for regression with a log link.
    sample_weight : array, optional
        How much each row of X counts.
    missing_values : bool
        Whether rows may have missing values (NaN). If not, a split needs no bit for where they go, and the emitted
        program does not look for them: NaN then counts as an infinity of its sign.

    Returns
    -------
    Packed
        It predicts as the emitted C does; ``packed.nbytes`` is its size.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import billhook as bh
    >>> X, y = load_digits(return_X_y=True)
    >>> forest = bh.as_forest(RandomForestClassifier(8, max_leaf_nodes=32, random_state=0).fit(X, y))
    >>> packed = bh.pack(forest, threshold_bits="exact", leaf_bits=4)
    >>> packed.nbytes < forest.size("paper") / 8
    True
    >>> bool((packed.predict(X) == forest.predict(X)).mean() > 0.97)
    True
    """
    if isinstance(model, Packed):
        raise TypeError("the model is packed already; pack takes a Forest or a fitted estimator")
    forest = as_forest(model)
    plain = as_sum(forest)
    options = checked_options(plain, threshold_bits, leaf_bits, codebook, scales, missing_values)
    learned_from = checked_rows(forest, X, y, loss, sample_weight, missing_values=missing_values)
    if not missing_values:
        plain = derive(plain, missing_left=np.zeros(plain.n_nodes, np.bool_))
    coding = coding_of(plain, options.threshold_bits, learned_from.X)
    if learned_from.X is not None:
        codes = codes_of(learned_from.X, coding.used, coding.quantizers, missing_values=missing_values)
        learned_from = learned_from._replace(X=codes)
    packed = _packed(forest, with_codes(plain, coding), coding, forest.n_features, options, learned_from)
    return packed.with_encoding(forest.encoding)


def pack_on_codes(
    forest: Forest,
    coding: Coding,
    *,
    leaf_bits: int,
    codebook: int | None = None,
    scales: Literal["one", "class"] = "one",
    codes: Float32Array | None = None,
    y: ArrayLike | None = None,
    loss: str | None = None,
    sample_weight: ArrayLike | None = None,
    missing_values: bool = True,
    is_quick: bool = False,
    l2: float = 1.0,
) -> Packed:
    """Return a forest that was grown on codes, those of `coding` for all features, in as few bytes as it takes.

    `codes` are rows of codes to round leaves with, as X for `pack`; other parameters as there. Leaves rounded with
    y are drawn to what they were by as much as `l2` rows would, not one. A codebook is looked for in about a fourth
    of the time if it `is_quick`.
    """
    plain = as_sum(forest)
    options = checked_options(plain, "exact", leaf_bits, codebook, scales, missing_values)
    options = options._replace(is_quick=is_quick, l2=l2)
    learned_from = checked_rows(forest, codes, y, loss, sample_weight, missing_values=missing_values)
    n_features = int(coding.used.max()) + 1
    coded, coding, places = without_unused(plain, coding)
    if coding.projections is not None:
        coding.projections.check()
    if learned_from.X is not None:
        # One column at least, as the forest has one feature at least.
        columns = places if places.size else np.zeros(1, np.int64)
        learned_from = learned_from._replace(X=np.ascontiguousarray(learned_from.X[:, columns]))
    return _packed(forest, coded, coding, n_features, options, learned_from)


def size_on_codes(
    forest: Forest,
    coding: Coding,
    *,
    leaf_bits: int,
    codebook: int | None = None,
    scales: Literal["one", "class"] = "one",
    missing_values: bool = True,
) -> int:
    """Return how many bytes `pack_on_codes` makes of a forest at most.

    They are fewer where leaves turn out alike when they are rounded.
    """
    n_features = int(coding.used.max()) + 1
    plain = as_sum(forest)
    plain = derive(plain, base=np.zeros_like(plain.base))
    coded, coding, _ = without_unused(plain, coding)
    factor = np.ones(plain.base.size, np.int64) if scales == "class" and plain.base.size > 1 else None
    layout = layout_without_tables(
        coded,
        coding.used.size,
        coding.quantizers,
        n_features,
        leaf_bits,
        factor,
        missing_values=missing_values,
        projections=coding.projections,
    )
    layout = with_table_of_pairs(layout, coded)
    n_entries = 0 if codebook is None or codebook >= layout.n_leaves else codebook
    # Scores of classes hardly begin with more than this, nor do few splits less make trees more unequal.
    most = LARGEST_FACTOR if factor is not None else 1
    base_bytes = 0 if layout.n_columns == 1 else -(-bits_for(most * layout.n_trees << leaf_bits) // 8)
    tree_bits = max(layout.tree_bits, min(2, bits_for(layout.least_inner)))
    return replace(layout, n_entries=n_entries, base_bytes=base_bytes, tree_bits=tree_bits).sections["end"]


def _packed(
    forest: Forest, coded: Forest, coding: Coding, n_features: int, options: PackOptions, rows: RoundingRows
) -> Packed:
    """Return the plain sum of a forest, on the codes of its features in use, as bytes; rows are of these codes.

    Features that the forest has beyond `n_features` are others' categories.
    """
    leaf_bits, missing_values = options.leaf_bits, options.missing_values
    coded = centred(coded, leaf_bits, by_class=options.by_class)
    rounded = _rounded(forest, coded, options, rows)
    base = np.zeros(1)
    if forest.classes is not None:
        base = whole_base(coded, rounded.units) / rounded.units.scale
    whole = with_whole_values(coded, rounded, base)
    factor = rounded.units.factor if options.by_class and coded.base.size > 1 else None
    # Symmetric trees keep splits that change nothing, and may take fewer bytes all the same.
    ways = [(without_idle_splits(whole), False), *([(whole, True)] if are_symmetric(whole) else [])]
    encoded = []
    for forest_of_way, is_symmetric in ways:
        walked, of_way, _ = without_unused(forest_of_way, coding)
        encoded.append(
            encode(
                walked,
                of_way.used,
                of_way.quantizers,
                n_features,
                leaf_bits,
                factor,
                missing_values=missing_values,
                is_symmetric=is_symmetric,
                projections=of_way.projections,
            )
        )
    layout, data = min(encoded, key=lambda one: one[1].size)
    data.flags.writeable = False
    return Packed(
        data=data,
        layout=layout,
        scale=rounded.units.scale,
        # Of numbers the base stays a float, beside their sums: it may be large, such as a date.
        base=float(coded.base[0]) if forest.classes is None else 0.0,
        link=forest.link,
        task=forest.task,
        ties=forest.ties,
        rounding=forest.rounding,
        n_features=n_features,
        classes=forest.classes,
        feature_names=None if forest.feature_names is None else forest.feature_names[:n_features],
        origin=forest.origin,
    )


def _rounded(forest: Forest, coded: Forest, options: PackOptions, rows: RoundingRows) -> Rounded:
    """Return the values of the leaves as whole numbers."""
    bits, codebook, by_class = options.leaf_bits, options.codebook, options.by_class
    units = find_units(largest_by_column(coded), bits, coded.n_trees, by_class=by_class)
    is_classes = forest.classes is not None
    if rows.X is None or rows.target is None:
        if codebook is not None:
            return round_to_codebook(coded, bits, codebook, by_class=by_class)
        if rows.X is None:
            return round_values(coded, bits, units)
        return round_to_scores(coded, rows.X, rows.weight, bits, units, is_base_whole=is_classes)
    expected = kernel_targets(rows.target, rows.loss, is_classes=is_classes, n_columns=coded.base.size)
    shared = (coded, rows.X, expected, rows.weight, rows.loss, bits)
    if codebook is None:
        return round_with_rows(*shared, units, is_base_whole=is_classes, l2=options.l2)
    return round_to_codebook_with_rows(*shared, codebook, by_class=by_class, is_quick=options.is_quick)


def with_whole_values(forest: Forest, rounded: Rounded, base: Vector) -> Forest:
    """Return the forest with these whole numbers, times the factor of their column, and this base."""
    value, units = rounded
    new = np.zeros_like(forest.value)
    new[forest.feature < 0] = value * units.factor_of_leaves(forest)
    if np.abs(base).max() > LARGEST_SUM // 2:
        raise ValueError(
            f"the base {forest.base[np.abs(base).argmax()]:g} is too large for leaves in units of {units.scale:g}: "
            "use fewer leaf_bits"
        )
    return derive(forest, value=new, base=base)
