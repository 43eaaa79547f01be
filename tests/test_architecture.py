"""The rules of the folders, for every folder there will be; the order of imports is import-linter's business."""

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "billhook"
MODULES = sorted(SOURCE.rglob("*.py"))


def imports_of(path):
    """Return the absolute names of all that a module imports, functions' own imports included."""
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_kernels_import_the_compiler(path):
    if path.parent != SOURCE / "kernels":
        assert not [name for name in imports_of(path) if name.partition(".")[0] in ("numba", "llvmlite")]


@pytest.mark.parametrize("path", sorted((SOURCE / "kernels").glob("_[a-z]*.py")), ids=lambda path: path.name)
def test_a_kernel_calls_only_kernels_of_its_own_file(path):
    """The compiler's cache is as old as the file of the caller: a change of a callee elsewhere would go unseen."""
    own = [name for name in imports_of(path) if name.startswith("billhook")]
    assert set(own) <= {"billhook.kernels._compile.compiled"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_nothing_private_is_imported_from_other_packages(path):
    for name in imports_of(path):
        package, *inner = name.split(".")
        if package not in ("billhook", "__future__"):
            assert not [part for part in inner if part.startswith("_")], name


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_can_be_read_in_one_sitting(path):
    assert len(path.read_text().splitlines()) <= 450


def test_the_import_contract_has_every_folder_in_the_order_data_flows():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [layer.strip("()") for layer in contracts[0]["layers"]]
    assert layers[::-1] == [
        "kernels",
        "_files : _checks : _interruption : _types",
        "forest",
        "tables",
        "interop",
        "pruning",
        "refinement",
        "packing",
        "codegen",
        "datasets",
        "cluster",
        "html",
        "budget",
        "estimators",
        "analysis",
        "study",
        "cli",
    ]
    assert contracts[0]["exhaustive"]  # a folder that is not in the list fails the contract
