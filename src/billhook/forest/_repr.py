from typing import TYPE_CHECKING, Any

import numpy as np

from billhook.html import notebook_table

if TYPE_CHECKING:
    from billhook.forest._forest import Forest


def text(forest: "Forest") -> str:
    """Return one line that says how large the forest is and what it predicts."""
    return (
        f"Forest({count_of(forest.n_trees, 'tree')}, {count_of(forest.n_leaves, 'leaf', 'leaves')}, "
        f"{count_of(forest.n_features, 'feature')}, {_sets(forest)}{prediction_of(forest.classes)}; "
        f"{_bytes(forest.nbytes)} in memory)"
    )


def html(forest: "Forest") -> str:
    """Return a small table for notebooks."""
    leaves = np.add.reduceat(forest.feature < 0, forest.offset[:-1], dtype=np.int64)
    each = f"{leaves.min():,}" if leaves.min() == leaves.max() else f"{leaves.min():,} to {leaves.max():,}"
    return notebook_table(
        "Forest",
        {
            "Predicts": prediction_of(forest.classes),
            "Trees": f"{forest.n_trees:,}",
            "Leaves": f"{forest.n_leaves:,} ({each} a tree)",
            "Nodes": f"{forest.n_nodes:,}",
            "Features": f"{forest.n_features:,}",
            **({"Sets of categories": f"{forest.n_sets:,}"} if forest.n_sets else {}),
            "Size as the paper counts": kilobytes(forest.size("paper")),
            "Size in memory": kilobytes(forest.nbytes),
            "Read from": forest.origin or "arrays",
        },
    )


def kilobytes(n_bytes: int) -> str:
    """Return a size in KB of 1024 bytes, as the paper's tables give it."""
    return f"{n_bytes / 1024:,.1f} KB"


def prediction_of(classes: Any) -> str:
    """Return what a model with these class labels, or None, predicts."""
    return "regression" if classes is None else count_of(len(classes), "class", "classes")


def count_of(number: int, singular: str, plural: str | None = None) -> str:
    """Return a number and what is counted, such as "1 tree" and "2 trees"."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def _sets(forest: "Forest") -> str:
    return f"{count_of(forest.n_sets, 'set')} of categories, " if forest.n_sets else ""


def _bytes(n_bytes: int) -> str:
    return f"{n_bytes:,} bytes" if n_bytes < 1024 else f"{n_bytes / 1024:,.0f} KB"
