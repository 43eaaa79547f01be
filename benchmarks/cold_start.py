"""How long until something happens? Help, imports, the first model of the demo; and what an installation takes.

    python benchmarks/cold_start.py                   # this commit against release 0.1.0, each freshly installed
    python benchmarks/cold_start.py --here            # the environment that runs this, alone

Environments (build/environments) have Billhook and its extra `fit`, as a user's. Each command is a process of its
own; all take turns, and of each the shortest time counts, after a run that reads its files from the disk. The first
model is timed from the start of the process until the search has one that fits: with nothing compiled by earlier
runs, and after these. Its stages are listed. Times are on the clock: have nothing else run.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from environments import RELEASE, Environment, environment_of, environment_variables

COMMANDS = ("fit", "prune", "refine", "merge", "emit", "measure", "methods", "targets", "data", "study")
PASS, ENSEMBLE = "python -c pass", "import sklearn.ensemble"
HELP = "billhook --help"
STATEMENTS = {
    PASS: "pass",
    "import numpy": "import numpy",
    ENSEMBLE: ENSEMBLE,
    "import billhook": "import billhook",
    "import billhook; billhook.Forest": "import billhook; billhook.Forest",
    "import billhook; billhook.CompactForestClassifier": "import billhook; billhook.CompactForestClassifier",
}
# Imports what the command imports in any case, so that each import is a stage, and ends with the first model.
FIRST_MODEL = """if True:
    import os, sys, time
    stages = [("interpreter", time.time())]
    def done(stage):
        stages.append((stage, time.time()))
    from billhook.cli import main
    import billhook.cli._fit
    done("imports of Billhook")
    import sklearn.datasets
    done("import of sklearn.datasets")
    try:
        import xgboost  # 0.1.0 grows with it
    except ImportError:
        pass
    done("import of xgboost")
    from billhook.budget._search import Search
    prepare, progress = Search.__post_init__, []
    def seen(search):
        if search.best(search.budgets[-1]) is not None:
            done("search to the first model")
            before = float(sys.argv[1])
            for stage, end in stages:
                print(f"{stage}\\t{end - before}")
                before = end
            sys.stdout.flush()
            os._exit(0)
    def watched(search):
        done("table, encoding, smallest model")
        prepare(search)
        search.progress = seen
    Search.__post_init__ = watched
    main(["fit", "--demo", "--out", sys.argv[2]])
"""


def commands_of(python: Path) -> dict[str, list[str | Path]]:
    """Return what is run, by name."""
    commands: dict[str, list[str | Path]] = {name: [python, "-c", code] for name, code in STATEMENTS.items()}
    script = python.with_name("billhook")
    commands[HELP] = [script, "--help"]
    return commands | {f"billhook {command} --help": [script, command, "--help"] for command in COMMANDS}


def seconds_of(command: list[str | Path], variables: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, env=variables, check=True, stdout=subprocess.DEVNULL, cwd=tempfile.gettempdir())
    return time.perf_counter() - start


def least_seconds(pythons: dict[str, Path], n_rounds: int) -> dict[str, dict[str, float]]:
    """Return the shortest time of each command in each environment, by environment and command."""
    commands = {name: commands_of(python) for name, python in pythons.items()}
    least = {name: dict.fromkeys(commands[name], math.inf) for name in pythons}
    for number in range(n_rounds + 1):
        for command in next(iter(commands.values())):
            for name in pythons:
                seconds = seconds_of(commands[name][command], variables_of(pythons[name]))
                if number > 0:  # the first reads files from the disk
                    least[name][command] = min(least[name][command], seconds)
    return least


def variables_of(python: Path) -> dict[str, str]:
    """Return the variables for an environment: this one may be told by PYTHONPATH where its source is."""
    return dict(os.environ) if python == Path(sys.executable) else environment_variables()


def first_model(python: Path, *, is_fresh: bool) -> dict[str, float]:
    """Return the seconds of each stage until the demo's first model."""
    with tempfile.TemporaryDirectory() as folder:
        compiled = {"NUMBA_CACHE_DIR": f"{folder}/compiled"} if is_fresh else {}
        words = [python, "-c", FIRST_MODEL, repr(time.time()), f"{folder}/out"]
        done = subprocess.run(
            words, env=variables_of(python) | compiled, stdout=subprocess.PIPE, text=True, check=True, cwd=folder
        )
    return {stage: float(seconds) for stage, seconds in (line.split("\t") for line in done.stdout.splitlines())}


def show_times(least: dict[str, dict[str, float]], *, is_markdown: bool) -> None:
    names = list(least)
    headings = [f"{name}{what}" for name in names for what in (", s", ": times pass", ": times sklearn.ensemble")]
    rows = []
    for command in next(iter(least.values())):
        cells = []
        for name in names:
            seconds = least[name][command]
            ratios = (seconds / least[name][other] for other in (PASS, ENSEMBLE))
            cells += [f"{seconds:.3f}", *(f"{ratio:.2f}" for ratio in ratios)]
        rows.append((command, *cells))
    _table(("command", *headings), rows, is_markdown=is_markdown)


def show_first_models(pythons: dict[str, Path], n_rounds: int, *, is_markdown: bool) -> None:
    columns = {}
    for name, python in pythons.items():
        fresh = first_model(python, is_fresh=True)
        first_model(python, is_fresh=False)
        later = min((first_model(python, is_fresh=False) for _ in range(n_rounds)), key=lambda run: sum(run.values()))
        columns |= {f"{name}, first run": fresh, f"{name}, later": later}
    rows = [
        (stage, *(f"{stages[stage]:.2f}" for stages in columns.values())) for stage in next(iter(columns.values()))
    ]
    rows.append(("in all", *(f"{sum(stages.values()):.2f}" for stages in columns.values())))
    headings = ("seconds to the first model of billhook fit --demo", *columns)
    _table(headings, rows, is_markdown=is_markdown)


def _table(headings: tuple[str, ...], rows: list[tuple[str, ...]], *, is_markdown: bool) -> None:
    if is_markdown:
        print(f"| {' | '.join(headings)} |\n|---|{'---:|' * (len(headings) - 1)}")
        print("\n".join(f"| {' | '.join(row)} |" for row in rows))
    else:
        widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
        for row in (headings, *rows):
            cells = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
            print("  ".join((row[0].ljust(widths[0]), *cells)))
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--here", action="store_true", help="measure the environment that runs this, alone")
    parser.add_argument("--commit", default="HEAD", help="what to compare with 0.1.0 (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=7, metavar="N", help="runs of each (default: %(default)s)")
    parser.add_argument("--markdown", action="store_true", help="print tables as Markdown")
    arguments = parser.parse_args()
    environments: dict[str, Environment] = {}
    pythons = {"here": Path(sys.executable)}
    if not arguments.here:
        environments = {"0.1.0": environment_of(RELEASE), "now": environment_of(arguments.commit)}
        pythons = {name: environment.python for name, environment in environments.items()}
        rows = [
            (name, f"{environment.install_seconds:.0f}", f"{environment.megabytes:,.0f}")
            for name, environment in environments.items()
        ]
        _table(("installation", "seconds of pip install", "MB"), rows, is_markdown=arguments.markdown)
    show_times(least_seconds(pythons, arguments.rounds), is_markdown=arguments.markdown)
    show_first_models(pythons, max(1, arguments.rounds // 2), is_markdown=arguments.markdown)


if __name__ == "__main__":
    main()
