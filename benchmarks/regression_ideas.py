"""What limits models of numbers: how well large ones do, and what other targets or a linear term would gain.

    BILLHOOK_DATA=... python benchmarks/regression_ideas.py --large abalone cpu-act
    BILLHOOK_DATA=... python benchmarks/regression_ideas.py --ideas abalone cpu-act elevators kin8nm --folds 2 3

Large models are those of scikit-learn and LightGBM without a limit of bytes; shown are root mean squared errors of
each fold. Ideas are what the search does not try: three of its configurations learn from each training fold in 1 KB
as they are, and with the idea; shown is by how many percent the error is less, in the mean with its standard error.
A linear term counts as 24 bytes.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace

import fit_numbers
import numpy as np
from lightgbm import LGBMRegressor
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from billhook.budget import TooSmallError, TrainingRows, encode_table
from billhook.budget._portfolio import NUMBERS
from billhook.budget._scoring import score_of
from billhook.budget._smooth_targets import smooth_targets
from billhook.budget._space import Trial
from billhook.budget._trial_runner import ALL, TrialRunner

BUDGET, LINEAR_BYTES = 1024, 24
PLAIN = [entry for entry in NUMBERS if entry.row_share == 1.0 and not entry.smoothing and not entry.projections]
TRIED = [entry for entry in PLAIN if entry.overgrow == 2.0][:3]
Predict = Callable[[np.ndarray], np.ndarray]
Idea = Callable[["Learn", TrainingRows], Predict]


def linear() -> RidgeCV:
    return make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 4, 13)))


def boosted(n_rounds: int) -> LGBMRegressor:
    sampling = {"colsample_bytree": 0.5, "subsample": 0.7, "subsample_freq": 1, "reg_lambda": 5.0}
    return LGBMRegressor(n_estimators=n_rounds, num_leaves=15, learning_rate=0.03, n_jobs=1, verbose=-1, **sampling)


class LogSupportVectors:
    """Support vector regression of the logarithm of the target, right in the mean."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> "LogSupportVectors":
        """Learn rows."""
        self.model = make_pipeline(StandardScaler(), SVR(C=1.0, epsilon=0.1)).fit(X, np.log(y))
        self.times = y.mean() / np.exp(self.model.predict(X)).mean()
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return numbers."""
        return self.times * np.exp(self.model.predict(X))


# Rounds of boosting where no more of them help.
ROUNDS = {"abalone": 250, "cpu-act": 600}
BOTH = ("LightGBM", "extra trees")


def large(name: str) -> dict:
    models = {
        "LightGBM": boosted(ROUNDS[name]),
        "random forest": RandomForestRegressor(150, min_samples_leaf=5, max_features=0.5, random_state=0),
        "extra trees": ExtraTreesRegressor(150, min_samples_leaf=3, max_features=0.7, random_state=0),
        "ridge regression": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 7))),
    }
    return models | ({"support vectors, of the logarithm": LogSupportVectors()} if name == "abalone" else {})


class Learn:
    """Learns a small model of a configuration."""

    def __init__(self, number: int) -> None:
        self.entry = TRIED[number]

    def __call__(self, rows: TrainingRows, budget: int = BUDGET) -> Predict:
        """Return what predicts."""
        runner = TrialRunner(rows, score_of(None, rows))
        growth = runner.canonical(self.entry.growth(rows.X.shape[1], 1))
        return runner.build(Trial(budget, growth, self.entry.compression(1, budget)), runner.split(ALL)).predict


def transformed(forward: Callable, back: Callable) -> Idea:
    """Learn a function of the target; what is undone is made right in the mean."""

    def idea(learn: Learn, rows: TrainingRows) -> Predict:
        inner = learn(replace(rows, y=forward(rows.y)))
        least = rows.y.min()
        off = rows.y.mean() - back(inner(rows.X), least).mean()
        return lambda X: back(inner(X), least) + off

    return idea


def beside_linear(learn: Learn, rows: TrainingRows) -> Predict:
    """Learn what a linear term leaves."""
    term = linear().fit(rows.X, rows.y)
    inner = learn(replace(rows, y=rows.y - term.predict(rows.X)), BUDGET - LINEAR_BYTES)
    return lambda X: term.predict(X) + inner(X)


def linear_feature(learn: Learn, rows: TrainingRows) -> Predict:
    """Let trees split by a linear term too."""
    term = linear().fit(rows.X, rows.y)

    def more(X: np.ndarray) -> np.ndarray:
        return np.column_stack([X, term.predict(X)]).astype(np.float32)

    inner = learn(replace(rows, X=more(rows.X), feature_names=None), BUDGET - LINEAR_BYTES)
    return lambda X: inner(more(X))


def from_trees(learn: Learn, rows: TrainingRows) -> Predict:
    """Learn what many trees say of the rows."""
    return learn(replace(rows, y=boosted(250).fit(rows.X, rows.y).predict(rows.X)))


def from_smooth(learn: Learn, rows: TrainingRows) -> Predict:
    """Learn what the search learns where targets are smoothed."""
    return learn(replace(rows, y=smooth_targets(rows, rows.X, np.arange(rows.n_rows), 0)))


IDEAS: dict[str, Idea] = {
    "logarithm of the target": transformed(lambda y: np.log(y - y.min() + 1.0), lambda z, low: np.exp(z) + low - 1.0),
    "square root of the target": transformed(
        lambda y: np.sqrt(y - y.min()), lambda z, low: np.maximum(z, 0.0) ** 2 + low
    ),
    "logarithm from the other end": transformed(lambda y: -np.log(y.max() - y + 1.0), lambda z, _: -np.exp(-z)),
    "linear term beside the trees": beside_linear,
    "linear term as a feature": linear_feature,
    "targets of 250 trees of LightGBM": from_trees,
    "smoothed targets, which the search tries": from_smooth,
}


def rows_of(name: str, fold: int, **encoding: str) -> tuple[TrainingRows, np.ndarray, np.ndarray]:
    """Return rows to learn from, and features and targets to judge by."""
    table = fit_numbers.read(name)
    train, test = fit_numbers.folds_of(table, fold)
    encoded = encode_table(table.take(train), BUDGET, **encoding)
    X = encoded.encoding.apply(dict(zip(table.names, table.take(test).columns, strict=True)))
    return encoded.rows, X, table.y[test]


def show_large(names: list[str], folds: list[int]) -> None:
    for name in names:
        print(f"| {name} | {' | '.join(f'fold {k + 1}' for k in folds)} | mean |\n|---|{'---:|' * (len(folds) + 1)}")
        errors: dict[str, list[float]] = {}
        for fold in folds:
            rows, X, y = rows_of(name, fold, categorical="one_hot")
            said = {who: model.fit(rows.X, rows.y).predict(X) for who, model in large(name).items()}
            said["mean of LightGBM and extra trees"] = np.mean([said[who] for who in BOTH], axis=0)
            for who, predicted in said.items():
                errors.setdefault(who, []).append(fit_numbers.rmse(predicted, y))
        for who, of_folds in errors.items():
            print(f"| {who} | {' | '.join(f'{error:.3f}' for error in of_folds)} | {np.mean(of_folds):.3f} |")
        print(flush=True)


def show_ideas(names: list[str], folds: list[int]) -> None:
    gains: dict[str, dict[str, list[float]]] = {idea: {name: [] for name in names} for idea in IDEAS}
    for name in names:
        for fold in folds:
            rows, X, y = rows_of(name, fold)
            for number in range(len(TRIED)):
                learn = Learn(number)
                plain = fit_numbers.rmse(learn(rows)(X), y)
                for idea, changed in IDEAS.items():
                    try:
                        gains[idea][name].append(100.0 * (1.0 - fit_numbers.rmse(changed(learn, rows)(X), y) / plain))
                    except TooSmallError:
                        continue
    print(f"| | {' | '.join(names)} |\n|---|{'---:|' * len(names)}")
    for idea, of_names in gains.items():
        cells = [f"{np.mean(g):+.1f} ± {np.std(g, ddof=1) / np.sqrt(len(g)):.1f}" for g in of_names.values()]
        print(f"| {idea} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", nargs="+", choices=ROUNDS, default=[], metavar="NAME")
    parser.add_argument("--ideas", nargs="+", choices=fit_numbers.DATA, default=[], metavar="NAME")
    parser.add_argument("--folds", type=int, nargs="+", default=[0, 1, 2, 3, 4], choices=range(5), metavar="N")
    given = parser.parse_args()
    show_large(given.large, given.folds)
    if given.ideas:
        show_ideas(given.ideas, given.folds)


if __name__ == "__main__":
    main()
