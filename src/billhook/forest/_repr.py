from typing import TYPE_CHECKING

import numpy as np

from billhook.html import notebook_table

if TYPE_CHECKING:
    from billhook.forest._forest import Forest


def text(forest: "Forest") -> str:
    """Return one line that says how large the forest is and what it predicts."""
    return (
        f"<Forest: {_count(forest.n_trees, 'tree')}, {_count(forest.n_leaves, 'leaf', 'leaves')}, "
        f"{_count(forest.n_features, 'feature')}, {_predicts(forest)}; "
        f"{kilobytes(forest.size('paper'))} as the paper counts>"
    )


def html(forest: "Forest") -> str:
    """Return a small table for notebooks."""
    leaves = np.add.reduceat(forest.feature < 0, forest.offset[:-1], dtype=np.int64)
    each = f"{leaves.min():,}" if leaves.min() == leaves.max() else f"{leaves.min():,} to {leaves.max():,}"
    in_memory = sum(
        getattr(forest, name).nbytes
        for name in forest.__dataclass_fields__
        if hasattr(getattr(forest, name), "nbytes")
    )
    rows = {
        "Predicts": _predicts(forest),
        "Trees": f"{forest.n_trees:,}",
        "Leaves": f"{forest.n_leaves:,} ({each} a tree)",
        "Nodes": f"{forest.n_nodes:,}",
        "Features": f"{forest.n_features:,}",
        "Size as the paper counts": kilobytes(forest.size("paper")),
        "Size in memory": kilobytes(in_memory),
        "Read from": forest.origin or "arrays",
    }
    return notebook_table("Forest", rows)


def kilobytes(n_bytes: int) -> str:
    """Return a size in KB of 1024 bytes, as the paper's tables give it."""
    return f"{n_bytes / 1024:,.1f} KB"


def _predicts(forest: "Forest") -> str:
    return "a number" if forest.classes is None else _count(forest.n_classes, "class", "classes")


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
