"""Reading models of other libraries: how long, how much memory, and with which versions of the libraries.

    python benchmarks/readers.py                      # models of 1,000 trees x 1,000 leaves, by library
    python benchmarks/readers.py --trees 100          # smaller ones
    python benchmarks/readers.py --versions           # the tests of each reader with its oldest and newest library
    python benchmarks/readers.py --versions lightgbm  # of one

Time is that of the processor, in the reader alone: from the fitted model to the Forest, and from a file where there
is one. Memory is the most that Python and NumPy held while reading, over the size of the model's own text or bytes.
Versions are installed in environments of their own (build/environments); the tests of the reader must pass in them.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from environments import FOLDER, ROOT, environment_variables

import billhook as bh

MEGABYTE = 1_000_000
# The oldest version that is supported, and what else it needs to run with the oldest of the others.
OLDEST = {
    "lightgbm": ("lightgbm==4.6.0",),
    "catboost": ("catboost==1.2.8",),
    "xgboost": ("xgboost-cpu==3.0.0",),
    "onnx": ("onnx==1.17.0", "onnxruntime==1.20.0"),
    "treelite": ("treelite==4.3.0",),
    "ydf": ("ydf==0.11.0",),
}
NEWEST = {
    "lightgbm": ("lightgbm",),
    "catboost": ("catboost",),
    "xgboost": ("xgboost-cpu",),
    "onnx": ("onnx", "onnxruntime"),
    "treelite": ("treelite",),
    "ydf": ("ydf",),
}


class LargeModel(NamedTuple):
    """A fitted model, and how its library writes it to a file."""

    name: str
    model: Any
    save: Callable[[Path], Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, default=1000)
    parser.add_argument("--leaves", type=int, default=1000)
    parser.add_argument("--versions", nargs="*", metavar="LIBRARY", help="test oldest and newest versions instead")
    arguments = parser.parse_args()
    if arguments.versions is not None:
        try_versions(arguments.versions or list(OLDEST))
        return
    print(f"{'library':<28}{'model':>10}{'fitted':>9}{'file':>9}{'memory':>9}")
    for large in models(arguments.trees, arguments.leaves):
        print(line(large), flush=True)


def models(n_trees: int, n_leaves: int) -> Iterator[LargeModel]:
    """Fit a large model of each library to noise, which takes as many leaves as it may."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 20)).astype(np.float32)
    y = rng.normal(size=len(X))

    import lightgbm

    options = {"num_leaves": n_leaves, "min_child_samples": 1, "verbose": -1, "n_jobs": -1}
    fitted = lightgbm.LGBMRegressor(n_estimators=n_trees, **options).fit(X, y)
    yield LargeModel("LightGBM, text", fitted, lambda path: fitted.booster_.save_model(path))

    import xgboost

    options = {"max_leaves": n_leaves, "max_depth": 0, "grow_policy": "lossguide", "tree_method": "hist"}
    grown = xgboost.XGBRegressor(n_estimators=n_trees, min_child_weight=0, **options).fit(X, y)
    yield LargeModel("XGBoost, JSON", grown, lambda path: path.write_bytes(grown.get_booster().save_raw("json")))
    yield LargeModel("XGBoost, UBJSON", grown, lambda path: path.write_bytes(grown.get_booster().save_raw("ubj")))

    import catboost

    depth = int(np.ceil(np.log2(n_leaves)))
    quiet = {"verbose": False, "allow_writing_files": False}
    boosted = catboost.CatBoostRegressor(n_estimators=n_trees, depth=depth, **quiet).fit(X, y)
    yield LargeModel("CatBoost, JSON", boosted, lambda path: boosted.save_model(str(path), format="json"))
    yield LargeModel("CatBoost, binary", boosted, lambda path: boosted.save_model(str(path), format="cbm"))

    forest = bh.as_forest(fitted)
    exported = bh.to_treelite(forest)
    yield LargeModel("treelite", exported, lambda path: exported.serialize(str(path)))
    onnx_model = bh.to_onnx(forest)
    yield LargeModel("ONNX", onnx_model, lambda path: path.write_bytes(onnx_model.SerializeToString()))


def line(large: LargeModel) -> str:
    """Read a model, and its file, and say what that took."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        large.save(path)
        n_bytes = path.stat().st_size
        seconds = [timed(lambda: bh.as_forest(large.model)), timed(lambda: bh.load(path))]
        tracemalloc.start()
        bh.load(path)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    taken = f"{seconds[0]:>7.2f} s{seconds[1]:>7.2f} s{most / n_bytes:>7.1f} x"
    return f"{large.name:<28}{n_bytes / MEGABYTE:>7.1f} MB{taken}"


def timed(read: Callable[[], Any]) -> float:
    """Return the seconds of the processor that a call takes."""
    start = time.process_time()
    read()
    return time.process_time() - start


def try_versions(libraries: list[str]) -> None:
    """Run the tests of readers in environments with the oldest and the newest version of their library."""
    failed = []
    for library in libraries:
        for age, packages in (("oldest", OLDEST[library]), ("newest", NEWEST[library])):
            python = environment_with(library, age, packages)
            # The tests in the source tree import the installed Billhook: no path leads to its source.
            folder = ROOT / "tests" / "interop"
            names = (f"test_{library}*.py", f"test_to_{library}.py")
            tests = sorted(str(path) for name in names for path in folder.glob(name))
            command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
            done = subprocess.run(command, cwd=ROOT, env=environment_variables(), capture_output=True, text=True)
            print(
                f"{library:<10}{age:<8}{version(python, packages[0]):<14}{done.stdout.strip().splitlines()[-1]}",
                flush=True,
            )
            if done.returncode:
                print(done.stdout, done.stderr, file=sys.stderr)
                failed.append(f"{library} {age}")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def environment_with(library: str, age: str, packages: tuple[str, ...]) -> Path:
    """Return the Python of an environment with these versions, made if it is not there."""
    folder = FOLDER / f"{library}-{age}"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    done = folder / "installed"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        needed = ["pytest", "hypothesis", "pandas", "polars", "pyarrow", *packages]
        subprocess.run([python, "-m", "pip", "install", "--quiet", wheel(), *needed], check=True)
        done.touch()
    return python


@cache
def wheel() -> Path:
    """Return a wheel of Billhook as it is now, built once for all environments."""
    folder = FOLDER / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT], check=True)
    return next(folder.glob("*.whl"))


def version(python: Path, requirement: str) -> str:
    """Return the version of a package that is installed."""
    name = requirement.partition("==")[0]
    code = f"from importlib.metadata import version; print(version({name!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
