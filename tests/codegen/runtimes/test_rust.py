"""The crate that reads blobs: the same scores as in Python, and no blob on which it panics."""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import billhook as bh
from billhook.codegen._runtime_rust import MODULES
from blob_answers import (
    OTHER_ROWS,
    REFUSED,
    Answers,
    answers,
    impossible_blobs,
    largest_sums,
    made_up_models,
    mutated,
    questions,
)
from blob_models import MODELS, blob_model

HERE = Path(__file__).parent
CRATE = Path(bh.__file__).parent / "codegen" / "runtimes" / "rust"


# Of each model; in Python only every so many are tried, since that takes longer.
N_MADE_UP, EVERY = 150, 12


@cache
def path_with_cargo():
    """Return a PATH whose first cargo works: that of rustup does not where there is no toolchain in the home."""
    folders = os.environ["PATH"].split(os.pathsep)
    for folder in folders:
        found = shutil.which("cargo", path=folder)
        if found and subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0:
            return os.pathsep.join([folder, *folders])
    return None


def cargo(*arguments, folder, after=()):
    """Run cargo in a folder, and return what it prints."""
    path = path_with_cargo()
    if path is None:
        pytest.skip("cargo is not installed: make toolchains")
    command = ["cargo", *arguments, "--offline", "--quiet", *after]
    where = os.environ | {"PATH": path}
    done = subprocess.run(command, cwd=folder, env=where, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    """Return a folder with a copy of the crate, since cargo writes beside what it compiles."""
    folder = tmp_path_factory.mktemp("rust")
    shutil.copytree(CRATE, folder / "billhook")
    shutil.copytree(HERE / "answers", folder / "answers")
    return folder


@pytest.fixture(scope="module")
def ask(workshop):
    """Return a function from blobs with rows to what the crate answers."""
    cargo("build", folder=workshop / "answers")
    program = workshop / "answers" / "target" / "debug" / "answers"

    def run(cases):
        done = subprocess.run([program], input=questions(cases), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return answers(done.stdout, cases)

    return run


def test_the_crate_passes_its_own_tests(workshop):
    cargo("test", folder=workshop / "billhook")


def test_the_crate_depends_on_nothing_and_is_safe():
    assert "dependencies" not in (CRATE / "Cargo.toml").read_text()
    source = (CRATE / "src" / "lib.rs").read_text()
    assert "#![no_std]" in source
    assert "#![forbid(unsafe_code)]" in source
    for path in (CRATE / "src").glob("*.rs"):
        program = path.read_text().partition("#[cfg(test)]")[0]
        assert not [word for word in ("panic!", ".unwrap()", ".expect(", "unsafe {") if word in program], path.name


@pytest.mark.parametrize("level", ["s", "3"])
def test_nothing_in_a_release_can_panic(workshop, level):
    """The compiler has found that what could panic is never reached, or there would be a call."""
    target = workshop / f"release {level}"
    options = ("--", "--emit=asm", "-C", "codegen-units=1", "-C", f"opt-level={level}")
    cargo("rustc", "--release", "--lib", "--target-dir", str(target), folder=workshop / "billhook", after=options)
    (assembly,) = target.glob("release/deps/*.s")
    text = assembly.read_text()
    assert "billhook" in text
    assert not re.findall(r"panic\w*|slice_index\w*|unwrap_failed|expect_failed", text)


def test_rust_scores_forests_of_any_shape_as_python(ask):
    models = made_up_models(60)
    for (packed, rows), answer in zip(models, ask([(p.to_bytes(), rows) for p, rows in models]), strict=True):
        np.testing.assert_array_equal(answer.scores, packed.scores(rows))


@pytest.mark.parametrize("name", MODELS)
def test_rust_answers_as_python(ask, name):
    packed, rows = blob_model(name)
    for names in (True, False):
        (answered,) = ask([(packed.to_bytes(names=names), rows)])
        np.testing.assert_array_equal(answered.scores, packed.scores(rows))
        predicted = packed.predict(rows)
        if packed.classes is None:
            np.testing.assert_allclose(answered.predicted, predicted, rtol=1e-6, atol=1e-6)
        else:
            np.testing.assert_array_equal(packed.classes[answered.predicted], predicted)
            np.testing.assert_allclose(answered.probability, packed.predict_proba(rows), rtol=1e-6, atol=1e-6)


def test_sums_of_projections_that_just_fit_are_computed(ask):
    for (blob, rows), answer in zip(largest_sums(), ask(largest_sums()), strict=True):
        np.testing.assert_array_equal(answer.scores, bh.Packed.from_bytes(blob).scores(rows))


def test_no_made_up_blob_makes_it_panic(ask):
    """Whatever Python takes is taken too, with the same scores; what is more is not known to be wrong."""
    rng = np.random.default_rng(0)
    models = [blob_model(name) for name in MODELS]
    cases = [(mutated(packed, rng), rows[:2]) for packed, rows in models for _ in range(N_MADE_UP)]
    answered = ask(cases)
    for number, ((blob, rows), answer) in enumerate(zip(cases, answered, strict=True)):
        if number % EVERY:
            continue
        try:
            packed = bh.Packed.from_bytes(blob)
        except bh.ModelFileError:
            continue
        assert answer != REFUSED
        if answer != OTHER_ROWS:
            np.testing.assert_array_equal(answer.scores, packed.scores(rows))
    assert sum(isinstance(answer, Answers) for answer in answered) > len(cases) / 10


def test_what_is_wrong_with_a_blob_is_said(ask):
    packed, rows = blob_model("ranks")
    blob = packed.to_bytes(names=False)
    wrong = [b"", b"BHM", b"BHM\x01", blob[:-1], blob[:3] + b"\x02" + blob[4:], blob[:30] + b"?" + blob[31:]]
    assert ask([(blob, rows) for blob in wrong]) == [REFUSED] * len(wrong)


def test_fields_that_cannot_be_are_refused(ask):
    blobs = impossible_blobs()
    assert dict(zip(blobs, ask(list(blobs.values())), strict=True)) == dict.fromkeys(blobs, REFUSED)


@pytest.mark.parametrize("name", ["counts", "gaps, 3", "one leaf", "projections, 10 bits"])
def test_an_emitted_crate_passes_its_tests(name, tmp_path):
    packed, _ = blob_model(name)
    files = bh.emit(packed, tmp_path / "crate", runtime="rust", name="my model")
    assert bh.load(tmp_path / "crate" / "my_model.bhm") == packed
    assert {"Cargo.toml", "README.md", "my_model.bhm", "predict.rs", "model.rs"} <= {file.name for file in files}
    cargo("test", folder=tmp_path / "crate")


@pytest.mark.parametrize(("name", "what"), [("counts", "a number"), ("gaps, 3", "one of 3 classes")])
def test_an_emitted_readme_says_what_is_predicted(name, what, tmp_path):
    packed, _ = blob_model(name)
    assert (packed.classes is None) == (what == "a number")
    bh.emit(packed, tmp_path / "crate", runtime="rust")
    text = " ".join((tmp_path / "crate" / "README.md").read_text().split())
    assert what in text
    assert "one of 1 classes" not in text


def test_the_emitted_example_prints_the_label(tmp_path):
    X, y = load_iris(return_X_y=True)
    labels = np.array(['a "b"', "ç\\", "plain"])[y]
    forest = RandomForestClassifier(4, max_leaf_nodes=8, random_state=0).fit(X, labels)
    bh.emit(forest, tmp_path / "crate", runtime="rust", X=X)
    row = X[100]
    said = cargo("run", "--example", "predict", folder=tmp_path / "crate", after=("--", *map(str, row)))
    assert said.strip() == bh.pack(forest).predict(row[None])[0]


def test_the_emitted_example_says_what_is_no_number(tmp_path):
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(2, max_leaf_nodes=4, random_state=0).fit(X, y)
    bh.emit(forest, tmp_path / "crate", runtime="rust")
    with pytest.raises(AssertionError, match=r"1,5.* is not a number"):
        cargo("run", "--example", "predict", folder=tmp_path / "crate", after=("--", "5.1", "1,5", "3", "1"))
    with pytest.raises(AssertionError, match="a row must have 4 features"):
        cargo("run", "--example", "predict", folder=tmp_path / "crate", after=("--", "5.1", "1.5", "3"))


def test_nothing_newer_than_rustc_1_63_is_used(workshop):
    """Of the standard library, as clippy knows it."""
    path = path_with_cargo()
    if path is None or shutil.which("cargo-clippy", path=path) is None:
        pytest.skip("cargo clippy is not installed: rustup component add clippy")
    options = ("--", "-A", "warnings", "-D", "clippy::incompatible_msrv")
    cargo("clippy", "--all-targets", folder=workshop / "billhook", after=options)


def test_all_modules_of_the_crate_are_emitted():
    assert sorted(MODULES) == sorted(path.stem for path in (CRATE / "src").glob("*.rs"))
