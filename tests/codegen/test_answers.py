"""Classes, numbers and probabilities of the emitted C, against those of Python."""

import ctypes
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)

import billhook as bh
from billhook.codegen import Form, target_named, tools_for
from billhook.codegen._measure import read_printed, write_firmware
from billhook.codegen._probabilities import as_bytes, as_floats
from billhook.codegen._source import float_literal
from billhook.codegen._toolchains import compile_program, run_program
from compiled import FLAGS, write_sources

X2, y2 = load_breast_cancer(return_X_y=True)
X3, y3 = load_iris(return_X_y=True)
X10, y10 = load_digits(return_X_y=True)
X_n, y_n = load_diabetes(return_X_y=True)
FORMS = {name: Form(name, ("float", "int16", "uint8")) for name in ("compact", "balanced", "fast")}
# What is not a rounding to the nearest byte: powers of two by a polynomial, and factors of 12 bits and more.
LARGEST_BYTE_ERROR = 0.6
# Floats have 24 bits: raw scores of some tens are rounded, and so is each sum when hundreds of classes add to it.
LARGEST_ERROR = 1e-5


def boosted(X, y, **options):
    return HistGradientBoostingClassifier(max_iter=15, max_leaf_nodes=8, random_state=0, **options).fit(X, y)


def voting(X, y):
    return RandomForestClassifier(9, max_leaf_nodes=12, random_state=0).fit(X, y)


def two_columns(X, y):
    """Two classes with a score each."""
    forest = bh.as_forest(boosted(X, y))
    column = np.arange(forest.n_trees, dtype=np.int32) % 2
    return replace(forest, tree_column=column, base=np.zeros(2), link="softmax")


MODELS = {
    "softmax": lambda: (bh.pack(boosted(X10, y10)), X10),
    "softmax of three": lambda: (bh.pack(boosted(X3, y3)), X3),
    "softmax of two": lambda: (bh.pack(two_columns(X2, y2)), X2),
    "logistic": lambda: (bh.pack(boosted(X2, y2)), X2),
    "logistic, the last wins": lambda: (
        bh.pack(GradientBoostingClassifier(n_estimators=9, random_state=0).fit(X2, y2)),
        X2,
    ),
    "votes of two": lambda: (bh.pack(voting(X2, y2), leaf_bits=6), X2),
    "votes of three": lambda: (bh.pack(voting(X3, y3)), X3),
    "refined votes": lambda: (bh.pack(bh.refine(voting(X10, y10), X10, y10, random_state=0), leaf_bits=12), X10),
    "fine votes": lambda: (bh.pack(voting(X2, y2), leaf_bits=16), X2),
    "isolation": lambda: (bh.pack(IsolationForest(n_estimators=20, max_samples=64, random_state=0).fit(X2)), 3 * X2),
    "one class": lambda: (bh.pack(voting(X3, np.zeros(len(y3), int))), X3),
}


@pytest.fixture(scope="module")
def models():
    """All models by name, made once."""
    return {name: make() for name, make in MODELS.items()}


def library(packed, folder, form, *options):
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed: make toolchains")
    write_sources(packed, folder, form)
    command = ["gcc", *FLAGS, "-O0", "-fsanitize=undefined", "-fno-sanitize-recover=all", *options]
    subprocess.run([*command, "-shared", "-fPIC", "model.c", "-o", "model.so", "-lm"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "model.so"))


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def filled(function, rows, width, dtype):
    """Return what a function writes for each row."""
    out = np.zeros((len(rows), width), dtype)
    for row, into in zip(rows, out, strict=True):
        function(pointer(row), pointer(into))
    return out


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("layout", FORMS)
def test_probabilities_are_those_of_python(name, layout, models, tmp_path):
    packed, rows = models[name]
    run = library(packed, tmp_path, FORMS[layout])
    for kind, dtype in (("", np.float32), ("_int16", np.int16), ("_uint8", np.uint8)):
        given = np.ascontiguousarray(np.clip(rows, 0, 255), dtype)
        expected = packed.predict_proba(given.astype(np.float32))
        floats = filled(getattr(run, f"model_predict_proba{kind}"), given, packed.n_classes, np.float32)
        np.testing.assert_allclose(floats, expected, atol=LARGEST_ERROR * max(1.0, np.abs(expected).max()))
        whole = filled(getattr(run, f"model_predict_proba8{kind}"), given, packed.n_classes, np.uint8)
        assert np.abs(whole - 255 * np.clip(expected, 0, 1)).max() <= LARGEST_BYTE_ERROR
    assert len(np.unique(whole)) > 3 or name == "one class"


@pytest.mark.parametrize(
    ("link", "n_classes"),
    [
        ("softmax", 3),
        ("softmax", 26),
        ("softmax", 300),
        ("logistic", 2),
        ("isolation", 2),
        ("identity", 2),
        ("identity", 26),
    ],
)
def test_probabilities_of_any_scores_and_scales(link, n_classes, models, tmp_path):
    """The functions from scores to probabilities, on scores that no forest comes to."""
    packed, _ = models["isolation" if link == "isolation" else "logistic" if n_classes == 2 else "votes of three"]
    width = 1 if n_classes == 2 else n_classes
    rng = np.random.default_rng(n_classes)
    for number, scale in enumerate([3e-8, 7e-5, 0.011, 0.4, 5.0]):
        layout = replace(packed.layout, n_columns=width)
        changed = replace(packed, link=link, scale=scale, classes=np.arange(n_classes), layout=layout)
        scores = (rng.normal(size=(300, width)) * 10.0 ** rng.uniform(-2, 2, (300, 1)) / scale).clip(-2e9, 2e9)
        scores = np.concatenate([scores, np.zeros((1, width)), rng.integers(-3, 3, (20, width))]).astype(np.int32)
        expected = probabilities_of(changed, scores)
        folder = tmp_path / str(number)
        folder.mkdir()
        floats, whole = converted(changed, scores, folder)
        np.testing.assert_allclose(floats, expected, atol=LARGEST_ERROR * max(1.0, np.abs(expected).max()))
        assert np.abs(whole - 255 * np.clip(expected, 0, 1)).max() <= LARGEST_BYTE_ERROR


def probabilities_of(packed, scores):
    """Return what Python makes of scores."""
    raw = scores * packed.scale
    if packed.link == "softmax":
        powers = np.exp(raw - raw.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)
    if packed.link == "identity" and raw.shape[1] > 1:
        return raw
    if packed.link == "isolation":
        second = 1 - np.exp2(np.minimum(-1 - raw[:, 0], 0))
    else:
        second = (1 + raw[:, 0]) / 2 if packed.link == "identity" else 1 / (1 + np.exp(np.minimum(-raw[:, 0], 700)))
    return np.stack([1 - second, second], axis=1)


def converted(packed, scores, folder):
    """Return the probabilities of scores that the C program computes, as floats and as bytes."""
    text = f"#include <stdint.h>\n#define MODEL_SCALE {float_literal(packed.scale)}\n"
    text += as_floats(packed, "model") + as_bytes(packed)
    ends = "void floats(const int32_t *s, float *p) { as_floats(s, p); }\nvoid whole(int32_t *s, uint8_t *p) "
    prototypes = "void floats(const int32_t *s, float *p);\nvoid whole(int32_t *s, uint8_t *p);\n"
    (folder / "p.c").write_text(text + prototypes + ends + "{ as_bytes(s, p); }\n")
    flags = [*FLAGS, "-fsanitize=undefined", "-fno-sanitize-recover=all"]
    subprocess.run(["gcc", *flags, "-shared", "-fPIC", "p.c", "-o", "p.so"], cwd=folder, check=True)
    run = ctypes.CDLL(str(folder / "p.so"))
    floats = filled(run.floats, scores, packed.n_classes, np.float32)
    return floats, filled(run.whole, scores.copy(), packed.n_classes, np.uint8)


THRESHOLDS = [0.02, 0.3, 0.5, 0.7, 0.98]
TWO_CLASSES = [
    name
    for name in MODELS
    if name not in ("softmax", "softmax of three", "votes of three", "refined votes", "one class")
]


@pytest.mark.parametrize("name", TWO_CLASSES)
@pytest.mark.parametrize("layout", FORMS)
def test_the_second_class_can_have_a_threshold(name, layout, models, tmp_path):
    packed, rows = models[name]
    rows = np.ascontiguousarray(rows, np.float32)
    second = packed.predict_proba(rows)[:, 1]
    for threshold in THRESHOLDS if layout == "compact" else THRESHOLDS[3:4]:  # the statements are the same
        folder = tmp_path / str(threshold)
        folder.mkdir()
        run = library(packed, folder, FORMS[layout], f"-DMODEL_THRESHOLD={threshold}")
        predicted = np.array([run.model_predict(pointer(row)) for row in rows])
        # A score is a whole number, and what comes within a millionth of one meets it.
        np.testing.assert_array_equal(predicted, second >= threshold - 1e-7)


@pytest.mark.parametrize("threshold", ["0", "1", "0.0", "1.0", "-0.5", "1.5f", "1/2"])
@pytest.mark.parametrize("compiler", [("gcc", "-std=c99"), ("g++", "-x", "c++"), ("avr-gcc", "-std=c99"), ("clang",)])
def test_a_threshold_is_above_0_and_below_1(threshold, compiler, models, tmp_path):
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"{compiler[0]} is not installed: make toolchains")
    write_sources(models["logistic"][0], tmp_path)
    command = [*compiler, "-fsyntax-only", "model.c"]
    subprocess.run([*command, "-DMODEL_THRESHOLD=1 - 0.2"], cwd=tmp_path, check=True)
    wrong = [*command, f"-DMODEL_THRESHOLD={threshold}"]
    done = subprocess.run(wrong, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode != 0
    assert "MODEL_THRESHOLD" in done.stderr


def test_more_classes_have_no_threshold(models, tmp_path):
    write_sources(models["votes of three"][0], tmp_path)
    command = ["gcc", "-DMODEL_THRESHOLD=0.7", "-c", "model.c"]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert "MODEL_THRESHOLD is for two classes" in done.stderr


@pytest.mark.parametrize("name", ["softmax", "logistic", "logistic, the last wins", "votes of two", "isolation"])
def test_many_rows_and_no_threshold(name, models, tmp_path):
    packed, rows = models[name]
    rows = np.ascontiguousarray(rows, np.float32)
    run = library(packed, tmp_path, FORMS["compact"])
    classes = np.full(len(rows) + 1, -7, np.int32)
    run.model_predict_rows(pointer(rows), ctypes.c_uint(len(rows)), pointer(classes))
    np.testing.assert_array_equal(packed.classes[classes[:-1]], packed.predict(rows))
    assert classes[-1] == -7  # and no more than these


def test_an_isolation_forest_has_its_score(tmp_path):
    forest = IsolationForest(n_estimators=20, max_samples=64, random_state=0).fit(X2)
    packed = bh.pack(forest, threshold_bits="exact", leaf_bits=16)
    run = library(packed, tmp_path, FORMS["compact"])
    run.model_anomaly_score.restype = ctypes.c_float
    rows = np.ascontiguousarray(3 * X2, np.float32)
    scores = np.array([run.model_anomaly_score(pointer(row)) for row in rows])
    # With the limit that scikit-learn has by default, this is the score of Liu, Ting and Zhou.
    np.testing.assert_allclose(scores, -forest.score_samples(rows), atol=1e-4)
    np.testing.assert_allclose(scores, packed.predict_proba(rows)[:, 0], atol=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(4, max_leaf_nodes=20, random_state=0),
        HistGradientBoostingRegressor(loss="poisson", max_iter=9),
    ],
    ids=["a number", "a count"],
)
@pytest.mark.parametrize("layout", FORMS)
def test_numbers_have_the_unit_of_the_target(model, layout, tmp_path):
    packed = bh.pack(model.fit(X_n, 1000 * y_n), leaf_bits=16)
    rows = np.ascontiguousarray(X_n, np.float32)
    run = library(packed, tmp_path, FORMS[layout])
    values = np.full(len(rows), np.nan, np.float32)
    run.model_value_rows(pointer(rows), ctypes.c_uint(len(rows)), pointer(values))
    np.testing.assert_allclose(values, packed.predict(rows), rtol=1e-6)
    np.testing.assert_allclose(values.mean(), 1000 * y_n.mean(), rtol=0.05)


@pytest.mark.parametrize("name", [*MODELS, "a number"])
@pytest.mark.parametrize("layout", FORMS)
def test_all_of_it_is_valid_c_and_c_plus_plus(name, layout, models, tmp_path):
    number = RandomForestRegressor(2, max_leaf_nodes=5, random_state=0)
    packed = bh.pack(number.fit(X_n, y_n)) if name == "a number" else models[name][0]
    write_sources(packed, tmp_path, FORMS[layout])
    defined = ["-DMODEL_THRESHOLD=0.7"] if packed.n_classes == 2 else []
    warnings = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]
    for options in ([], defined):
        for compiler in (["gcc", "-std=c99"], ["g++", "-std=c++11", "-x", "c++"]):
            if shutil.which(compiler[0]) is None:
                pytest.skip(f"{compiler[0]} is not installed: make toolchains")
            subprocess.run([*compiler, *warnings, *options, "model.c"], cwd=tmp_path, check=True)


def test_the_version_is_a_number_that_the_preprocessor_knows(models, tmp_path):
    write_sources(models["softmax"][0], tmp_path)
    (tmp_path / "main.c").write_text('#include "model.h"\n#if MODEL_VERSION != 1\n#error\n#endif\n')
    subprocess.run(["gcc", "-fsyntax-only", "main.c"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("layout", FORMS)
def test_names_can_be_left_out(layout, tmp_path):
    model = voting(X3, np.array(["setosa", "versicolor", "virginica"])[y3])
    bh.emit(model, tmp_path / "with", layout=layout, target="uno")
    assert "virginica" in (tmp_path / "with" / "model.c").read_text()
    files = bh.emit(model, tmp_path / "without", layout=layout, target="uno", names=False)
    for path in files:
        assert "virginica" not in path.read_text()
        assert "class_name" not in path.read_text()
    subprocess.run(["make", "-C", str(tmp_path / "without"), "test"], check=True, capture_output=True)


ADAPTER = """
#include "model.h"
void probabilities(const float *x, int32_t *scores);
void probabilities(const float *x, int32_t *scores)
{
    uint8_t bytes[MODEL_N_CLASSES];
    float floats[MODEL_N_CLASSES];
    int c;
    model_predict_proba8(x, bytes);
    model_predict_proba(x, floats);
    for (c = 0; c < MODEL_N_SCORES; c++)
        scores[c] = (int32_t)(floats[c] * 1000000) * 256 + bytes[c];
}
"""


@pytest.mark.parametrize("target", ["attiny85", "arduino-uno", "cortex-m0", "ch32v003"])
@pytest.mark.parametrize("name", ["softmax of three", "logistic", "votes of two", "votes of three", "isolation"])
def test_targets_compute_the_same_probabilities(name, target, models, tmp_path):
    """Where whole numbers have 16 bits, and where floats are computed by functions."""
    tools = tools_for(target_named(target))
    for program in (tools.compiler, tools.emulator[0]):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: make toolchains")
    packed, rows = models[name]
    rows = np.ascontiguousarray(rows[:: len(rows) // 6][:5], np.float32)
    write_firmware(packed, Form("compact", ("float",)), rows, tmp_path)
    text = (tmp_path / "rows.h").read_text().replace("model_scores", "probabilities")
    (tmp_path / "rows.h").write_text(text + "void probabilities(const float *x, int32_t *scores);\n")
    with (tmp_path / "model.c").open("a") as file:
        file.write(ADAPTER)
    printed, _ = run_program(compile_program(tmp_path, tools, "model.c", prescaler=1024), tools)
    found, _, _ = read_printed(printed, packed)
    expected = packed.predict_proba(rows)[:, : packed.layout.n_columns]
    assert np.abs((found & 255) - 255 * np.clip(expected, 0, 1)).max() <= LARGEST_BYTE_ERROR
    np.testing.assert_allclose((found >> 8) / 1e6, expected, atol=LARGEST_ERROR + 1e-6)  # cut off after six digits
