"""The module for MicroPython: the same scores as in Python, in MicroPython and in CPython."""

import importlib.util
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import billhook as bh
from billhook.codegen._runtime_micropython import micropython_module
from billhook.codegen._shorten import shorten
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
from blob_models import MODELS, blob_model, rounding_down
from micropython import run_micropython

HERE = Path(__file__).parent
READABLE = Path(bh.__file__).parent / "codegen" / "runtimes" / "micropython" / "billhook.py"
# Of each model; in Python only every so many are tried, since that takes longer.
N_MADE_UP, EVERY = 30, 6
# Without the packages that are installed, one of which has the same name.
HERE_ALONE = (sys.executable, "-S")
SCRIPT = "import sys\nsys.path.insert(0, '{folder}')\nimport answers\nanswers.main('{questions}', '{answers}')\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the module as it is emitted, and the script that asks it."""
    folder = tmp_path_factory.mktemp("micropython")
    (folder / "billhook.py").write_text(micropython_module())
    (folder / "answers.py").write_text((HERE / "answers.py").read_text())
    return folder


def in_micropython(cases, folder):
    """Return what the module answers in MicroPython."""
    (folder / "questions.bin").write_bytes(questions(cases))
    script, into = folder / "script.py", folder / "answers.bin"
    script.write_text(SCRIPT.format(folder="/", questions="/questions.bin", answers="/answers.bin"))
    files = [folder / name for name in ("billhook.py", "answers.py", "questions.bin")]
    run_micropython(script, *files, into=into)
    return answers(into.read_bytes(), cases)


def in_cpython(cases, folder):
    """Return what the module answers in the Python that runs this."""
    (folder / "questions.bin").write_bytes(questions(cases))
    script = SCRIPT.format(folder=folder, questions=folder / "questions.bin", answers=folder / "answers.bin")
    subprocess.run([*HERE_ALONE, "-c", script], check=True)
    return answers((folder / "answers.bin").read_bytes(), cases)


PYTHONS = {"micropython": in_micropython, "cpython": in_cpython}


@pytest.fixture(scope="module", params=PYTHONS)
def answered(request, folder):
    """Return what the module answers about all models, with and without names."""
    cases = {
        (name, names): (blob_model(name)[0].to_bytes(names=names), blob_model(name)[1])
        for name in MODELS
        for names in (True, False)
    }
    said = PYTHONS[request.param](list(cases.values()), folder)
    return dict(zip(cases, said, strict=True))


@pytest.mark.parametrize("name", MODELS)
def test_micropython_answers_as_python(answered, name):
    packed, rows = blob_model(name)
    for names in (True, False):
        answer = answered[name, names]
        np.testing.assert_array_equal(answer.scores, packed.scores(rows))
        predicted = packed.predict(rows)
        if packed.classes is None:
            np.testing.assert_allclose(answer.predicted, predicted, rtol=1e-6, atol=1e-6)
        else:
            np.testing.assert_array_equal(packed.classes[answer.predicted], predicted)
            np.testing.assert_allclose(answer.probability, packed.predict_proba(rows), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("python", PYTHONS)
def test_micropython_scores_forests_of_any_shape_as_python(python, folder):
    models = made_up_models(60)
    said = PYTHONS[python]([(packed.to_bytes(), rows) for packed, rows in models], folder)
    for (packed, rows), answer in zip(models, said, strict=True):
        np.testing.assert_array_equal(answer.scores, packed.scores(rows))


@pytest.mark.parametrize("python", PYTHONS)
def test_sums_of_projections_that_just_fit_are_computed(python, folder):
    for (blob, rows), answer in zip(largest_sums(), PYTHONS[python](largest_sums(), folder), strict=True):
        np.testing.assert_array_equal(answer.scores, bh.Packed.from_bytes(blob).scores(rows))


def test_the_module_takes_six_kilobytes_at_most():
    assert len(micropython_module().encode()) <= 6 * 1024


def test_what_is_made_up_is_an_error_or_a_model(folder):
    rng = np.random.default_rng(0)
    models = [blob_model(name) for name in MODELS]
    cases = [(mutated(packed, rng), rows[:2]) for packed, rows in models for _ in range(N_MADE_UP)]
    found = in_cpython(cases, folder)
    for number, ((blob, rows), answer) in enumerate(zip(cases, found, strict=True)):
        if number % EVERY:
            continue
        try:
            packed = bh.Packed.from_bytes(blob)
        except bh.ModelFileError:
            continue
        assert answer != REFUSED
        if answer != OTHER_ROWS:
            np.testing.assert_array_equal(answer.scores, packed.scores(rows))
    assert sum(isinstance(answer, Answers) for answer in found) > len(cases) / 10


@pytest.mark.parametrize("python", PYTHONS)
def test_fields_that_cannot_be_are_refused(python, folder):
    blobs = impossible_blobs()
    said = PYTHONS[python](list(blobs.values()), folder)
    assert dict(zip(blobs, said, strict=True)) == dict.fromkeys(blobs, REFUSED)


@pytest.fixture(scope="module")
def readable():
    """Return the module as it stands in the source."""
    found = importlib.util.spec_from_file_location("billhook_for_devices", READABLE)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_readable_module_reads_files_and_bytes(readable, tmp_path):
    X, y = load_iris(return_X_y=True)
    labels = np.array(["one", "two", "thrée"])[y]
    packed = bh.pack(RandomForestClassifier(4, max_leaf_nodes=8, random_state=0).fit(X, labels))
    (tmp_path / "model.bhm").write_bytes(packed.to_bytes())
    for given in (str(tmp_path / "model.bhm"), packed.to_bytes(), bytearray(packed.to_bytes())):
        model = readable.load(given)
        assert model.classes == packed.classes.tolist()
        assert [model.predict(row) for row in X[::10].tolist()] == packed.predict(X[::10]).tolist()
    with pytest.raises(ValueError, match="a row has 4 numbers"):
        model.predict([1.0])


@pytest.mark.parametrize("name", MODELS)
def test_the_readable_module_answers_as_python(readable, name):
    packed, rows = blob_model(name)
    model = readable.load(packed.to_bytes())
    rows = rows[:12]
    assert [list(model.scores(row)) for row in rows.tolist()] == packed.scores(rows).tolist()
    predicted = [model.predict(row) for row in rows.tolist()]
    if packed.classes is None:
        np.testing.assert_allclose(predicted, packed.predict(rows), rtol=1e-6, atol=1e-6)
    else:
        assert predicted == packed.predict(rows).tolist()
        probability = [model.predict_proba(row) for row in rows.tolist()]
        np.testing.assert_allclose(probability, packed.predict_proba(rows), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda _: b"", "no blob of version 1"),
        (lambda blob: b"PK" + blob, "no blob of version 1"),
        (lambda blob: blob[:3] + b"\x02" + blob[4:], "no blob of version 1"),
        (lambda blob: blob[:-1], "cut off"),
        (lambda blob: blob[:40] + bytes([blob[40] ^ 1]) + blob[41:], "damaged"),
        (lambda blob: blob + b"{}1234", "damaged"),
    ],
    ids=["empty", "other file", "other version", "cut off", "damaged", "damaged names"],
)
def test_what_is_wrong_with_a_blob_is_said(readable, change, message):
    with pytest.raises(ValueError, match=message):
        readable.load(change(blob_model("ranks")[0].to_bytes(names=False)))


def with_names(core, text):
    """Return a blob with this text, and its checksum, where the names are."""
    return core + text.encode() + struct.pack("<I", zlib.crc32(text.encode()))


@pytest.mark.parametrize("python", PYTHONS)
def test_whatever_names_there_are_is_a_model_or_refused(python, folder):
    packed, rows = blob_model("two classes, boosted")
    core, whole = packed.to_bytes(names=False), packed.to_bytes()
    labels = '{"scale": 1.5, "classes": {"labels": %s}}'
    wrong = ["", "[1]", "5", "null", '"scale"', "{", "{}", '{"scale": 1.5}', '{"scale": 1.5, "classes": [1]}']
    wrong += ['{"scale": "1", "classes": {"labels": [0, 1]}}', '{"scale": null, "classes": {"labels": [0, 1]}}']
    wrong += [labels % given for given in ("[]", "[1]", "[1, 2, 3]", "null", '"ab"', '{"a": 1, "b": 2}')]
    blobs = [whole[: len(core) + n] for n in (1, 2, 3, 4, 9)] + [core + b"\0" * n for n in (1, 2, 3, 4)]
    blobs += [with_names(core, text) for text in wrong]
    blobs += [with_names(core, '{"classes": {"labels": [0, 1]}}'), with_names(core, labels % "[0, 1]")]
    said = PYTHONS[python]([(blob, rows[:2]) for blob in blobs], folder)
    assert said[:-2] == [REFUSED] * (len(blobs) - 2)
    np.testing.assert_array_equal(said[-2].scores, said[-1].scores)
    np.testing.assert_array_equal(said[-1].scores, packed.scores(rows[:2]))


@pytest.mark.parametrize("name", ["exact", 6])
def test_float64_values_are_rounded_down_where_the_forest_does_so(readable, name):
    packed, rows = rounding_down(name)
    model = readable.load(packed.to_bytes())
    found = [list(model.scores(row)) for row in rows.tolist()]
    np.testing.assert_array_equal(found, packed.scores(rows))


def test_what_is_no_question_for_a_model_is_said(readable):
    packed, rows = blob_model("ranks")
    with pytest.raises(TypeError, match="the model predicts a number: use predict"):
        readable.load(packed.to_bytes()).predict_proba(rows[0].tolist())
    with pytest.raises(TypeError):
        readable.load(5)


@pytest.mark.parametrize("name", ["two classes, boosted", "counts", "a map and few grids, 3", "one leaf"])
def test_an_emitted_folder_passes_its_test(name, tmp_path):
    packed, _ = blob_model(name)
    files = bh.emit(packed, tmp_path / "device", runtime="micropython", name="my model")
    names = {"README.md", "billhook.py", "main.py", "my_model.bhm", "test_model.py"}
    assert names <= {file.name for file in files}
    folder = tmp_path / "device"
    said = run_micropython(folder / "test_model.py", folder / "billhook.py", folder / "my_model.bhm")
    assert "rows are as they should be" in said
    here = subprocess.run([*HERE_ALONE, "test_model.py"], cwd=folder, capture_output=True, text=True, check=True)
    assert here.stdout == said
    assert run_micropython(folder / "main.py", folder / "billhook.py", folder / "my_model.bhm").strip()


def test_a_wrong_model_fails_the_emitted_test(tmp_path):
    bh.emit(blob_model("counts")[0], tmp_path, runtime="micropython")
    other, _ = blob_model("outliers")
    assert other.n_features == blob_model("counts")[0].n_features
    (tmp_path / "model.bhm").write_bytes(other.to_bytes())
    done = subprocess.run([*HERE_ALONE, "test_model.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode
    assert "are not" in done.stderr


def test_shortening_keeps_what_others_call():
    source = '"""About."""\n\n\nclass A:\n    """More."""\n\n    def go(self, number):\n        """Say."""\n'
    source += '        self._n = number if number else 1  # why\n        return "a b" + str(self._n)\n'
    assert shorten(source) == 'class A:\n def go(a,b):\n  a.c=b if b else 1\n  return "a b"+str(a.c)\n'


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_user_module_compiles_against_a_stand_in_for_micropython(compiler, tmp_path):
    """The stand-in declares what the module uses; that MicroPython declares the same is not tested here."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed: make toolchains")
    bh.emit(blob_model("counts")[0], tmp_path, runtime="micropython")
    options = (
        "-std=gnu99",
        "-Wall",
        "-Wextra",
        "-Wpointer-arith",
        "-Wdouble-promotion",
        "-Wfloat-conversion",
        "-Werror",
    )
    source = tmp_path / "user_module" / "modbillhook.c"
    stub = HERE / "micropython_stub"
    subprocess.run([compiler, *options, "-c", f"-I{stub}", str(source), "-o", str(tmp_path / "out.o")], check=True)
    for build in ("micropython.mk", "micropython.cmake"):
        text = (source.parent / build).read_text()
        assert all(f"/{file.name}" in text for file in source.parent.glob("*.c"))
