"""Section 2 of the paper as it reads, tree by tree and sum by sum."""

import numpy as np


def residuals_of(forest, X, y):
    """Return what each tree predicts above what is true: (trees, rows, classes), or one column for regression."""
    trees = [forest.select([k]) for k in range(forest.n_trees)]
    if forest.classes is None:
        return np.array([tree.predict(X) - y for tree in trees])[:, :, None]
    return np.array([tree.predict_proba(X) - (np.asarray(y)[:, None] == forest.classes) for tree in trees])


def error_of(residuals):
    """Return the squared error of the mean of these trees."""
    return np.square(residuals.mean(axis=0)).sum(axis=1).mean()


def is_no_worse(residuals, k):
    """Return whether the squared error of the mean is no larger without tree k."""
    return error_of(np.delete(residuals, k, axis=0)) <= error_of(residuals)


def passes_the_papers_test(residuals, k):
    """Return whether -2 * sum of C_ik over i != k is at most C_kk."""

    def product(i, j):
        return (residuals[i] * residuals[j]).sum(axis=1).mean()

    return -2 * sum(product(i, k) for i in range(len(residuals)) if i != k) <= product(k, k)


def removable(chosen_on, checked_on):
    """Return the trees that can go: each the one without which the error is lowest, as many as other rows allow."""
    left, gone, free = list(range(len(chosen_on))), [], 0
    while len(left) > 1:
        k = min(left, key=lambda k: error_of(chosen_on[[i for i in left if i != k]]))
        left.remove(k)
        gone.append(k)
        if error_of(checked_on[left]) <= error_of(checked_on):
            free = len(gone)
    return gone[:free]
