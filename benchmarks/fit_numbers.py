"""How far off are the numbers that models of 0.5 to 16 KB predict? Beside XGBoost and LightGBM by hand.

For each data set, fold and budget: a fit with a time limit of its own, on one thread, in seconds of the processor.
Beside it, at the same true bytes and chosen on a hold-out too: XGBoost and LightGBM with a few depths and learning
rates, as many rounds as fit when packed with 8-bit leaves.

    BILLHOOK_DATA=... python benchmarks/fit_numbers.py --results numbers.jsonl               # hours, on one core
    BILLHOOK_DATA=... python benchmarks/fit_numbers.py --results numbers.jsonl --data kin8nm --budgets 4096 --folds 1
    python benchmarks/fit_numbers.py --results numbers.jsonl --show --markdown

The data sets are Parquet files in the folder `regression` of BILLHOOK_DATA. Runs that are in the results already are
not made again: an interrupted benchmark goes on when it is called again.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import joblib
import numpy as np
from sklearn.model_selection import KFold, train_test_split

import billhook as bh
from billhook.budget import Clock, encode_table, fit
from billhook.tables import Table, encode, read_table

KB = 1024
BUDGETS = (KB // 2, KB, 2 * KB, 4 * KB, 8 * KB, 16 * KB)
DATA = ("abalone", "cpu-act", "elevators", "kin8nm", "pol")
# What is to be reached: root mean squared errors by data set and bytes.
WANTED = {("abalone", KB): 2.12, ("cpu-act", KB): 2.25, ("cpu-act", 4 * KB): 2.15, ("kin8nm", 4 * KB): 0.110}
SETTINGS = tuple((depth, rate) for depth in (3, 4, 6) for rate in (0.1, 0.3))
MOST_ROUNDS = 1_000
BILLHOOK, XGBOOST, LIGHTGBM = "billhook fit", "XGBoost by hand", "LightGBM by hand"


def read(name: str) -> Table:
    return read_table(
        Path(os.environ["BILLHOOK_DATA"]) / "regression" / f"{name}.parquet", "label", task="regression"
    )


def folds_of(table: Table, fold: int) -> tuple[np.ndarray, np.ndarray]:
    return list(KFold(5, shuffle=True, random_state=12345).split(np.zeros(len(table.y))))[fold]


def rmse(predicted: np.ndarray, y: np.ndarray) -> float:
    return float(np.sqrt(np.mean((predicted - y) ** 2)))


def by_search(table: Table, train: np.ndarray, test: np.ndarray, budget: int, seconds: float) -> dict:
    learned, unseen = table.take(train), table.take(test)
    # Seconds of the processor, of trials too: how busy the machine is does not matter.
    time.perf_counter = time.process_time
    clock = Clock(seconds, time.process_time)
    encoded = encode_table(learned, budget, clock=clock)
    result = fit(encoded.rows, budget, clock=clock)
    X = encoded.encoding.apply(dict(zip(unseen.names, unseen.columns, strict=True)))
    return {
        "nbytes": result.packed.nbytes,
        "rmse": rmse(result.packed.predict(X), unseen.y),
        "settings": next(point.settings for point in result.report.points if point.is_chosen),
        "trials": result.report.n_trials,
        "seconds": clock.seconds,
    }


def by_hand(
    table: Table,
    train: np.ndarray,
    test: np.ndarray,
    grown: Callable[[np.ndarray, np.ndarray, int, float], bh.Forest],
) -> list[dict]:
    """Return for each budget the best on a hold-out of some depths and rates, grown again on all rows."""
    X, _ = encode(table)
    some, held = train_test_split(train, test_size=0.15, random_state=0)
    tried = {setting: grown(X[some], table.y[some], *setting) for setting in SETTINGS}
    whole: dict = {}
    found = []
    for budget in BUDGETS:
        models = {setting: fitting(forest, budget) for setting, forest in tried.items()}
        errors = {setting: rmse(model.predict(X[held]), table.y[held]) for setting, model in models.items() if model}
        if not errors:
            continue
        best = min(errors, key=lambda setting: errors[setting])
        if best not in whole:
            whole[best] = grown(X[train], table.y[train], *best)
        packed = fitting(whole[best], budget)
        if packed is not None:
            error = rmse(packed.predict(X[test]), table.y[test])
            found.append({"budget": budget, "nbytes": packed.nbytes, "rmse": error, "settings": best})
    return found


def fitting(forest: bh.Forest, budget: int) -> bh.Packed | None:
    """Return the first trees of a forest that fit when packed, as many as do; None if not one does."""
    low, high = 0, forest.n_trees
    best = None
    while low < high:
        middle = (low + high + 1) // 2
        packed = bh.pack(forest.select(range(middle)), threshold_bits=12, missing_values=False)
        low, high, best = (middle, high, packed) if packed.nbytes <= budget else (low, middle - 1, best)
    return best


def n_rounds(depth: int) -> int:
    return min(MOST_ROUNDS, 12_000 // 2**depth)


def grown_by_xgboost(X: np.ndarray, y: np.ndarray, depth: int, rate: float) -> bh.Forest:
    from xgboost import XGBRegressor

    model = XGBRegressor(n_estimators=n_rounds(depth), max_depth=depth, learning_rate=rate, n_jobs=1, verbosity=0)
    return bh.as_forest(model.fit(X, y))


def grown_by_lightgbm(X: np.ndarray, y: np.ndarray, depth: int, rate: float) -> bh.Forest:
    from lightgbm import LGBMRegressor

    model = LGBMRegressor(n_estimators=n_rounds(depth), num_leaves=2**depth, learning_rate=rate, n_jobs=1, verbose=-1)
    return forest_of_lightgbm(model.fit(X, y).booster_.dump_model())


def forest_of_lightgbm(dump: dict) -> bh.Forest:
    """Return a regression model of LightGBM without missing values as a forest."""
    nodes: dict[str, list] = {name: [] for name in ("feature", "threshold", "left", "right", "value", "n_rows")}
    offset = [0]

    def add(node: dict) -> int:
        """Append a node, and after it what is below, and return its number in its tree."""
        number = len(nodes["feature"]) - offset[-1]
        is_leaf = "split_feature" not in node
        if not is_leaf:
            assert node["decision_type"] == "<="
        nodes["feature"].append(-1 if is_leaf else node["split_feature"])
        nodes["threshold"].append(0.0 if is_leaf else node["threshold"])
        nodes["value"].append(node["leaf_value"] if is_leaf else node["internal_value"])
        nodes["n_rows"].append(node.get("leaf_count" if is_leaf else "internal_count", 0))
        nodes["left"].append(-1)
        nodes["right"].append(-1)
        if not is_leaf:
            place = offset[-1] + number
            nodes["left"][place] = add(node["left_child"])
            nodes["right"][place] = add(node["right_child"])
        return number

    for tree in dump["tree_info"]:
        add(tree["tree_structure"])
        offset.append(len(nodes["feature"]))
    n_nodes, n_trees = offset[-1], len(offset) - 1
    threshold = np.array(nodes["threshold"], np.float64).astype(np.float32)
    down = np.where(threshold > nodes["threshold"], np.nextafter(threshold, np.float32(-np.inf)), threshold)
    feature = np.array(nodes["feature"], np.int32)
    # The mean of the targets is in the leaves of the first tree: beside the others' values, it would coarsen them.
    value, mean = np.array(nodes["value"], np.float64), nodes["value"][0]
    value[: offset[1]] -= mean
    return bh.Forest(
        feature=feature,
        threshold=down,
        left=np.array(nodes["left"], np.int32),
        right=np.array(nodes["right"], np.int32),
        missing_left=np.zeros(n_nodes, np.bool_),
        value=value[:, None],
        n_rows=np.array(nodes["n_rows"], np.int64),
        row_weight=np.array(nodes["n_rows"], np.float64),
        impurity=np.zeros(n_nodes),
        # Not how it was grown, which trees that are not truncated need not know.
        growth_rank=np.concatenate(
            [np.where(part < 0, -1, np.cumsum(part >= 0) - 1) for part in np.split(feature, offset[1:-1])]
        ).astype(np.int32),
        offset=np.array(offset, np.int64),
        tree_weight=np.ones(n_trees),
        tree_column=np.zeros(n_trees, np.int32),
        averages=False,
        base=np.array([mean]),
        link="identity",
        task="regression",
        n_features=dump["max_feature_idx"] + 1,
        origin="lightgbm.Booster",
    )


BY_HAND = {XGBOOST: grown_by_xgboost, LIGHTGBM: grown_by_lightgbm}


def run(who: str, name: str, fold: int, budget: int | None, seconds: float, results: Path) -> None:
    table = read(name)
    train, test = folds_of(table, fold)
    if budget is not None:
        found = [{"budget": budget, **by_search(table, train, test, budget, seconds)}]
    else:
        found = by_hand(table, train, test, BY_HAND[who])
    with results.open("a") as file:
        file.writelines(json.dumps({"who": who, "data": name, "fold": fold, **row}) + "\n" for row in found)
    print(who, name, fold, [(row["budget"], float(f"{row['rmse']:.4g}")) for row in found], flush=True)


def show(results: Path, *, is_markdown: bool) -> None:
    errors: dict = {}
    for line in results.read_text().splitlines():
        row = json.loads(line)
        errors.setdefault((row["data"], row["who"], row["budget"]), {})[row["fold"]] = row["rmse"]
    bar = "|" if is_markdown else " "
    header = ["data", "who", "folds", *(f"{budget / KB:g} KB" for budget in BUDGETS)]
    lines = [header] + ([["---"] * len(header)] if is_markdown else [])
    behind, missed = [], []
    for name in DATA:
        for who in (BILLHOOK, XGBOOST, LIGHTGBM):
            cells, n_folds = [], set()
            for budget in BUDGETS:
                folds = errors.get((name, who, budget), {})
                n_folds |= {len(folds)} - {0}
                cells.append(with_error(folds.values()) if folds else "-")
            if n_folds:
                lines.append([name, who, "-".join(map(str, sorted(n_folds))), *cells])
        for budget in BUDGETS:
            ours = errors.get((name, BILLHOOK, budget), {})
            if not ours:
                continue
            for who in (XGBOOST, LIGHTGBM):
                theirs = errors.get((name, who, budget), {})
                both = ours.keys() & theirs.keys()
                if both and np.mean([ours[fold] - theirs[fold] for fold in both]) > 0.0:
                    behind.append(f"{name} at {budget / KB:g} KB ({who})")
            if np.mean(list(ours.values())) > WANTED.get((name, budget), np.inf):
                missed.append(f"{name} at {budget / KB:g} KB ({WANTED[name, budget]:g})")
    for line in lines:
        print(f"{bar} {f' {bar} '.join(line)} {bar}" if is_markdown else "".join(f"{cell:>20}" for cell in line))
    print(f"\nA rival is better on the same folds: {', '.join(behind) or 'nowhere'}.")
    print(f"Wanted and not reached: {', '.join(missed) or 'nothing'}.")


def with_error(values) -> str:
    values = np.array(list(values))
    mean = f"{values.mean():.3g}" if values.mean() < 1e-2 else f"{values.mean():#.4g}"
    if values.size == 1:
        return mean
    return f"{mean} ± {values.std(ddof=1) / np.sqrt(values.size):.1g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=DATA)
    parser.add_argument("--budgets", nargs="+", type=int, default=list(BUDGETS), choices=BUDGETS)
    parser.add_argument("--folds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--who", nargs="+", default=[BILLHOOK, XGBOOST, LIGHTGBM], choices=[BILLHOOK, *BY_HAND])
    parser.add_argument("--show", action="store_true", help="print the table of what was run")
    parser.add_argument("--markdown", action="store_true", help="print it as Markdown")
    given = parser.parse_args()
    if not given.show:
        known = set()
        if given.results.exists():
            for line in given.results.read_text().splitlines():
                row = json.loads(line)
                known.add((row["who"], row["data"], row["fold"], row["budget"] if row["who"] == BILLHOOK else None))
        wanted = [
            (who, name, fold, budget)
            for fold in given.folds
            for who in given.who
            for name in given.data
            for budget in (given.budgets if who == BILLHOOK else [None])
        ]
        todo = [job for job in wanted if job not in known]
        joblib.Parallel(given.jobs)(joblib.delayed(run)(*job, given.seconds, given.results) for job in todo)
    show(given.results, is_markdown=given.markdown)


if __name__ == "__main__":
    main()
