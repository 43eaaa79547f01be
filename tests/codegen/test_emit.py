import shutil
import subprocess

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor

import billhook as bh

X3, y3 = load_iris(return_X_y=True)
X2, y2 = load_breast_cancer(return_X_y=True)
X_n, y_n = load_diabetes(return_X_y=True)


def made(X, y, kind=RandomForestClassifier):
    return kind(5, max_leaf_nodes=9, random_state=0).fit(X, y)


@pytest.mark.parametrize("threshold_bits", ["exact", 8])
@pytest.mark.parametrize(("X", "y", "kind"), [(X3, y3, RandomForestClassifier), (X_n, y_n, RandomForestRegressor)])
def test_the_self_test_passes_and_can_fail(X, y, kind, threshold_bits, tmp_path):
    out = tmp_path / "out"
    bh.emit(bh.pack(made(X, y, kind), threshold_bits=threshold_bits), out, name="my flowers!", X=X)
    done = subprocess.run(["make", "-C", str(out), "test"], capture_output=True, text=True, check=True)
    assert "96 of 96 rows as expected" in done.stdout
    source = (out / "my_flowers.c").read_text()
    start = source.index("{\n") + 2
    (out / "my_flowers.c").write_text(source[:start] + source[start:].replace("1", "3", 40))
    failed = subprocess.run(["make", "-C", str(out), "test"], capture_output=True, text=True, check=False)
    assert failed.returncode != 0


def test_rows_are_made_up_where_none_are_given(tmp_path):
    bh.emit(made(X2, y2), tmp_path / "out")
    subprocess.run(["make", "-C", str(tmp_path / "out"), "test"], check=True, capture_output=True)
    text = (tmp_path / "out" / "selftest.c").read_text()
    assert len(set(text[text.index("expected_float[") :].splitlines())) > 8  # they do not all end in the same leaves


def test_an_arduino_gets_a_library(tmp_path):
    files = bh.emit(made(X3, y3), tmp_path / "out", target="arduino-uno")
    assert {path.relative_to(tmp_path / "out").as_posix() for path in files} == {
        "model.h",
        "model.c",
        "selftest.c",
        "Makefile",
        "README.md",
        "arduino/model/library.properties",
        "arduino/model/src/model.h",
        "arduino/model/src/model.c",
        "arduino/model/examples/predict/predict.ino",
    }


def test_a_folder_with_something_in_it_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("precious")
    (tmp_path / "model.c").write_text("mine too")
    with pytest.raises(FileExistsError, match="not empty"):
        bh.emit(made(X3, y3), tmp_path)
    assert (tmp_path / "model.c").read_text() == "mine too"
    bh.emit(made(X3, y3), tmp_path, force=True)
    assert (tmp_path / "mine.txt").read_text() == "precious"
    assert "model_scores" in (tmp_path / "model.c").read_text()
    assert not list(tmp_path.parent.glob(".billhook-*"))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"target": "arduino-one"}, ValueError, "no target 'arduino-one'; did you mean"),
        ({"target": "z80"}, ValueError, "no target 'z80'; known are generic"),
        ({"X": X3[:, :2]}, ValueError, "X has 2 features"),
        ({"X": X3[:0]}, ValueError, "no rows for the self-test"),
        ({"y": y3}, ValueError, "give X too"),
        ({"X": X3, "y": y3[:, None]}, ValueError, "y the shape"),
        ({"X": X3, "y": y3 + 1}, ValueError, "a label that the model does not know: .*3"),
        ({"layout": "small"}, ValueError, "no layout 'small'"),
        ({"optimize": "sped"}, ValueError, "optimize cannot be 'sped'; did you mean 'speed'?"),
        ({"inputs": ()}, ValueError, "inputs must name one of float, int16, uint8"),
        ({"out": "nowhere/out"}, FileNotFoundError, "no such folder"),
        ({"out": "file"}, NotADirectoryError, "this is a file"),
    ],
)
def test_what_cannot_be_written_is_refused(arguments, error, message, tmp_path):
    (tmp_path / "file").write_text("")
    out = tmp_path / arguments.pop("out", "out")
    with pytest.raises(error, match=message):
        bh.emit(made(X3, y3), out, **arguments)
    assert not (tmp_path / "out").exists()


def test_classes_and_numbers_come_out_as_in_python(tmp_path):
    program = """
#include <stdio.h>
#include "model.h"
int main(void)
{
    float x[MODEL_N_FEATURES];
    for (;;) {
        int k;
        for (k = 0; k < MODEL_N_FEATURES; k++)
            if (scanf("%f", x + k) != 1)
                return 0;
        printf("ANSWER);
    }
}
"""
    for folder, X, y, kind, answer in (
        (
            "a",
            X3,
            np.array(["setosa", "versi color", 'v"'])[y3],
            RandomForestClassifier,
            '%s\\n", model_class_name(model_predict(x))',
        ),
        ("b", X_n, 1.7e9 + y_n, RandomForestRegressor, '%.9g\\n", (double)model_value(x)'),
        ("c", X_n, np.round(y_n), HistGradientBoostingRegressor, '%.9g\\n", (double)model_value(x)'),
    ):
        model = made(X, y, kind) if folder != "c" else kind(loss="poisson", max_iter=9).fit(X, y)
        packed = bh.pack(model)
        bh.emit(packed, tmp_path / folder)
        (tmp_path / folder / "main.c").write_text(program.replace("ANSWER", answer))
        subprocess.run(["gcc", "main.c", "model.c", "-o", "main", "-lm"], cwd=tmp_path / folder, check=True)
        rows = X.astype(np.float32)
        lines = "\n".join(" ".join(f"{value:.9g}" for value in row) for row in rows)
        done = subprocess.run([tmp_path / folder / "main"], input=lines, capture_output=True, text=True, check=True)
        printed = done.stdout.splitlines()
        if kind is RandomForestClassifier:
            assert printed == packed.predict(rows).tolist()
        else:
            np.testing.assert_allclose([float(line) for line in printed], packed.predict(rows), rtol=1e-6)


@pytest.mark.parametrize(("n_trees", "is_fast"), [(4, True), (120, False)])
def test_for_speed_the_fast_layout_is_written_where_it_fits(n_trees, is_fast, tmp_path):
    if not shutil.which("avr-gcc") or not shutil.which("simavr"):
        pytest.skip("avr-gcc and simavr are not installed: make toolchains")
    model = RandomForestClassifier(n_trees, max_leaf_nodes=32, random_state=0).fit(X2, y2)
    bh.emit(bh.pack(model, leaf_bits=4), tmp_path / "out", target="arduino-uno", optimize="speed")
    assert ("goto" in (tmp_path / "out" / "model.c").read_text()) == is_fast


def test_a_layout_that_is_given_is_not_chosen(tmp_path):
    bh.emit(made(X3, y3), tmp_path / "out", layout="compact", optimize="speed")
    assert "goto" not in (tmp_path / "out" / "model.c").read_text()
