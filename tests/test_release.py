"""What is released: the wheel has all it needs, and the checks before a release find what they look for."""

import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def _script(name):
    """Return a script of tools/, which have no suffix, as a module."""
    loader = importlib.machinery.SourceFileLoader(f"tools_{name.replace('-', '_')}", str(ROOT / "tools" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Return a wheel, built as pip builds it but with the tools of this environment: there is no network.

    Its kernels are not optimized: what is in it, and that it runs, does not depend on that.
    """
    pytest.importorskip("scikit_build_core", reason="scikit-build-core is not installed: pip install '.[dev]'")
    pytest.importorskip("cmake", reason="cmake is not installed: pip install '.[dev]'")
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "CMakeLists.txt", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    options = ["--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", str(folder)]
    options.append("--config-settings=cmake.build-type=Debug")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options, str(source)], capture_output=True, text=True, cwd=folder
    )
    assert done.returncode == 0, done.stdout + done.stderr
    [path] = folder.glob("*.whl")
    return path


def test_a_wheel_is_for_the_stable_abi_and_has_no_sources_of_kernels(wheel):
    assert "-cp311-abi3-" in wheel.name
    names = ZipFile(wheel).namelist()
    assert [name for name in names if name.startswith("billhook/kernels/_native") and name.endswith((".so", ".pyd"))]
    assert not [name for name in names if name.startswith("billhook/kernels/") and name.endswith((".c", ".h"))]
    assert {"billhook/py.typed", "billhook/codegen/runtimes/c/billhook.c"} <= set(names)
    assert not [name for name in names if not name.startswith(("billhook/", f"billhook-{PROJECT['version']}."))]


def test_a_wheel_runs_the_demo_in_an_empty_environment_without_a_compiler(wheel, tmp_path):
    """The environment has the wheel, and from here only what the wheel depends on; PATH has nothing else."""
    venv.create(tmp_path / "empty")
    tools = tmp_path / "empty" / ("Scripts" if os.name == "nt" else "bin")
    python = tools / "python"
    asked = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    ZipFile(wheel).extractall(packages)
    # Of folders that are named so, Python takes packages, but no .pth: not this checkout, which is editable.
    modules = ("jinja2", "joblib", "markupsafe", "narwhals", "numpy", "rich", "scipy", "sklearn", "threadpoolctl")
    places = {str(Path(importlib.util.find_spec(name).origin).parents[1]) for name in modules}
    (packages / "dependencies.pth").write_text("\n".join(sorted(places)))
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment |= {"PATH": str(tools), "HOME": str(tmp_path)}
    program = "import billhook.cli as c, sys; print(c.__file__); sys.exit(c.main(sys.argv[1:]))"
    demo = ["fit", "--demo", "--budget", "1KB", "--trials", "1", "--out", "demo"]
    done = subprocess.run(
        [str(python), "-c", program, *demo], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(packages))
    for name in ("model.bhk", "report.html", "c/model.c", "c/selftest.c"):
        assert (tmp_path / "demo" / name).is_file(), name


def test_a_source_archive_has_what_is_tested_and_nothing_that_was_built(tmp_path):
    pytest.importorskip("scikit_build_core", reason="scikit-build-core is not installed: pip install '.[dev]'")
    program = f"from scikit_build_core.build import build_sdist; print(build_sdist({str(tmp_path)!r}))"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=True)
    [path] = tmp_path.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    assert {"README.md", "LICENSE", "src/billhook/kernels/sgd.c", "tests/conftest.py", "docs/conf.py"} <= names
    assert {"tools/install-debian-packages", "benchmarks/accuracy_picture.py", "Makefile", "CITATION.cff"} <= names
    for made in ("build/", "dist/", ".venv/", "docs/api/", "docs/gallery/", "docs/how/", "docs/ways/"):
        assert not [name for name in names if name.startswith(made)], made
    assert not [name for name in names if name.endswith((".so", ".pyc"))]


@pytest.fixture
def tree(tmp_path):
    """Return a repository that could be released as 1.2.3, and a function that commits all of it."""
    (tmp_path / "src" / "billhook").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    (tmp_path / "src" / "billhook" / "__init__.py").write_text('__version__ = "1.2.3"\n')
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 1.2.3\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.3 (2026-11-18)\n\n- x\n")

    def commit():
        identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false"]
        for command in (["add", "-A"], ["commit", "--quiet", "--message", "x"]):
            subprocess.run(["git", *identity, *command], cwd=tmp_path, check=True)

    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    commit()
    return tmp_path, commit


def test_a_tree_that_is_ready_has_no_faults(tree):
    assert _script("release").faults_of(tree[0]) == []


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("src/billhook/__init__.py", '__version__ = "1.2.2"\n', "src/billhook/__init__.py: version '1.2.2'"),
        ("CITATION.cff", "cff-version: 1.2.0\n", "CITATION.cff: version None"),
        ("CHANGELOG.md", "# Changelog\n\n## 1.2.2 (2026-11-18)\n", "the first section is '1.2.2', not '1.2.3'"),
        ("CHANGELOG.md", "# Changelog\n\n## 1.2.3 (unreleased)\n", "has no day of release"),
        ("CHANGELOG.md", "# Changelog\n", "the first section is None"),
        ("pyproject.toml", '[project]\nversion = "1.3"\n', "version '1.3' is not of the form 1.2.3"),
    ],
)
def test_a_fault_is_named(tree, name, text, fault):
    folder, commit = tree
    (folder / name).write_text(text)
    commit()
    assert fault in "\n".join(_script("release").faults_of(folder))


def test_what_is_not_committed_and_a_tag_that_is_there_are_faults(tree):
    folder, _ = tree
    (folder / "new.txt").write_text("x")
    subprocess.run(["git", "tag", "v1.2.3"], cwd=folder, check=True)
    found = "\n".join(_script("release").faults_of(folder))
    assert "not committed: 1 files, such as new.txt" in found
    assert "there is a tag v1.2.3 already" in found


def test_the_version_is_the_same_wherever_it_stands():
    assert [fault for fault in _script("release").version_faults(ROOT) if "there is a tag" not in fault] == []


def test_the_oldest_versions_are_the_lower_bounds():
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "oldest-versions"), "study"], capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert any(line.startswith("numpy==") for line in lines)
    assert any(line.startswith("pandas==") for line in lines)
    assert len(lines) >= len(PROJECT["dependencies"])


def test_an_extra_that_is_not_there_is_refused_by_name():
    command = [sys.executable, str(ROOT / "tools" / "oldest-versions"), "studdy"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "no extra 'studdy'" in done.stderr


@pytest.mark.parametrize("extra", sorted(PROJECT["optional-dependencies"]))
def test_every_requirement_has_a_lower_bound(extra):
    """`llvmlite<0.45` has none, since lleaves says which."""
    for text in PROJECT["optional-dependencies"][extra]:
        assert ">=" in text or text.startswith("llvmlite"), text


def test_hooks_are_the_checks_of_make_lint():
    lint = (ROOT / "Makefile").read_text().split("\nlint: ")[1].split("\n\n")[0]
    commands = [line.replace("$(BIN)/", ".venv/bin/").strip() for line in lint.splitlines()[1:]]
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    assert len(commands) == hooks.count("- id:")
    for command in commands:
        assert f"entry: {command}\n" in hooks, command
