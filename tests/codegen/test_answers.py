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
    IsolationForest,
    RandomForestClassifier,
)

import billhook as bh
from billhook.codegen import Form
from compiled import FLAGS, write_sources

X2, y2 = load_breast_cancer(return_X_y=True)
X3, y3 = load_iris(return_X_y=True)
X10, y10 = load_digits(return_X_y=True)
X_n, y_n = load_diabetes(return_X_y=True)
FORMS = {"compact": Form("compact", ("float", "int16", "uint8")), "fast": Form("fast", ("float", "int16", "uint8"))}
# What is not a rounding to the nearest byte: powers of two by a polynomial, and factors of 12 bits and more.
LARGEST_BYTE_ERROR = 0.6


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
    command = ["gcc", *FLAGS, "-fsanitize=undefined", "-fno-sanitize-recover=all", *options]
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
        np.testing.assert_allclose(floats, expected, atol=1e-6 * max(1.0, np.abs(expected).max()))
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
        np.testing.assert_allclose(floats, expected, atol=1e-6 * max(1.0, np.abs(expected).max()))
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
    from billhook.codegen._probabilities import as_bytes, as_floats
    from billhook.codegen._source import float_literal

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
