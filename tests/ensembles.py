"""Every kind of scikit-learn ensemble that Billhook reads, unfitted and small."""

from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

CLASSIFIERS = {
    "random forest": RandomForestClassifier(12, random_state=0),
    "random forest, best-first": RandomForestClassifier(12, max_leaf_nodes=20, random_state=0),
    "random forest, weighted": RandomForestClassifier(
        7, class_weight="balanced", criterion="entropy", random_state=0
    ),
    "extra trees": ExtraTreesClassifier(7, random_state=0),
    "extra trees, bootstrap": ExtraTreesClassifier(7, bootstrap=True, max_leaf_nodes=20, random_state=0),
    "one tree": DecisionTreeClassifier(random_state=0),
    "one tree, pruned": DecisionTreeClassifier(max_leaf_nodes=40, ccp_alpha=0.002, random_state=0),
    "one extra tree": ExtraTreeClassifier(random_state=0),
    "bagging": BaggingClassifier(n_estimators=7, random_state=0),
    "bagging of extra trees": BaggingClassifier(ExtraTreeClassifier(), n_estimators=7, random_state=0),
    "random subspaces": BaggingClassifier(n_estimators=7, max_features=0.4, bootstrap=False, random_state=0),
    "random patches": BaggingClassifier(
        n_estimators=9, max_features=0.5, max_samples=3, bootstrap_features=True, random_state=0
    ),
    "ada boost": AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=9, random_state=0),
    "gradient boosting": GradientBoostingClassifier(n_estimators=8, random_state=0),
    "gradient boosting from zero": GradientBoostingClassifier(
        n_estimators=8, init="zero", max_leaf_nodes=9, random_state=0
    ),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=8, random_state=0),
}
REGRESSORS = {
    "random forest": RandomForestRegressor(7, random_state=0),
    "extra trees": ExtraTreesRegressor(7, max_leaf_nodes=40, random_state=0),
    "one tree": DecisionTreeRegressor(max_depth=6, random_state=0),
    "one extra tree": ExtraTreeRegressor(random_state=0),
    "absolute error": DecisionTreeRegressor(criterion="absolute_error", max_depth=4, random_state=0),
    "bagging": BaggingRegressor(n_estimators=7, max_features=0.5, random_state=0),
    "gradient boosting": GradientBoostingRegressor(n_estimators=9, random_state=0),
    "gradient boosting, huber": GradientBoostingRegressor(loss="huber", n_estimators=9, random_state=0),
    "histogram boosting": HistGradientBoostingRegressor(max_iter=9, random_state=0),
    "histogram boosting, poisson": HistGradientBoostingRegressor(loss="poisson", max_iter=9, random_state=0),
    "histogram boosting, absolute error": HistGradientBoostingRegressor(loss="absolute_error", max_iter=9),
}
