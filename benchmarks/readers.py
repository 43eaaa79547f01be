"""Reading models of other libraries: how long, how much memory, and with which versions of the libraries.

    python benchmarks/readers.py                      # models of 1,000 trees x 1,000 leaves, by library
    python benchmarks/readers.py --trees 100          # smaller ones
    python benchmarks/readers.py --versions           # the tests of each reader with its oldest and newest library
    python benchmarks/readers.py --versions lightgbm  # of one

Time is that of the processor: of `bh.load`, and of the library's own load where it has one. Memory is by how much the
process grew at most while it read the file, whatever took it, the bytes of the file included: over the arrays of the
finished Forest, and over the file; Linux only. Each is measured in a new process, after a small model of the same
kind, with what is imported for it. Versions are installed in environments of their own (build/environments); the
tests of the reader must pass in them.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from environments import FOLDER, ROOT, environment_variables

import billhook as bh

MEGABYTE = 1_000_000
# The oldest version that is supported, and what else it needs to run with the oldest of the others.
OLDEST = {
    "sklearn": ("scikit-learn==1.6.1",),
    "lightgbm": ("lightgbm==4.6.0",),
    "catboost": ("catboost==1.2.8",),
    "xgboost": ("xgboost-cpu==3.0.0",),
    "onnx": ("onnx==1.17.0", "onnxruntime==1.20.0"),
    "treelite": ("treelite==4.3.0",),
    "ydf": ("ydf==0.15.0",),
}
NEWEST = {
    "sklearn": ("scikit-learn",),
    "lightgbm": ("lightgbm",),
    "catboost": ("catboost",),
    "xgboost": ("xgboost-cpu",),
    "onnx": ("onnx", "onnxruntime"),
    "treelite": ("treelite",),
    "ydf": ("ydf",),
}

# Tests of a reader that are not named after its library.
ALSO = {"sklearn": ("test_hist_categories.py", "test_isolation.py", "test_pipelines.py")}
# Of old libraries beside new ones: LightGBM 4.6 gives arrays names, and then warns of arrays without; scikit-learn
# 1.6 fits with options that SciPy has deprecated, and with squares that NumPy now warns of.
EXPECTED_WARNINGS = (
    "X does not have valid feature names:UserWarning",
    "scipy.optimize:DeprecationWarning",
    "overflow encountered in square:RuntimeWarning",
)

# What a process that measures runs: the code on a small file, and then on the large one.
MEASURE = """
import json, re, resource, sys
from pathlib import Path

def seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in used)

def resident(name):
    found = re.search(name + r":\\s+(\\d+) kB", Path("/proc/self/status").read_text())
    return 1024 * int(found[1]) if found else 0

code, large, small = sys.argv[1:]
exec(code, {"path": small})
before, start = resident("VmRSS"), seconds()
scope = {"path": large}
exec(code, scope)
print(json.dumps([seconds() - start, resident("VmHWM") - before, getattr(scope.get("result"), "nbytes", 0)]))
"""


class LargeModel(NamedTuple):
    """How a library writes a model to a file, and how it reads it: code in which `path` is the file."""

    name: str
    save: Callable[[Path], Any]
    own_load: str


class Reading(NamedTuple):
    """What it took to read a file: seconds of the processor, bytes that the process grew by, bytes of the Forest."""

    seconds: float
    grown: int
    n_bytes: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, default=1000)
    parser.add_argument("--leaves", type=int, default=1000)
    parser.add_argument("--versions", nargs="*", metavar="LIBRARY", help="test oldest and newest versions instead")
    arguments = parser.parse_args()
    if arguments.versions is not None:
        try_versions(arguments.versions or list(OLDEST))
        return
    heads = "".join(f"{head:>11}" for head in ("file", "Forest", "bh.load", "its own", "x Forest", "x file"))
    print(f"{'model':<36}{heads}")
    small = {large.name: large for large in models(2, 4)}
    for large in models(arguments.trees, arguments.leaves):
        print(line(large, small[large.name]), flush=True)


def models(n_trees: int, n_leaves: int) -> Iterator[LargeModel]:
    """Fit a large model of each library to noise, which takes as many leaves as it may."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 20)).astype(np.float32)
    y = rng.normal(size=len(X))

    import lightgbm

    options = {"num_leaves": n_leaves, "min_child_samples": 1, "verbose": -1, "n_jobs": -1}
    fitted = lightgbm.LGBMRegressor(n_estimators=n_trees, **options).fit(X, y)
    own = "import lightgbm; lightgbm.Booster(model_file=path)"
    yield LargeModel("LightGBM, text", lambda path: fitted.booster_.save_model(path), own)
    dumped = fitted.booster_.dump_model(num_iteration=max(n_trees // 10, 1))
    yield LargeModel("LightGBM, JSON, a tenth", lambda path: path.write_text(json.dumps(dumped)), "")

    import xgboost

    options = {"max_leaves": n_leaves, "max_depth": 0, "grow_policy": "lossguide", "tree_method": "hist"}
    grown = xgboost.XGBRegressor(n_estimators=n_trees, min_child_weight=0, **options).fit(X, y)
    own = "import xgboost; xgboost.Booster().load_model(bytearray(open(path, 'rb').read()))"
    for kind, name in (("json", "XGBoost, JSON"), ("ubj", "XGBoost, UBJSON")):
        raw = grown.get_booster().save_raw(kind)
        yield LargeModel(name, lambda path, raw=raw: path.write_bytes(raw), own)

    import catboost

    depth = int(np.ceil(np.log2(n_leaves)))
    quiet = {"verbose": False, "allow_writing_files": False}
    boosted = catboost.CatBoostRegressor(n_estimators=n_trees, depth=depth, **quiet).fit(X, y)
    loose = catboost.CatBoostRegressor(
        n_estimators=max(n_trees // 10, 1), max_leaves=n_leaves, depth=16, grow_policy="Lossguide", **quiet
    ).fit(X, y)
    # It grows such trees slowly, and so the same ones come ten times.
    tenfold = catboost.sum_models([loose] * (10 if n_trees >= 10 else 1))
    for model, ending, name in (
        (boosted, "json", "CatBoost, JSON"),
        (boosted, "cbm", "CatBoost, binary"),
        (loose, "json", "CatBoost, JSON, lossguide, a tenth"),
        (tenfold, "cbm", "CatBoost, binary, lossguide"),
    ):
        own = f"import catboost; catboost.CatBoost().load_model(path, format={ending!r})"
        save = partial(model.save_model, format=ending)
        yield LargeModel(name, lambda path, save=save: save(str(path)), own)

    forest = bh.as_forest(fitted)
    exported = bh.to_treelite(forest)
    own = "import treelite; treelite.Model.deserialize(path)"
    yield LargeModel("treelite", lambda path: exported.serialize(str(path)), own)
    onnx_model = bh.to_onnx(forest)
    own = "import onnxruntime; onnxruntime.InferenceSession(path)"
    yield LargeModel("ONNX", lambda path: path.write_bytes(onnx_model.SerializeToString()), own)


def line(large: LargeModel, small: LargeModel) -> str:
    """Read the file of a model, and say what that took."""
    with tempfile.TemporaryDirectory() as folder:
        path, warm_up = Path(folder) / "model", Path(folder) / "small"
        large.save(path)
        small.save(warm_up)
        n_bytes = path.stat().st_size
        ours = reading("import billhook; result = billhook.load(path)", path, warm_up)
        own = reading(large.own_load, path, warm_up) if large.own_load else None
    sizes = f"{n_bytes / MEGABYTE:>8.1f} MB{ours.n_bytes / MEGABYTE:>8.1f} MB"
    seconds = f"{ours.seconds:>9.2f} s" + (f"{own.seconds:>9.2f} s" if own else f"{'':>11}")
    return f"{large.name:<36}{sizes}{seconds}{ours.grown / ours.n_bytes:>11.1f}{ours.grown / n_bytes:>11.1f}"


def reading(code: str, path: Path, warm_up: Path) -> Reading:
    """Run code that reads a file, in a process of its own."""
    measured = subprocess.run(
        [sys.executable, "-c", MEASURE, code, str(path), str(warm_up)], check=True, capture_output=True, text=True
    )
    return Reading(*json.loads(measured.stdout.splitlines()[-1]))


def try_versions(libraries: list[str]) -> None:
    """Run the tests of readers in environments with the oldest and the newest version of their library."""
    failed = []
    for library in libraries:
        for age, packages in (("oldest", OLDEST[library]), ("newest", NEWEST[library])):
            python = environment_with(library, age, packages)
            # The tests in the source tree import the installed Billhook: no path leads to its source.
            folder = ROOT / "tests" / "interop"
            names = (f"test_{library}*.py", f"test_to_{library}.py", *ALSO.get(library, ()))
            tests = sorted(str(path) for name in names for path in folder.glob(name))
            quiet = [word for warning in EXPECTED_WARNINGS for word in ("-W", f"ignore:{warning}")]
            command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *quiet, *tests]
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
        needed = ["pytest", "hypothesis", "matplotlib", "pandas", "polars", "pyarrow", *packages]
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
