from importlib import import_module
from os import PathLike
from typing import Any

from billhook.forest import Forest
from billhook.interop._outputs import SeveralOutputsError, check_only_output, check_output, read_output

# The library that a model's class comes from -> the module that reads it. Imported only when such a model comes by.
READERS = {
    "catboost": "billhook.interop.catboost",
    "lightgbm": "billhook.interop.lightgbm",
    "onnx": "billhook.interop.onnx",
    "sklearn": "billhook.interop.sklearn",
    "treelite": "billhook.interop.treelite",
    "xgboost": "billhook.interop.xgboost",
    "ydf": "billhook.interop.ydf",
}
SUPPORTED = (
    "scikit-learn's RandomForest*, ExtraTrees*, DecisionTree*, ExtraTree*, Bagging* over trees, GradientBoosting*, "
    "HistGradientBoosting*, AdaBoostClassifier over trees, IsolationForest, Voting*, Stacking* and "
    "CalibratedClassifierCV of those that are sums, and Pipeline; XGBoost's XGBClassifier, XGBRegressor, XGBRanker, "
    "XGBRF*, Booster; LightGBM's LGBMClassifier, LGBMRegressor, LGBMRanker, Booster; CatBoost's CatBoostClassifier, "
    "CatBoostRegressor, CatBoostRanker, CatBoost; ydf's RandomForestModel, GradientBoostedTreesModel; "
    "onnx.ModelProto with a tree ensemble; treelite.Model"
)


def as_forest(model: Any, *, output: int | None = None) -> Forest:
    """Return any supported fitted tree ensemble as a `Forest`; a Forest is returned as it is.

    Predictions stay what they were: every float32 row falls into the same leaf of every tree. The model is
    not changed.

    Parameters
    ----------
    model : fitted estimator
        From scikit-learn: RandomForest*, ExtraTrees*, DecisionTree*, ExtraTree*, Bagging* over trees,
        GradientBoosting*, HistGradientBoosting*, AdaBoostClassifier over trees, IsolationForest; votes, stacks with a
        linear end and calibrated classifiers of those, where they are sums of leaf values; searches over them. A
        Pipeline of steps that work column by column (scalers, imputers, discretizers, encoders, ColumnTransformer)
        before any model, of any library, is read as a forest that takes what the pipeline takes: thresholds are those
        of the raw values, as the steps compute them in float64, and the forest is as large as the model alone. From
        XGBoost: XGBClassifier, XGBRegressor, XGBRanker, XGBRFClassifier, XGBRFRegressor, Booster. From LightGBM:
        LGBMClassifier, LGBMRegressor, LGBMRanker, Booster. From CatBoost: CatBoostClassifier, CatBoostRegressor,
        CatBoostRanker, CatBoost (without counters of categories, text and embeddings). From ydf: RandomForestModel
        (CART is one), GradientBoostedTreesModel. An onnx.ModelProto whose graph is one tree ensemble. A
        treelite.Model.
    output : int, optional
        Which output of a model that predicts several at once, from 0: each is a forest of its own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import billhook as bh
    >>> X, y = load_iris(return_X_y=True)
    >>> rf = RandomForestClassifier(n_estimators=8, max_leaf_nodes=16, random_state=0).fit(X, y)
    >>> forest = bh.as_forest(rf)
    >>> bool((forest.predict_proba(X) == rf.predict_proba(X)).all())
    True
    >>> forest.truncate(max_leaves=4).n_leaves
    32
    """
    check_output(output)
    if isinstance(model, Forest):
        check_only_output(output, "a Forest")
        return model
    if isinstance(model, type):
        raise TypeError(f"as_forest needs a fitted model, not the class {model.__name__}; pass an instance after fit")
    for parent in () if _is_ours(model) else type(model).__mro__:
        reader = READERS.get(parent.__module__.partition(".")[0])
        if reader is not None:
            forest: Forest = read_output(import_module(reader).read, model, output, f"the {type(model).__name__}")
            return forest
    raise TypeError(_refusal(model))


def as_forests(model: Any) -> list[Forest]:
    """Return a forest for each output of a fitted ensemble, as `as_forest` returns one of them.

    A model of one output gives a list of one.

    Parameters
    ----------
    model : fitted estimator
        Whatever `as_forest` takes. Several outputs have scikit-learn's trees and forests fitted to a table of labels
        or numbers, XGBoost's models of several targets or quantiles, CatBoost's of several labels or targets, and
        regressors of ONNX and treelite.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> import billhook as bh
    >>> X, y = load_linnerud(return_X_y=True)
    >>> rf = RandomForestRegressor(8, random_state=0).fit(X, y)
    >>> forests = bh.as_forests(rf)
    >>> len(forests) == y.shape[1]
    True
    >>> bool((forests[2].predict(X) == rf.predict(X)[:, 2]).all())
    True
    """
    try:
        return [as_forest(model)]
    except SeveralOutputsError as error:
        return [as_forest(model, output=output) for output in range(error.n_outputs)]


def _is_ours(model: Any) -> bool:
    """Return whether a model is an estimator of Billhook, which is one of scikit-learn too."""
    return type(model).__module__.partition(".")[0] == "billhook"


def _refusal(model: Any) -> str:
    """Say why as_forest does not read this, and what to do."""
    kind = f"{type(model).__module__}.{type(model).__qualname__}".removeprefix("builtins.")
    if isinstance(model, str | PathLike):
        return f"{str(model)!r} is a path, and no fitted model: read a model file with billhook.load"
    tested = getattr(model, "packed_", model)
    if _is_ours(tested) and not isinstance(tested, type) and getattr(tested, "projections", None) is not None:
        return (
            f"as_forest cannot read this {type(model).__name__}, whose splits test projections, weighted sums of "
            "features, which a forest does not have: fit it with max_projections=0, or use the packed model"
        )
    if hasattr(model, "forest_"):
        return f"as_forest cannot read a {type(model).__name__}: pass its forest_, which is a forest already"
    if _is_ours(model) and hasattr(model, "fit"):
        return f"this {type(model).__name__} is not fitted yet: call fit first, and use its forest_"
    if hasattr(model, "to_forest"):
        return (
            f"as_forest cannot read a {type(model).__name__}, which keeps no nodes: pass the forest, or the fitted "
            "model, that it was made of; or what its to_forest() returns, which predicts the same"
        )
    if isinstance(model, list | tuple):
        return f"as_forest reads one fitted model, not a {type(model).__name__} of {len(model)}: pass one of them"
    return f"as_forest cannot read a {kind}; supported are, fitted, {SUPPORTED}"


def to_estimator(forest: Forest) -> Any:
    """Return a fitted estimator of the kind that the forest was read from, holding the forest's trees.

    For tools that know scikit-learn's trees but not Billhook's. Predictions equal the forest's.
    Tree weights that the kind does not know, and base values, are folded into the node values. The estimator takes
    features: those of a forest with an encoding are what the columns of a table become.

    Parameters
    ----------
    forest : Forest
        One that `as_forest` made from a scikit-learn estimator, however changed since then.
    """
    if not isinstance(forest, Forest):
        raise TypeError(f"to_estimator needs a Forest, not a {type(forest).__name__}")
    if forest.origin.partition(".")[0] != "sklearn":
        made = f"was read from {forest.origin}" if forest.origin else "was not read from an estimator"
        raise ValueError(f"this forest {made}; to_estimator returns estimators of sklearn")
    return import_module(READERS["sklearn"]).write(forest)
