"""Which configurations should a search try first? Measures many on many data sets, and chooses sequences.

    BILLHOOK_DATA=... python benchmarks/portfolio.py search --results portfolio.jsonl --jobs 2
    BILLHOOK_DATA=... python benchmarks/portfolio.py measure --results portfolio.jsonl --jobs 2
    python benchmarks/portfolio.py choose --results portfolio.jsonl
    python benchmarks/portfolio.py judge --results portfolio.jsonl
    python benchmarks/portfolio.py finalists --results portfolio.jsonl

First every data set is searched by itself, and its best configurations are kept. Then each of them, and some chosen
by hand, is measured on every data set of its kind (two classes, more classes, numbers): the score on held-out rows,
and seconds of the processor. Sequences begin with what was chosen by hand to give a good model soon, and go on
greedily: next comes the configuration that lowers most the regret, which is what the best so far lacks to the best of
all, in the mean over data sets and over moments from 0.5 s to 60 s. A sequence is judged on data sets that it was not
chosen with, without the configurations that were found on them. The test rows of the fifth fold are not used.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from fit_anytime import DATA, ONE_THREAD, rows_of

KB = 1024
NUMBERS = ("abalone", "cpu-act", "elevators", "kin8nm", "pol")
# Of scikit-learn; and what it makes up: rows, features, informative features, classes, share of wrong labels.
SCIKIT_LEARN = ("digits", "breast-cancer", "diabetes", "friedman")
MADE_UP = {
    "made-two-easy": (4_000, 10, 6, 2, 0.0),
    "made-two-noisy": (8_000, 20, 8, 2, 0.15),
    "made-two-wide": (2_000, 100, 20, 2, 0.02),
    "made-four": (6_000, 12, 8, 4, 0.02),
    "made-eight-noisy": (6_000, 20, 12, 8, 0.1),
    "made-twenty": (10_000, 16, 12, 20, 0.0),
}
ALL_DATA = (*DATA, *NUMBERS, *SCIKIT_LEARN, *MADE_UP)
BUDGETS = (2 * KB, 4 * KB)
FOLD = 4
N_SPLITS = 2
# How many configurations of a data set are kept: of real ones, and of others.
KEPT, KEPT_OF_OTHERS = 3, 1
# A sequence begins with so many of those chosen by hand.
N_BY_HAND = {"two classes": 5, "more classes": 5, "numbers": 1}
BY_HAND = "by hand"
N_ORDERS = 20
N_FINALISTS = 8
MOMENTS = np.geomspace(0.5, 60.0, 15)
# Differences of R2 count so many times: from 0.80 to 0.81 is as much as from 80 % to 81 % of rows.
POINTS = 100.0
FIELDS = (
    "leaves", "learning_rate", "bits", "bins", "min_weight", "max_tests", "reuse_factor", "overgrow", "l2",
    "leaf_bits", "codebook", "by_class", "rounding",
)  # fmt: skip
GROWTHS = (
    (32, 0.4, 7, 64, 1.0, 0, 1.0), (128, 0.5, 12, 1024, 1.0, 0, 1.0), (16, 0.4, 6, 32, 1.0, 0, 1.0),
    (32, 0.3, 8, 256, 1.0, 0, 1.0), (64, 0.3, 8, 128, 1.0, 0, 1.0), (16, 0.15, 8, 128, 1.0, 0, 1.0),
    (32, 0.1, 7, 64, 1.0, 0, 1.0), (8, 0.1, 6, 32, 1.0, 0, 1.0), (128, 0.5, 12, 1024, 0.3, 512, 1.5),
    (32, 0.3, 8, 256, 1.0, 256, 1.5), (64, 0.5, 10, 512, 3.0, 0, 1.0),
)  # fmt: skip
COMPRESSIONS = {
    "two classes": (
        (1.0, None, 3, None, False, "scores"), (2.0, 1.0, 4, None, False, "labels"),
        (1.0, 10.0, 4, None, False, "labels"), (2.0, 1.0, 3, None, False, "scores"),
    ),
    "more classes": (
        (1.0, 1.0, 4, 1.0, True, "labels"), (2.0, 1.0, 4, 1.0, True, "labels"), (2.0, 1.0, 3, None, False, "labels"),
        (1.0, 3.0, 4, 2.0, True, "labels"), (1.0, None, 4, None, False, "scores"),
    ),
    "numbers": (
        (1.0, None, 3, None, False, "scores"), (2.0, 1.0, 4, None, False, "labels"),
        (1.0, 10.0, 4, None, False, "labels"), (1.5, 10.0, 5, None, False, "labels"),
        (1.0, 3.0, 6, None, False, "labels"),
    ),
}  # fmt: skip


class Measurement(NamedTuple):
    """A configuration on a data set: scores on its splits, mean seconds of the processor, log losses."""

    kind: str
    data: str
    budget: int
    configuration: str
    scores: tuple[float, ...]
    seconds: float
    losses: tuple[float, ...]


def frame_of(name: str):
    """Return the rows to learn from as a table with a column "label"."""
    import pandas as pd
    from sklearn import datasets
    from sklearn.model_selection import KFold

    if name in DATA:
        return rows_of(name, FOLD)[0]
    if name in NUMBERS:
        frame = pd.read_parquet(Path(os.environ["BILLHOOK_DATA"]) / "regression" / f"{name}.parquet")
        frame = frame.drop(columns="split", errors="ignore").rename(columns={frame.columns[-1]: "label"})
    elif name in MADE_UP:
        n_rows, n_features, n_informative, n_classes, wrong = MADE_UP[name]
        X, y = datasets.make_classification(
            n_rows, n_features, n_informative=n_informative, n_classes=n_classes, flip_y=wrong, class_sep=1.0,
            n_clusters_per_class=3, random_state=0,
        )  # fmt: skip
        frame = pd.DataFrame(X).add_prefix("x").assign(label=y)
    elif name == "friedman":
        X, y = datasets.make_friedman1(4_000, noise=1.0, random_state=0)
        frame = pd.DataFrame(X).add_prefix("x").assign(label=y)
    else:
        load = {"digits": datasets.load_digits, "breast-cancer": datasets.load_breast_cancer}
        X, y = load.get(name, datasets.load_diabetes)(return_X_y=True)
        frame = pd.DataFrame(X).add_prefix("x").assign(label=y)
    train, _ = list(KFold(5, shuffle=True, random_state=12345).split(frame))[FOLD]
    return frame.iloc[train].reset_index(drop=True)


def training_rows_of(name: str):
    from billhook.budget import encode_table
    from billhook.tables import table_of_frame

    task = "regression" if name in NUMBERS or name in ("diabetes", "friedman") else "classification"
    table = table_of_frame(frame_of(name), "label", task=task)
    return encode_table(table, BUDGETS[0], seed=FOLD).rows


def kind_of(rows) -> str:
    if rows.classes is None:
        return "numbers"
    return "two classes" if rows.classes.size == 2 else "more classes"


def as_text(trial, n_values: int) -> str:
    """Return the choices of a trial, with codebooks by how much larger they are than usual for the budget."""
    from billhook.budget._space import usual_codebook

    choices = asdict(trial.growth) | asdict(trial.compression)
    choices["bins"] = 1 << (trial.growth.bins - 1).bit_length()  # where there are fewer values, there are fewer bins
    if trial.compression.codebook is not None:
        choices["codebook"] = trial.compression.codebook / usual_codebook(n_values, trial.budget)
    return json.dumps(choices)


def chosen_by_hand(kind: str) -> list[str]:
    """Return all compressions with one growth, and each other growth with one that refines."""
    configs = COMPRESSIONS[kind]
    telling = next(config for config in configs if config[1] is not None)
    choices = [(*GROWTHS[0], *config) for config in configs] + [(*growth, *telling) for growth in GROWTHS[1:]]
    return [json.dumps({"family": "boosted"} | dict(zip(FIELDS, choice, strict=True))) for choice in choices]


def as_trial(text: str, budget: int, n_values: int):
    from billhook.budget._space import CODEBOOKS, CompressionConfig, GrowthConfig, Trial, usual_codebook

    choices = json.loads(text)
    growth = {name: choices.pop(name) for name in GrowthConfig.__dataclass_fields__}
    if choices["codebook"] is not None:
        entries = int(choices["codebook"] * usual_codebook(n_values, budget))
        choices["codebook"] = min(max(entries, CODEBOOKS[0]), CODEBOOKS[1])
    return Trial(budget, GrowthConfig(**growth), CompressionConfig(**choices))


# In processes of their own


def search(name: str, seconds: float) -> list[list[Any]]:
    """Search one data set; return its kind and its best configurations."""
    time.perf_counter = time.process_time
    from billhook.budget import search_budgets
    from billhook.budget._space import GrowthConfig

    rows = training_rows_of(name)
    found = search_budgets(rows, BUDGETS, time_limit=seconds, now=time.process_time, seed=FOLD)
    # Features of few values have fewer bits and bins than were asked for: elsewhere they are to have these.
    usual = GrowthConfig("boosted", 8, bits=7, bins=64)
    fewer = found.trying.canonical(usual)
    lines = []
    n_kept = KEPT if name in (*DATA, *NUMBERS) else KEPT_OF_OTHERS
    for budget in BUDGETS:
        trials = [one.trial for one in found.candidates(budget) if one.trial.growth.family == "boosted"][:n_kept]
        for place, trial in enumerate(trials):
            if fewer != usual and (trial.growth.bits, trial.growth.bins) >= (fewer.bits, fewer.bins):
                trials[place] = replace(trial, growth=replace(trial.growth, bits=usual.bits, bins=usual.bins))
        texts = dict.fromkeys(as_text(trial, rows.n_values) for trial in trials)
        lines += [["candidate", kind_of(rows), name, budget, text] for text in texts]
    return [*lines, ["searched", kind_of(rows), name, found.n_done, seconds]]


def measure(name: str, budget: int, texts: list[str]) -> list[list[Any]]:
    """Measure configurations on a data set; those that share an ensemble one after the other."""
    from billhook.budget._scoring import score_of, tempered_log_loss
    from billhook.budget._search import TRIED_ROWS
    from billhook.budget._trial_runner import TrialBatch, TrialRunner

    time.perf_counter = time.process_time
    rows = training_rows_of(name)
    runner = TrialRunner(rows, score_of(None, rows), FOLD).sample(TRIED_ROWS)
    lines = []
    for text in sorted(texts):
        trial = as_trial(text, budget, rows.n_values)
        trial = replace(trial, growth=runner.canonical(trial.growth))
        scores, seconds, losses = [], [], []
        for split in range(N_SPLITS):
            (outcome,) = runner.run(TrialBatch(trial.growth, split, True, (trial,)))
            scores.append(outcome.score if np.isfinite(outcome.score) else -1.0)
            seconds.append(outcome.seconds)
            held_out = runner.split(split).held_out
            if rows.classes is not None and outcome.packed is not None:
                features = runner.features(runner.split(split))[held_out]
                tested = runner.rows.y[held_out], runner.rows.weight[held_out]
                losses.append(tempered_log_loss(outcome.packed, features, *tested))
        lines.append(["measured", kind_of(rows), name, budget, text, scores, float(np.mean(seconds)), losses])
    return lines


# All of them


def lines_of(path: Path, what: str) -> Iterator[list[Any]]:
    for line in path.read_text().splitlines() if path.exists() else ():
        if line.endswith("]") and (words := json.loads(line))[0] == what:
            yield words[1:]


def run_all(path: Path, jobs: list[tuple[Any, ...]], n_at_once: int) -> None:
    with ProcessPoolExecutor(n_at_once, max_tasks_per_child=1) as pool, path.open("a") as file:
        futures = {pool.submit(*job): job for job in jobs}
        for number, future in enumerate(as_completed(futures), 1):
            for line in future.result():
                file.write(json.dumps(line) + "\n")
            file.flush()
            print(f"{number}/{len(jobs)} {futures[future][1:3]}"[:100], file=sys.stderr, flush=True)


def measurements(path: Path) -> dict[str, dict[tuple[str, int], dict[str, Measurement]]]:
    """Return what was measured by kind, by data set and budget, and by configuration."""
    table: dict[str, dict[tuple[str, int], dict[str, Measurement]]] = {}
    for kind, data, budget, text, scores, seconds, losses in lines_of(path, "measured"):
        one = Measurement(kind, data, budget, text, tuple(scores), seconds, tuple(losses))
        table.setdefault(kind, {}).setdefault((data, budget), {})[text] = one
    return table


class Regret:
    """What the best of a sequence lacks to the best of all, by task (a data set and a budget) and moment."""

    def __init__(self, kind: str, tasks: dict[tuple[str, int], dict[str, Measurement]]) -> None:
        self.kind = kind
        self.texts = sorted(set.intersection(*(set(by_text) for by_text in tasks.values())))
        self.tasks = list(tasks)
        table = [[tasks[task][text] for text in self.texts] for task in self.tasks]
        score = POINTS * np.array([[np.mean(one.scores) for one in row] for row in table])
        self.seconds = np.array([[one.seconds for one in row] for row in table])
        self.lacks = score.max(axis=1, keepdims=True) - score
        # The worst that a model may lack: what nothing at all is taken for.
        self.worst = np.quantile(self.lacks, 0.9, axis=1)

    def sequence(self, used: np.ndarray, length: int, allowed: set[str] | None = None) -> list[int]:
        """Return the sequence that is best, greedily, on the tasks that are used."""
        left = {place for place, text in enumerate(self.texts) if allowed is None or text in allowed}
        chosen = [self.texts.index(text) for text in chosen_by_hand(self.kind)[: N_BY_HAND[self.kind]]]
        left -= set(chosen)
        lacks, spent = self._of_all(chosen)
        while len(chosen) < length and left:
            regrets = {place: self._after(lacks, spent, place)[0][used].mean() for place in left}
            best = min(left, key=lambda place: (regrets[place], place))
            lacks, spent = self._after(lacks, spent, best)
            chosen.append(best)
            left.remove(best)
        return chosen

    def of(self, sequence: list[int]) -> np.ndarray:
        """Return the regret of a sequence by task and moment."""
        return self._of_all(sequence)[0]

    def _of_all(self, sequence: list[int]) -> tuple[np.ndarray, np.ndarray]:
        lacks, spent = np.tile(self.worst[:, None], len(MOMENTS)), np.zeros(len(self.tasks))
        for place in sequence:
            lacks, spent = self._after(lacks, spent, place)
        return lacks, spent

    def _after(self, lacks: np.ndarray, spent: np.ndarray, place: int) -> tuple[np.ndarray, np.ndarray]:
        spent = spent + self.seconds[:, place]
        is_done = spent[:, None] <= MOMENTS
        return np.where(is_done, np.minimum(lacks, self.lacks[:, place, None]), lacks), spent


def choose(path: Path, length: int) -> None:
    """Print sequences as they are in the source, and the regret that is left after each, at four moments."""
    for kind, tasks in measurements(path).items():
        regret = Regret(kind, tasks)
        sequence = regret.sequence(np.ones(len(regret.tasks), bool), length)
        print(f"# {kind}: of {len(regret.texts)} configurations, on {len(regret.tasks)} tasks")
        for number, place in enumerate(sequence, 1):
            left = regret.of(sequence[:number])
            by_moment = " ".join(f"{mean:.2f}" for mean in left.mean(axis=0)[[2, 6, 9, 14]])
            choices = json.loads(regret.texts[place])
            words = ", ".join(json.dumps(choices[field]) for field in FIELDS)
            words = words.replace("null", "None").replace("true", "True").replace("false", "False")
            print(f"    PortfolioEntry({words}),  # {by_moment}")


def judge(path: Path, length: int) -> None:
    """Print the regret of sequences on data sets that they were not chosen with, and of other orders."""
    random = np.random.default_rng(0)
    found_on: dict[str, set[str]] = {}
    for _, data, _, text in lines_of(path, "candidate"):
        found_on.setdefault(text, set()).add(data)
    for kind, tasks in measurements(path).items():
        regret = Regret(kind, tasks)
        names = np.array([data for data, _ in regret.tasks])
        by_hand = [regret.texts.index(text) for text in chosen_by_hand(kind) if text in regret.texts]
        apart = np.empty((len(names), len(MOMENTS)))
        by_chance = np.zeros_like(apart)
        for name in np.unique(names):
            allowed = {text for text in regret.texts if found_on.get(text, {BY_HAND}) - {name}}
            apart[names == name] = regret.of(regret.sequence(names != name, length, allowed))[names == name]
            places = [place for place, text in enumerate(regret.texts) if text in allowed]
            orders = [list(random.permutation(places)[:length]) for _ in range(N_ORDERS)]
            by_chance[names == name] = np.mean([regret.of(order)[names == name] for order in orders], axis=0)
        known = regret.of(regret.sequence(np.ones(len(names), bool), length))
        print(f"{kind}: regret in points after {', '.join(f'{moment:.1f}' for moment in MOMENTS[::2])} s")
        lines = {"left out": apart, "with it": known, "by hand": regret.of(by_hand)}
        for words, lacks in (*lines.items(), ("by chance", by_chance)):
            print(f"{words:>10}", " ".join(f"{mean:6.2f}" for mean in lacks.mean(axis=0)[::2]))


def finalists(path: Path) -> None:
    """Print what the choice of one of eight, the best on one split, lacks on the other: by what it is chosen."""
    from scipy.stats import rankdata

    lacks: dict[str, list[float]] = {}
    is_papers = []
    for tasks in measurements(path).values():
        for (name, _), by_text in tasks.items():
            known = [one for one in by_text.values() if len(one.losses) == N_SPLITS]
            for here, there in ((0, 1), (1, 0)) if known else ():
                best = sorted(known, key=lambda one: -one.scores[here])[:N_FINALISTS]
                score, loss = np.array([(-one.scores[here], one.losses[here]) for one in best]).T
                highest = max(one.scores[there] for one in known)
                is_papers.append(name in DATA)
                by = {"accuracy": score, "log loss": loss, "both ranks": rankdata(score) + rankdata(loss)}
                for words, order in by.items():
                    lacks.setdefault(words, []).append(POINTS * (highest - best[np.argmin(order)].scores[there]))
    for where, counts in (("the paper's data sets", np.array(is_papers)), ("all", np.ones(len(is_papers), bool))):
        for words, numbers in lacks.items():
            less = (np.array(numbers) - lacks["accuracy"])[counts]
            error = less.std() / np.sqrt(less.size)
            mean = np.array(numbers)[counts].mean()
            print(f"{where}, by {words}: {mean:.2f} ({less.mean():+.2f} +- {error:.2f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("search", "measure", "choose", "judge", "finalists"))
    parser.add_argument("--results", type=Path, required=True, metavar="FILE", help="lines of JSON")
    parser.add_argument("--data", nargs="+", choices=ALL_DATA, default=ALL_DATA, metavar="NAME")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="S", help="for each search (default: 60)")
    parser.add_argument("--length", type=int, default=18, metavar="N", help="of a sequence (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    arguments = parser.parse_args()
    path = arguments.results
    os.environ |= ONE_THREAD
    if arguments.step == "search":
        known = {data for _, data, *_ in lines_of(path, "searched")}
        names = [name for name in arguments.data if name not in known]
        run_all(path, [(search, name, arguments.seconds) for name in names], arguments.jobs)
    elif arguments.step == "measure":
        pool: dict[str, dict[str, None]] = {}
        kinds = {data: kind for kind, data, *_ in lines_of(path, "searched")}
        for kind, _, _, text in lines_of(path, "candidate"):
            pool.setdefault(kind, dict.fromkeys(chosen_by_hand(kind)))[text] = None
        known = {(data, budget, text) for _, data, budget, text, *_ in lines_of(path, "measured")}
        jobs: list[tuple[Any, ...]] = []
        for name in arguments.data:
            for budget in BUDGETS:
                texts = [text for text in pool.get(kinds.get(name, ""), {}) if (name, budget, text) not in known]
                jobs += [(measure, name, budget, texts)] if texts else []
        run_all(path, jobs, arguments.jobs)
    elif arguments.step == "finalists":
        finalists(path)
    else:
        (choose if arguments.step == "choose" else judge)(path, arguments.length)


if __name__ == "__main__":
    main()
