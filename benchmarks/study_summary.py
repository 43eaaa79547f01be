"""The summary tables of the paper's study: ranks, best below 64 and 256 KB, and how far from print.

    billhook study run paper --out paper --skip-missing
    billhook study run beyond --methods BCD RE+BCD --out beyond --skip-missing
    python benchmarks/study_summary.py paper docs/results/paper --beyond beyond

Writes CSV files, and prints what docs/results/paper.md says.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

import billhook as bh

PRINTED = {64: "accuracy_below_64KB", 256: "accuracy_below_256KB"}
FAULTY = ("CA", "DREP")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--beyond", type=Path, help="results of the study beyond, to set beside the paper's methods")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    results = bh.study.results(given.results)
    about = bh.study.about(given.results)
    done = results[results["status"] == "done"]
    print(f"{len(results):,} runs: {results['status'].value_counts().to_dict()}")
    print(f"folds: {done.groupby('data')['fold'].nunique().to_dict()}")
    print_times(about)
    for size in ("as_published", "paper"):
        table = bh.analysis.configurations(results, size=size)
        areas = bh.analysis.areas(table)
        write(areas, given.out / f"areas_{size}", 4)
        compared = bh.analysis.compare(areas)
        print(f"\nmean ranks by area, {size} sizes:", compared.mean_ranks.round(2).to_dict())
        print("cliques:", compared.cliques, f"Friedman p {compared.friedman_p:.2g}")
        if size == "as_published":
            for cap, name in PRINTED.items():
                best = 100 * bh.analysis.best_below(table, cap)
                write(best, given.out / f"best_below_{cap}KB", 2)
                compare(best, 100 * bh.analysis.published(name), cap, given.out)
    if given.beyond is not None:
        set_beside(results, bh.study.results(given.beyond), given.out)
    printed = bh.analysis.compare(bh.analysis.published("area_under_pareto_front"))
    print("\nprinted mean ranks:", printed.mean_ranks.round(2).to_dict())


def set_beside(results: pd.DataFrame, beyond: pd.DataFrame, out: Path) -> None:
    new = list(beyond["method"].unique())
    table = bh.analysis.configurations(pd.concat([results, beyond]), size="as_published")
    print(
        "\nwith",
        new,
        "mean ranks by area:",
        bh.analysis.compare(bh.analysis.areas(table)).mean_ranks.round(2).to_dict(),
    )
    for cap in PRINTED:
        best = 100 * bh.analysis.best_below(table, cap)[["RE", "RF-LR", *new]]
        write(best, out / f"beyond_below_{cap}KB", 2)
        print(f"below {cap} KB:\n{best.round(2).to_string()}\nmeans: {best.mean().round(2).to_dict()}")


def print_times(about: dict) -> None:
    steps = pd.DataFrame(about["seconds"]).fillna(0.0)
    print(f"from start to end {about['time from start to end']}; work {steps.to_numpy().sum() / 60:.0f} min")
    print("by step, s:", steps.sum(axis=1).sort_values(ascending=False).round().astype(int).to_dict())
    print("by data, s:", steps.sum(axis=0).sort_values(ascending=False).round().astype(int).to_dict())


def compare(best: pd.DataFrame, printed: pd.DataFrame, cap: int, out: Path) -> None:
    rows = [name for name in best.index if name in printed.index]
    methods = [name for name in printed.columns if name in best.columns]
    gaps = (best.loc[rows, methods] - printed.loc[rows, methods]).astype(float)
    write(gaps, out / f"minus_print_{cap}KB", 2)
    print(f"\nbest below {cap} KB minus print, points:")
    print(gaps.round(2).to_string())
    near = gaps.abs() <= 0.6
    print("within 0.6 points of print, of", len(rows), ":", near.sum().to_dict())
    fair = [name for name in methods if name not in FAULTY]
    print(f"mean absolute gap without {FAULTY}: {np.nanmean(np.abs(gaps[fair])):.2f}")


def write(table: pd.DataFrame, path: Path, digits: int) -> None:
    table.round(digits).to_csv(path.with_suffix(".csv"), lineterminator="\n")


if __name__ == "__main__":
    main()
