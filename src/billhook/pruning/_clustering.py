"""Find K clusters of trees, keep one of each.

Only distances between trees matter, so clusters are found in the coordinates that the trees have in the space they
span: at most as many as there are trees, however many rows.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from billhook.pruning._evaluation import EvaluatedTrees
from billhook.pruning._ordering import in_order

Choice = NDArray[np.int64]


def cluster_accuracy(evaluated: EvaluatedTrees, n_trees: int, random_state: Any) -> Choice:
    """Take the most accurate tree of each k-means cluster of probabilities (Lazarevic and Obradovic 2001)."""
    label, _ = _k_means(evaluated, n_trees, random_state)
    return _one_of_each(evaluated, label, evaluated.error, n_trees)


def cluster_centroid(evaluated: EvaluatedTrees, n_trees: int, random_state: Any) -> Choice:
    """Take the tree nearest to the centre of each k-means cluster of probabilities (Bakker and Heskes 2003)."""
    label, distance = _k_means(evaluated, n_trees, random_state)
    return _one_of_each(evaluated, label, distance, n_trees)


def largest_mean_distance(evaluated: EvaluatedTrees, n_trees: int) -> Choice:
    """Take the tree of each cluster that is farthest, on average, from those of the others (Giacinto et al. 2000).

    Clusters are agglomerated (Ward) by the distance of the trees' vectors of right (1) and wrong (0) votes, or of
    their predictions for regression.
    """
    from scipy.cluster.hierarchy import cut_tree, ward
    from scipy.spatial.distance import squareform

    if n_trees == evaluated.n_trees:
        return evaluated.all_trees
    is_regression = evaluated.forest.classes is None
    both = _in_units(evaluated.residual_products) if is_regression else evaluated.both_right
    alone = np.diagonal(both)
    distance = np.sqrt(np.maximum(alone[:, None] + alone - 2.0 * both, 0.0))
    # Of the distances, not of coordinates: those of right and wrong votes are exact, and so ties are ties.
    label = cut_tree(ward(squareform(distance, checks=False)), n_clusters=n_trees).ravel()
    apart = label[:, None] != label
    far = np.divide((distance * apart).sum(axis=1), np.maximum(apart.sum(axis=1), 1))
    return _one_of_each(evaluated, label, -far, n_trees)


def _k_means(
    evaluated: EvaluatedTrees, n_trees: int, random_state: Any
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    import warnings

    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    # For regression the same distances, by numbers that do not depend on the target's origin.
    is_regression = evaluated.forest.classes is None
    gram = evaluated.residual_products if is_regression else evaluated.value_products
    points = _coordinates(gram)
    with warnings.catch_warnings():
        # Fewer different trees than clusters: the choice is filled up.
        warnings.simplefilter("ignore", ConvergenceWarning)
        clusters = KMeans(n_trees, n_init=10, random_state=random_state).fit(points)
    distance = np.linalg.norm(points - clusters.cluster_centers_[clusters.labels_], axis=1)
    return clusters.labels_.astype(np.int64), distance


def _coordinates(gram: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points whose inner products are the Gram matrix, in units of its largest entry: Cholesky, pivoted.

    No BLAS, whose threads wait for each other on a busy machine.
    """
    gram = _in_units(gram)
    points = np.zeros_like(gram)
    rest = np.diagonal(gram).copy()
    for column in range(len(gram)):
        pivot = int(rest.argmax())
        if rest[pivot] <= 1e-11:
            return np.ascontiguousarray(points[:, : max(column, 1)])
        known = np.einsum("ij,j->i", points[:, :column], points[pivot, :column])
        points[:, column] = (gram[pivot] - known) / np.sqrt(rest[pivot])
        rest -= points[:, column] ** 2
    return points


def _in_units(gram: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a Gram matrix in units of its largest entry.

    It is rounded: rows in another order, or each of them twice, must not give other clusters.
    """
    return np.asarray(np.round(gram / (np.abs(gram).max() or 1.0), 12))


def _one_of_each(evaluated: EvaluatedTrees, label: NDArray[np.int64], badness: NDArray[Any], n_trees: int) -> Choice:
    """Return the best tree of each cluster; if there are fewer clusters, then the most accurate of the others too."""
    by_badness = in_order(np.asarray(badness, np.float64))
    _, first = np.unique(label[by_badness], return_index=True)
    chosen = by_badness[first].tolist()
    for tree in in_order(evaluated.error).tolist():
        if len(chosen) == n_trees:
            break
        if tree not in chosen:
            chosen.append(tree)
    return np.sort(np.array(chosen, np.int64))
