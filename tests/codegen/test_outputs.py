"""Several outputs of the same row in one C project."""

import ctypes
import re
import shutil
import subprocess
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_linnerud
from sklearn.ensemble import ExtraTreesClassifier, RandomForestRegressor

import billhook as bh
from billhook.codegen import firmware_source, target_named, tools_for
from billhook.codegen._measure import FIRMWARE, read_printed
from billhook.codegen._resources import filled_firmware
from billhook.codegen._toolchains import compile_program, run_program
from billhook.tables import EncodedColumn, Encoding
from compiled import FLAGS
from made_up import random_forest, tricky_rows

X, NUMBERS = load_linnerud(return_X_y=True)
FLOWERS, kind = load_iris(return_X_y=True)
# A flower's kind, and whether it is wide: three classes and two.
LABELS = np.column_stack([kind, FLOWERS[:, 1] > 3])


@pytest.fixture(scope="module")
def numbers():
    model = RandomForestRegressor(6, max_leaf_nodes=9, random_state=0).fit(X, NUMBERS)
    return [bh.pack(forest, leaf_bits=6) for forest in bh.as_forests(model)]


@pytest.fixture(scope="module")
def classes():
    model = ExtraTreesClassifier(4, max_leaf_nodes=8, random_state=0).fit(FLOWERS, LABELS)
    return [bh.pack(forest, leaf_bits=5) for forest in bh.as_forests(model)]


def shared(folder, prefix, outputs):
    """Return the project as a library, compiled without a warning."""
    sources = [f"{prefix}.c", *(f"{prefix}_{output}.c" for output in outputs)]
    subprocess.run(["gcc", *FLAGS, *sources, "-shared", "-fPIC", "-o", "it.so", "-lm"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "it.so"))


def called(function, rows, dtype, n):
    """Return what a function writes for each row: so many numbers."""
    out = np.empty((len(rows), n), dtype)
    for row, into in zip(rows, out, strict=True):
        function(row.ctypes.data_as(ctypes.c_void_p), into.ctypes.data_as(ctypes.c_void_p))
    return out


@pytest.mark.parametrize("layout", ["compact", "balanced", "fast"])
def test_numbers_are_those_of_python_to_the_last_bit(numbers, layout, tmp_path):
    names = ("weight", "waist", "pulse")
    bh.emit(dict(zip(names, numbers, strict=True)), tmp_path / "out", name="body", layout=layout)
    library = shared(tmp_path / "out", "body", names)
    rows = tricky_rows(np.random.default_rng(0), 60, 3)
    values = called(library.body_value_all, rows, np.float32, 3)
    for k, (name, packed) in enumerate(zip(names, numbers, strict=True)):
        scores = called(library[f"body_{name}_scores"], rows, np.int32, 1)
        np.testing.assert_array_equal(scores, packed.scores(rows))
        expected = np.float32(packed.base) + scores[:, 0].astype(np.float32) * np.float32(packed.scale)
        np.testing.assert_array_equal(values[:, k], expected)
        np.testing.assert_allclose(values[:, k], packed.predict(rows), rtol=1e-6)


def test_classes_are_those_of_python(classes, tmp_path):
    bh.emit(classes, tmp_path / "out", inputs=["int16", "float"])
    library = shared(tmp_path / "out", "model", (0, 1))
    rows = tricky_rows(np.random.default_rng(0), 60, 4)
    whole = np.random.default_rng(0).integers(-2, 9, (60, 4), np.int16)
    for function, given in ((library.model_predict_all, rows), (library.model_predict_all_int16, whole)):
        found = called(function, given, np.intc, 2)
        for k, packed in enumerate(classes):
            np.testing.assert_array_equal(packed.classes[found[:, k]], packed.predict(given.astype(np.float32)))


@pytest.mark.parametrize("target", ["arduino-uno", "cortex-m0"])
def test_an_emulated_target_has_the_same_scores(classes, target, tmp_path):
    """Of all outputs, one behind the other."""
    tools = tools_for(target_named(target))
    try:
        tools.check_installed()
    except bh.MissingToolError as error:
        pytest.skip(f"{error}: make toolchains")
    bh.emit(classes, tmp_path, name="both", target=target)
    for file in FIRMWARE:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(firmware_source(file))
    rows = np.ascontiguousarray(FLOWERS[::20], np.float32)
    cells = ", \\\n".join("{" + ",".join(map(str, row)) + "}" for row in rows.view(np.uint32).tolist())
    about = {"function": "scores_of_all", "feature_type": "float", "row_type": "uint32_t", "n_rows": len(rows)}
    (tmp_path / "rows.h").write_text(filled_firmware("rows.h", rows=cells, **about))
    (tmp_path / "model.h").write_text(
        '#include "both.h"\n#define MODEL_N_FEATURES BOTH_N_FEATURES\n#define MODEL_N_SCORES 6\n'
        "void scores_of_all(const float *x, int32_t *scores);\n"
    )
    (tmp_path / "model.c").write_text(
        '#include "model.h"\nvoid scores_of_all(const float *x, int32_t *scores)\n{\n    int said[2];\n'
        "    both_0_scores(x, scores);\n    both_1_scores(x, scores + 3);\n    both_predict_all(x, said);\n"
        "    scores[4] = said[0];\n    scores[5] = said[1];\n}\n"
    )
    with_outputs = replace(tools, options=(*tools.options, "both.c", "both_0.c", "both_1.c"))
    program = compile_program(tmp_path, with_outputs, "model.c")
    all_scores = SimpleNamespace(layout=SimpleNamespace(n_columns=6))
    found, _, _ = read_printed(run_program(program, with_outputs)[0], all_scores)
    first, second = classes
    said = [np.searchsorted(packed.classes, packed.predict(rows))[:, None] for packed in classes]
    np.testing.assert_array_equal(found, np.hstack([first.scores(rows), second.scores(rows), *said]))


@pytest.mark.parametrize("which", ["numbers", "classes"])
def test_the_self_test_passes_and_can_fail(which, request, tmp_path):
    outputs, (rows, y) = (
        request.getfixturevalue(which),
        {"numbers": (X, NUMBERS), "classes": (FLOWERS, LABELS)}[which],
    )
    out = tmp_path / "out"
    bh.emit(outputs, out, X=rows, y=y, package=("cmake", "platformio"))
    done = subprocess.run(["make", "-C", str(out), "test"], capture_output=True, text=True, check=True)
    n_rows, n_outputs = min(32, len(rows)), len(outputs)
    assert f"{n_rows * 3 * (n_outputs + 1)} of {n_rows * 3 * (n_outputs + 1)} checks as expected" in done.stdout
    for k, packed in enumerate(outputs):
        header = (out / f"model_{k}.h").read_text()
        quality = (
            "squared error" if which == "numbers" else f"Accuracy {np.mean(packed.predict(rows) == y[:, k]):.2%}"
        )
        assert quality in header
    for broken, part in (("model.c", "[1] ="), ("model_1.c", "data[")):
        before = (out / broken).read_text()
        wrong = (
            before.replace(part, "[0] =")
            if broken == "model.c"
            else re.sub(r"\n    \d+,", "\n    3,", before, count=1)
        )
        assert wrong != before
        (out / broken).write_text(wrong)
        assert subprocess.run(["make", "-C", str(out), "test"], capture_output=True, check=False).returncode, broken
        (out / broken).write_text(before)
    example = ["-I", str(out), str(out / "examples" / "cmake" / "main.c")]
    sources = [str(out / f"{name}.c") for name in ("model", *(f"model_{k}" for k in range(n_outputs)))]
    subprocess.run(["gcc", *FLAGS, *example, *sources, "-o", str(tmp_path / "it"), "-lm"], check=True)
    shown = subprocess.run([tmp_path / "it"], capture_output=True, text=True, check=True).stdout.split()
    expected = [packed.predict(np.zeros((1, packed.n_features)))[0] for packed in outputs]
    np.testing.assert_allclose(np.array(shown, float), np.array(expected, float), rtol=1e-5)
    srcs = re.search(r"srcFilter.*?\]", (out / "library.json").read_text(), re.DOTALL)[0]
    assert all(f"+<model{end}.c>" in srcs for end in ("", *(f"_{k}" for k in range(n_outputs))))


def test_columns_of_a_table_and_an_arduino(tmp_path):
    """The sketch is compiled against as little of Arduino as it uses."""
    if shutil.which("avr-g++") is None:
        pytest.skip("avr-gcc is not installed: make toolchains")
    columns = Encoding((EncodedColumn("colour", "one_hot", ("red", "green")), EncodedColumn("age")))
    packed = other(columns.n_features).with_encoding(columns)
    bh.emit({"a": packed, "b": packed}, tmp_path / "out", target="uno", name="both")
    subprocess.run(["make", "-C", str(tmp_path / "out"), "test"], capture_output=True, check=True)
    as_cpp = ["g++", "-x", "c++", "-std=c++98", "-Wall", "-Wextra", "-pedantic", "-Werror", "-c", "both.c"]
    subprocess.run(as_cpp, cwd=tmp_path / "out", check=True)
    readme = (tmp_path / "out" / "README.md").read_text()
    assert "both_a_put_colour(x, BOTH_A_COLOUR_RED);" in readme
    with pytest.raises(ValueError, match="the output 1 has other columns than 0"):
        bh.emit([packed, other(columns.n_features, feature_names=packed.feature_names)], tmp_path / "no")
    library = tmp_path / "out" / "arduino" / "both"
    stub = "struct Port { void begin(long) {} void println(int) {} void println(float) {} };\nstatic Port Serial;\n"
    stub += "static void delay(int) {}\nvoid setup(); void loop();\nint main() { setup(); loop(); }\n"
    (tmp_path / "sketch.cpp").write_text(stub + (library / "examples" / "predict" / "predict.ino").read_text())
    options = ["-Os", "-Wall", "-Wextra", "-Werror", "-mmcu=atmega328p", "-I", str(library / "src")]
    subprocess.run(["avr-g++", *options, "-c", "sketch.cpp", "-o", "sketch.o"], cwd=tmp_path, check=True)


def other(n_features=3, n_classes=1, **changes):
    forest = random_forest(np.random.default_rng(0), (4, 4), n_features, n_classes=n_classes)
    return bh.pack(replace(forest, **changes), leaf_bits=4)


@pytest.mark.parametrize(
    ("outputs", "options", "message"),
    [
        ([], {}, "there are no outputs to write"),
        ({}, {}, "there are no outputs to write"),
        ([other(), other(4)], {}, "the output 1 has another number of features than 0, 4 and not 3"),
        (
            {"a": other(feature_names=("x", "y", "z")), "b": other()},
            {},
            "the output 'b' has other features than 'a': outputs are answered together for rows of the same table",
        ),
        ([other(), other(n_classes=3)], {}, "the output 0 is for regression, and 1 for classification: emit numbers"),
        ({"a b": other(), "A_b": other()}, {}, "'a b' and 'A_b' would both be model_A_b in C: rename one of them"),
        ({"?": other()}, {}, r"the output '\?' needs a name with letters or digits, which can stand behind 'model'"),
        ([other()], {"runtime": "rust"}, r"runtime='rust' writes a project around one model.* packed\.to_bytes\(\)"),
        ([other()], {"optimize": "speed"}, "optimize='speed' chooses the layout of one model: say layout="),
        ([other(), other()], {"X": X, "y": NUMBERS}, r"y must have a column for each of 2 outputs, not .*\(20, 3\)"),
        ([other(), other()], {"y": NUMBERS}, "give X too"),
    ],
)
def test_what_cannot_be_answered_together_is_refused(outputs, options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        bh.emit(outputs, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_outputs_that_fit_alone_but_not_together_are_refused(tmp_path):
    packed = bh.pack(random_forest(np.random.default_rng(0), (150,) * 12, 4), leaf_bits=8)
    assert packed.nbytes < 8192 < 2 * packed.nbytes
    bh.emit([packed], tmp_path / "one", target="attiny85")
    with pytest.raises(bh.DoesNotFitError, match=r"the 2 outputs take at least [0-9,]+ bytes of flash together"):
        bh.emit([packed, packed], tmp_path / "out", target="attiny85")


def test_a_model_of_several_outputs_says_how_they_are_written(tmp_path):
    model = RandomForestRegressor(2, max_leaf_nodes=4, random_state=0).fit(X, NUMBERS)
    with pytest.raises(
        ValueError, match=r"3 outputs.* billhook\.as_forests, which billhook\.emit writes as one project"
    ):
        bh.emit(model, tmp_path / "out")
    assert len(bh.emit(bh.as_forests(model), tmp_path / "out")) == 11
