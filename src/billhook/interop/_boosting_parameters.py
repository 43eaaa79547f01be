"""What XGBoost is told, wherever trees are boosted: here, in a search, or on a cluster."""

from typing import Any


def boosting_parameters(
    n_classes: int | None, *, max_leaves: int = 64, has_vector_leaves: bool = True, **parameters: Any
) -> dict[str, Any]:
    """Return parameters of XGBoost for small trees of any shape, grown leaf by leaf.

    Parameters
    ----------
    n_classes : int, optional
        None for regression.
    max_leaves : int
        Of a tree.
    has_vector_leaves : bool
        Whether, with more than two classes, a round is one tree whose leaves have a value for each class; else it is
        a tree for each class.
    **parameters
        Others of XGBoost, beside these or instead of them.

    Examples
    --------
    >>> boosting_parameters(2, max_leaves=8)["objective"]
    'binary:logistic'
    """
    chosen: dict[str, Any] = {
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_depth": 0,
        "max_leaves": max_leaves,
        "verbosity": 0,
    }
    if n_classes is None:
        chosen |= {"objective": "reg:squarederror"}
    elif n_classes == 2:
        chosen |= {"objective": "binary:logistic"}
    else:
        chosen |= {"objective": "multi:softprob", "num_class": n_classes}
        if has_vector_leaves:
            chosen |= {"multi_strategy": "multi_output_tree"}
    return chosen | parameters
