import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np

import billhook as bh
from made_up import random_forest

HEAVY = (
    "matplotlib",
    "pandas",
    "xgboost",
    "dask",
    "distributed",
    "scipy.special",
    "sklearn",
    "onnx",
    "lightgbm",
    "treelite",
    "pyarrow",
    "rich",
    "jinja2",
)


def test_importing_billhook_imports_nothing_heavy():
    code = "import billhook, sys; print(*sys.modules)"
    imported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "billhook" in imported
    assert not set(HEAVY) & set(imported)


def test_a_saved_model_predicts_without_what_it_was_learned_with(tmp_path):
    forest = random_forest(np.random.default_rng(0), thresholds=np.linspace(-1.0, 1.0, 9))
    forest.save(tmp_path / "forest.bhk")
    bh.pack(forest).save(tmp_path / "packed.bhk")
    code = """if True:
        import sys
        import numpy as np
        import billhook as bh
        for name in sys.argv[1:]:
            model = bh.load(name)
            print(*model.predict(np.zeros((2, model.n_features), np.float32)))
        print(*sys.modules)
    """
    command = [sys.executable, "-c", code, tmp_path / "forest.bhk", tmp_path / "packed.bhk"]
    *answers, imported = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    expected = forest.predict(np.zeros((2, forest.n_features), np.float32))
    assert answers == [" ".join(map(str, expected))] * 2
    assert not set(HEAVY) & set(imported.split())


def test_importing_billhook_takes_less_than_a_second():
    """Of the processor, so that a busy machine changes little; the best of five, each in a process of its own.

    It is far less: only a heavy import can reach a second.
    """
    code = "import time; t = time.process_time(); import billhook; print(time.process_time() - t)"
    times = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(5)
    ]
    assert min(times) < 1.0, times


def test_the_version_is_the_projects():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert bh.__version__ == project["version"]


def test_every_module_can_be_imported_where_there_is_no_unix():
    code = """if True:
        import importlib, pkgutil, sys
        for name in ("fcntl", "resource", "pwd", "grp", "termios"):
            sys.modules[name] = None  # importing it is an error
        import billhook
        for module in pkgutil.walk_packages(billhook.__path__, "billhook."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
                print(module.name)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    root = Path(bh.__file__).parents[1]
    modules = {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        for path in (root / "billhook").rglob("*.py")
        if "runtimes" not in path.parts  # what is written for others, to run elsewhere
    }
    assert set(done.stdout.split()) >= modules - {"billhook", "billhook.__main__"}  # and the compiled one


TABLES = {
    "loans.csv": ("repaid", "age,job,repaid\n" + "25,nurse,no\n,clerk,yes\n61,?,yes\n33,driver,no\n" * 30),
    "flowers.arff": (
        "kind",
        "@relation flowers\n@attribute width numeric\n@attribute kind {rose,tulip,lily}\n@data\n"
        + "1.5,rose\n2.5,tulip\n3.5,lily\n" * 30,
    ),
    "prices.tsv": ("price", "size\tprice\n" + "".join(f"{k}\t{1.5 * k + 0.25}\n" for k in range(90))),
}


def test_tables_are_learned_from_without_any_extra(tmp_path):
    """As after `pip install billhook`: what its extras name cannot be imported."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    names = {re.match(r"[\w.-]+", line)[0] for group in project["optional-dependencies"].values() for line in group}
    extras = {"xgboost" if name == "xgboost-cpu" else name.replace("-", "_") for name in names}
    assert {"xgboost", "pandas", "pyarrow", "dask", "lightgbm"} <= extras
    code = """if True:
        import sys
        sys.modules.update(dict.fromkeys(sys.argv.pop(1).split()))  # None: an import raises ImportError
        from billhook.cli import start
        sys.exit(start())
    """
    for name, (label, text) in TABLES.items():
        (tmp_path / name).write_text(text)
        words = [
            "fit",
            tmp_path / name,
            "--label",
            label,
            "--budget",
            "300",
            "--trials",
            "2",
            "--out",
            tmp_path / "out",
        ]
        command = [sys.executable, "-c", code, " ".join(extras), *words, "--force"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert f"{name}: " in done.stdout
        assert (tmp_path / "out" / "model.bhk").stat().st_size > 0
