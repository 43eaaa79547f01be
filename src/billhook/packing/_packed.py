from dataclasses import dataclass, fields, replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from billhook._types import Bytes, Float32Array, Int64Array, Vector
from billhook.forest import (
    CategorySets,
    Forest,
    as_rows,
    check_encoding,
    count_of,
    derive,
    outlier_probability,
    pool_sets,
    prediction_of,
    same,
)
from billhook.kernels import has_missing
from billhook.packing._blob import from_blob, to_blob
from billhook.packing._check import check_packed
from billhook.packing._decode import decode_features, decode_forest, decode_projections, decode_quantizers
from billhook.packing._file import save_packed
from billhook.packing._layout import ByteLayout
from billhook.packing._order import splits_by_feature
from billhook.packing._projections import Projections
from billhook.packing._quantizers import MISSING, CategoryQuantizer, Quantizer
from billhook.tables import Encoding

# Of a feature that projections are of, at most so many ends of codes are typical.
N_ENDS = 8
# What is as in the Forest.
ABOUT = ("link", "task", "ties", "rounding", "n_features", "classes", "feature_names", "origin", "encoding")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Packed:
    """A forest as few bytes, as a target holds them in flash, and what they mean.

    It predicts from the bytes alone, in the whole numbers that the target computes with: `scores` are those of the
    emitted C, bit by bit. Make one with `pack`.

    Attributes
    ----------
    data : uint8 array
        All bytes that the model takes as constant data.
    layout : ByteLayout
        Widths and counts, which are constants of the program that reads the bytes.
    scale, base : float
        What one unit of a score is worth, and what is added to that: a number for regression, 0 for classes.
    link, task, ties, rounding, n_features, classes, feature_names, origin, encoding
        As in the Forest.
    """

    data: Bytes
    layout: ByteLayout
    scale: float
    base: float
    link: str
    task: str
    ties: str
    rounding: str
    n_features: int
    classes: NDArray[Any] | None
    feature_names: tuple[str, ...] | None
    origin: str
    encoding: Encoding | None = None

    @property
    def nbytes(self) -> int:
        """How many bytes of flash the model takes, without the program that reads it."""
        return self.data.size

    @property
    def n_classes(self) -> int:
        """Number of classes; 1 for regression."""
        return 1 if self.classes is None else self.classes.size

    @property
    def n_used(self) -> int:
        """Number of features in use; `layout.n_used` counts one that is split by sets for each chain of them."""
        return np.unique(self.used).size

    def scores(self, X: ArrayLike) -> Int64Array:
        """Return the raw scores in units of `scale`, (rows, columns): the whole numbers that the target computes."""
        rows = as_rows(X, self)
        if self.projections is not None:
            raw = self.coded.decision_function(self._codes(rows))
        else:
            if self.layout.missing == "none" and has_missing(rows):  # not a number is an infinity of its sign
                rows = np.where(np.isnan(rows), np.copysign(np.float32(np.inf), rows), rows)
            raw = self._on_features.decision_function(rows)
        return np.rint(raw.reshape(rows.shape[0], self.layout.n_columns)).astype(np.int64)

    def _codes(self, rows: Float32Array) -> Float32Array:
        """Return the codes of the features in use, and of projections behind them."""
        codes = codes_of(rows, self.used, self.quantizers, missing_values=self.layout.missing != "none")
        return codes if self.projections is None else np.column_stack([codes, self.projections.codes(codes)])

    def decision_function(self, X: ArrayLike) -> Vector:
        """Return the raw scores, as `Forest.decision_function`; of two classes the second's minus the first's."""
        raw: Vector = self.scores(X) * np.float64(self.scale) + self.base
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the predicted class labels, or numbers for regression."""
        scores = self.scores(X)
        if self.classes is None:
            raw = scores[:, 0] * self.scale + self.base
            return np.asarray(np.exp(raw) if self.link == "exp" else raw)
        if scores.shape[1] > 1:
            winner = scores.argmax(axis=1)
        else:
            first_wins = scores[:, 0] < 0 if self.ties == "last" else scores[:, 0] <= 0
            winner = np.where(first_wins, 0, min(1, self.n_classes - 1))
        return np.asarray(self.classes[winner])

    def predict_proba(self, X: ArrayLike) -> Vector:
        """Return class probabilities: what the link makes of the scores, or the scores themselves."""
        if self.classes is None:
            raise TypeError("predict_proba needs a classification forest; this one is for regression: use predict")
        from scipy.special import expit, softmax  # as in forest: slow to import, and rarely needed

        raw = self.decision_function(X)
        if raw.ndim == 1:
            if self.link == "isolation":
                second = 1.0 - outlier_probability(raw)
            else:
                second = (1.0 + raw) / 2.0 if self.link == "identity" else expit(raw)
            return np.stack([1.0 - second, second], axis=1)[:, -self.n_classes :]
        return np.asarray(softmax(raw, axis=1)) if self.link == "softmax" else raw

    @cached_property
    def bounds(self) -> Float32Array:
        """For each node of `coded` that is a split, the largest float32 that goes left; infinity where all do.

        It is 0 for categorical splits, and for those of projections.
        """
        bounds = np.zeros(self.coded.n_nodes, np.float32)
        for tested, nodes in zip(*splits_by_feature(self.coded), strict=True):
            quantizer = None if tested >= self.layout.n_used else self.quantizers[tested]
            if quantizer is not None and not isinstance(quantizer, CategoryQuantizer):
                bounds[nodes] = quantizer.bounds(self.coded.threshold[nodes].astype(np.int64))
        return bounds + np.float32(0.0)  # and not -0.0

    def typical_values(self) -> dict[int, Float32Array]:
        """Return, for each feature in use, values on either side of its thresholds, or all its categories.

        Of a feature that projections alone are of, values on either side of where some of its codes end.
        """
        values: dict[int, Float32Array] = {}
        for k, (feature, quantizer) in enumerate(zip(self.used.tolist(), self.quantizers, strict=True)):
            if isinstance(quantizer, CategoryQuantizer):
                categories = np.arange(quantizer.of_category.size + 1, dtype=np.float32)  # and one that is unknown
                values[feature] = np.union1d(values.get(feature, categories), categories).astype(np.float32)
                continue
            at = np.unique(self.bounds[self.coded.feature == k])
            if self.projections is not None and self.projections.weights[:, k].any():
                ends = np.linspace(0, quantizer.n_codes - 2, min(quantizer.n_codes - 1, N_ENDS))
                at = np.union1d(at, quantizer.bounds(np.unique(ends.astype(np.int64))))
            at = at[np.isfinite(at)] if np.isfinite(at).any() else np.zeros(1, np.float32)
            with np.errstate(over="ignore"):
                values[feature] = np.concatenate([at, np.nextafter(at, np.float32(np.inf))])
        return values

    def to_forest(self) -> Forest:
        """Return the model as a forest that answers the same, on features as they are.

        Raises
        ------
        TypeError
            If its splits test projections, weighted sums of features, which a forest does not have.
        """
        if self.projections is not None:
            raise TypeError(
                f"the model tests {count_of(self.layout.n_projections, 'projection')}, weighted sums of features, "
                "which a forest does not have: fit it with max_projections=0, or use the packed model"
            )
        return self._as_forest(self._on_features)

    def with_encoding(self, encoding: Encoding | None) -> "Packed":
        """Return a copy that knows how the columns of a table become its features, and has their names."""
        names = self.feature_names if encoding is None else encoding.feature_names
        packed = replace(self, encoding=encoding, feature_names=names)
        check_encoding(packed)
        return packed

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file, which `load` reads; an existing file is replaced only when all is written."""
        save_packed(self, path)

    def to_bytes(self, *, names: bool = True) -> bytes:
        """Return the model as one string of bytes, which `billhook.c` and the readers in other languages take as is.

        Parameters
        ----------
        names : bool
            Whether labels of classes, names of features and the `encoding` stand behind the model. Readers on small
            devices do not look at them. Without, the classes are numbers from 0 on, and `scale` and `base` have the
            precision of a float32.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.ensemble import RandomForestClassifier
        >>> import billhook as bh
        >>> X, y = load_iris(return_X_y=True)
        >>> packed = bh.pack(RandomForestClassifier(4, max_leaf_nodes=8, random_state=0).fit(X, y))
        >>> blob = packed.to_bytes()
        >>> bh.Packed.from_bytes(blob) == packed
        True
        """
        return to_blob(self, names=names)

    @classmethod
    def from_bytes(cls, blob: bytes | bytearray | memoryview) -> "Packed":
        """Return the model that `to_bytes` wrote.

        Raises
        ------
        ModelFileError
            If the bytes are damaged, made up, or of another version; it says what is wrong.
        """
        if not isinstance(blob, bytes | bytearray | memoryview):
            raise TypeError(f"from_bytes takes the bytes of a model, not {type(blob).__name__}: read files with load")
        return from_blob(bytes(blob))

    def check(self) -> None:
        """Raise ValueError unless the bytes describe a model of this layout."""
        check_packed(self)

    def _as_forest(self, coded: Forest, **changes: Any) -> Forest:
        """Return a forest with these nodes and what is known of this model, but for `changes`."""
        about: dict[str, Any] = {name: getattr(self, name) for name in ABOUT} | changes
        value, base = coded.value * self.scale, coded.base * self.scale
        if self.classes is None:
            base = base + self.base
        elif base.size == 1 and self.link == "identity" and self.n_classes == 2:  # a number for each of the two
            value, base = value * [-0.5, 0.5], 0.5 + base * [-0.5, 0.5]
        elif self.link == "softmax" and base.size < len(
            self.classes
        ):  # the softmax of two scores is the logistic function of their difference
            about["link"] = "logistic"
        return replace(coded, value=value, base=base, **about)

    @cached_property
    def _on_features(self) -> Forest:
        """The forest that the bytes are, on features as they are and, behind them, the codes of projections."""
        coded, n_projections = self.coded, self.layout.n_projections
        is_split = coded.feature >= 0
        tested = np.append(self.used, self.n_features + np.arange(n_projections))
        feature = np.where(is_split, tested[np.maximum(coded.feature, 0)] if tested.size else -1, -1)
        threshold = np.where(coded.feature < self.layout.n_used, self.bounds, coded.threshold)
        threshold = np.where(is_split, threshold, np.float32(0.0)).astype(np.float32)
        category_set, sets = self._category_sets()
        return derive(
            coded,
            feature=feature.astype(np.int32),
            threshold=threshold,
            n_features=self.n_features + n_projections,
            category_set=category_set,
            **sets._asdict(),
        )

    def _category_sets(self) -> tuple[NDArray[np.int32], CategorySets]:
        """Return the number of the set that each node of `coded` tests, or -1, and the sets."""
        coded = self.coded
        category_set = np.full(coded.n_nodes, -1, np.int32)
        nodes = np.flatnonzero((coded.feature >= self.layout.n_ordered) & (self.layout.n_categorical > 0))
        tested = [(int(coded.feature[node]), int(coded.threshold[node])) for node in nodes]
        up_to = {
            (k, code): quantizer.categories_up_to(code)
            for k, code in dict.fromkeys(tested)
            if isinstance(quantizer := self.quantizers[k], CategoryQuantizer)
        }
        category_set[nodes], sets = pool_sets([up_to[test] for test in tested])
        return category_set, sets

    @cached_property
    def used(self) -> Int64Array:
        """The numbers of the features in use."""
        return decode_features(self.layout, self.data)

    @cached_property
    def quantizers(self) -> list[Quantizer]:
        """How the values of each feature in use become codes."""
        return decode_quantizers(self.layout, self.data)

    @cached_property
    def projections(self) -> Projections | None:
        """The weighted sums of codes of features that splits test; None if there are none."""
        return decode_projections(self.layout, self.data)

    @cached_property
    def coded(self) -> Forest:
        """The forest that the bytes are: numbers among `used` for features, codes for thresholds, whole values.

        Numbers from `layout.n_used` on are those of `projections`.
        """
        return decode_forest(self.layout, self.data)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Packed):
            return NotImplemented
        return all(same(getattr(self, field.name), getattr(other, field.name)) for field in fields(self))

    __hash__ = None  # type: ignore[assignment]  # as for any container of arrays

    def __repr__(self) -> str:
        layout = self.layout
        more = f", {count_of(layout.n_projections, 'projection')}" if layout.n_projections else ""
        return (
            f"Packed({count_of(self.nbytes, 'byte')}: {count_of(layout.n_trees, 'tree')}, "
            f"{count_of(layout.n_leaves, 'leaf', 'leaves')}, "
            f"{self.n_used:,} of {count_of(self.n_features, 'feature')}{more}, {prediction_of(self.classes)}; "
            f"{layout.leaf_bits}-bit leaves)"
        )

    def _repr_html_(self) -> str:
        from billhook.inspection import describe  # what it shows is what `billhook show` prints

        return describe(self)._repr_html_()


def codes_of(
    rows: Float32Array, used: Int64Array, quantizers: list[Quantizer], *, missing_values: bool
) -> Float32Array:
    """Return the codes of the features in use (rows, features), NaN for what is missing; one column at least.

    Where there are no missing values, what is not a number counts as an infinity of its sign.
    """
    if not missing_values:
        rows = np.where(np.isnan(rows), np.copysign(np.float32(np.inf), rows), rows)
    codes = np.zeros((rows.shape[0], max(used.size, 1)), np.float32)
    for k, (feature, quantizer) in enumerate(zip(used, quantizers, strict=True)):
        code = quantizer.codes(rows[:, feature])
        codes[:, k] = np.where(code == MISSING, np.nan, code)
    return codes
