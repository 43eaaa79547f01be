"""The crate that reads blobs: the same scores as in Python, and no blob on which it panics."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import billhook as bh
from blob_answers import OTHER_ROWS, REFUSED, Answers, answers, mutated, questions
from blob_models import MODELS, blob_model

HERE = Path(__file__).parent
CRATE = Path(bh.__file__).parent / "codegen" / "runtimes" / "rust"


def cargo(*arguments, folder):
    """Run cargo in a folder, and return what it prints."""
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed: make toolchains")
    command = ["cargo", *arguments, "--offline", "--quiet"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
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
