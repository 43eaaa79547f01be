"""What a caller calls labels, targets and weights, checked, as arrays."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from billhook.forest._forest import Forest


def as_targets(y: ArrayLike, forest: "Forest") -> NDArray[Any]:
    """Return the labels as numbers of the forest's classes, or the targets of a regression as float64."""
    return _numbers(y) if forest.classes is None else _class_numbers(y, forest.classes)


def as_weights(sample_weight: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    """Return the weights of rows as a new array."""
    weight = np.array(sample_weight, np.float64)
    if weight.shape != (n_rows,) or not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise ValueError(f"sample_weight must be {n_rows:,} finite numbers, none negative and not all zero")
    return weight


def _numbers(y: ArrayLike) -> NDArray[np.float64]:
    try:
        target = np.asarray(y, np.float64)
    except (TypeError, ValueError):
        raise ValueError("y must be a list of numbers") from None
    if target.ndim != 1:
        raise ValueError(f"y must be a list of numbers, not of shape {target.shape}")
    if not np.isfinite(target).all():
        raise ValueError(f"y holds {np.count_nonzero(~np.isfinite(target)):,} numbers that are missing or infinite")
    return target


def _is_missing(label: Any) -> bool:
    return label is None or type(label).__name__ == "NAType" or label != label


def _numbers_of_same_kind(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return the class numbers of labels that are integers, or text, as the classes are, if all are known."""
    if labels.dtype.kind not in "iuU" or labels.dtype.kind != classes.dtype.kind:
        return None
    order = np.argsort(classes, kind="stable")
    place = np.minimum(np.searchsorted(classes[order], labels), classes.size - 1)
    return order[place] if np.array_equal(classes[order[place]], labels) else None


def _class_numbers(y: ArrayLike, classes: NDArray[Any]) -> NDArray[np.int64]:
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must have one dimension, not shape {labels.shape}")
    numbers = _numbers_of_same_kind(labels, classes)
    if numbers is not None:
        return numbers
    number = {label: code for code, label in enumerate(classes.tolist())}
    listed = labels.tolist()
    missing = sum(map(_is_missing, listed))
    if missing:
        raise ValueError(f"y holds {missing:,} missing labels")
    unknown = list(dict.fromkeys(label for label in listed if label not in number))
    if unknown:
        first = ", ".join(repr(label) for label in unknown[:5])
        raise ValueError(
            f"y holds labels that the forest does not know: {first}; it knows "
            f"{', '.join(repr(label) for label in list(number)[:10])}{' ...' if len(number) > 10 else ''}"
        )
    return np.array([number[label] for label in listed], np.int64)
