from typing import TYPE_CHECKING

from billhook._checks import as_int

if TYPE_CHECKING:
    from billhook.forest._forest import Forest

# The paper's data sets whose nodes its published tables count at 25 bytes, whatever their number of classes:
# (features, classes) of anura, avila (11 or 12 classes, by version), chess (17 or 18), connect, japanese-vowels.
COUNTED_AS_TWO_CLASSES = {(22, 10), (10, 11), (10, 12), (23, 17), (23, 18), (42, 3), (14, 9)}


def size(forest: "Forest", accounting: str, bytes_per_node: int | None) -> int:
    """Return nodes times bytes a node."""
    if bytes_per_node is not None:
        bytes_per_node = as_int(bytes_per_node, "bytes_per_node")
        if bytes_per_node < 1:
            raise ValueError(f"bytes_per_node must be at least 1, not {bytes_per_node}")
        return forest.n_nodes * bytes_per_node
    if accounting not in ("paper", "as_published"):
        raise ValueError(f"size knows the accountings 'paper' and 'as_published', not {accounting!r}")
    shape = (forest.n_features, forest.n_classes)
    n_counted = 2 if accounting == "as_published" and shape in COUNTED_AS_TWO_CLASSES else forest.n_classes
    return forest.n_nodes * (17 + 4 * n_counted)
