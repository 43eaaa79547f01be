from typing import TYPE_CHECKING

from billhook._checks import as_int

if TYPE_CHECKING:
    from billhook.forest._forest import Forest


def size(forest: "Forest", accounting: str, bytes_per_node: int | None) -> int:
    """Return nodes times bytes a node."""
    if bytes_per_node is not None:
        bytes_per_node = as_int(bytes_per_node, "bytes_per_node")
        if bytes_per_node < 1:
            raise ValueError(f"bytes_per_node must be at least 1, not {bytes_per_node}")
        return forest.n_nodes * bytes_per_node
    if accounting != "paper":
        raise ValueError(f"size knows the accounting 'paper', not {accounting!r}; for others, give bytes_per_node")
    return forest.n_nodes * (17 + 4 * forest.n_classes)
