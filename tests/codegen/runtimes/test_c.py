"""The C reader of blobs: the scores of every kind of model, damaged models, its size, and projects around it."""

import ctypes
import os
import re
import shutil
import struct
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import billhook as bh
from billhook.codegen import firmware_source, target_named, tools_for
from billhook.codegen._measure import FIRMWARE, read_printed
from billhook.codegen._memory import BLOB_READER_BYTES
from billhook.codegen._resources import filled_firmware, runtime_source
from billhook.codegen._runtime_c import n_scratch, not_needed
from billhook.codegen._toolchains import compile_program, program_sizes, run_program
from blob_answers import impossible_blobs, largest_sums, made_up_models, sealed
from blob_models import MODELS, blob_model
from c_reader import MODEL_BYTES, Reader, write_model, write_reader
from made_up import forests, random_forest, tricky_rows

HERE = Path(__file__).parent
BUILDS = {
    "gcc": ("gcc", "-O0"),
    "gcc, sanitized": ("gcc", "-O1", "-fsanitize=undefined", "-fno-sanitize-recover=all"),
    "gcc, fast": ("gcc", "-O3"),
    "gcc, small": ("gcc", "-Os"),
    "gcc, 16 bits": ("gcc", "-O1", "-DBH_COUNT=uint16_t", "-fsanitize=undefined", "-fno-sanitize-recover=all"),
    "clang": ("clang", "-O2"),
}


@pytest.fixture(scope="module", params=BUILDS)
def build(request, tmp_path_factory):
    compiler, *options = BUILDS[request.param]
    return Reader(tmp_path_factory.mktemp("reader"), *options, compiler=compiler)


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    options = ("-O1", "-fsanitize=undefined", "-fno-sanitize-recover=all")
    return Reader(tmp_path_factory.mktemp("reader"), *options)


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_those_of_python_to_the_last_bit(build, name):
    packed, rows = blob_model(name)
    model = build.open(packed.to_bytes(), n_scratch(packed))
    np.testing.assert_array_equal(build.scores(model, rows, packed.layout.n_columns), packed.scores(rows))


@pytest.mark.parametrize("name", MODELS)
def test_answers_are_those_of_python(reader, name):
    packed, rows = blob_model(name)
    model = reader.open(packed.to_bytes(names=False))
    # Python computes with 64 bits, the reader with 32.
    if packed.classes is None:
        expected = packed.predict(rows)
        np.testing.assert_allclose(reader.values(model, rows), expected, rtol=2e-6, atol=2e-6 * abs(packed.base))
        return
    np.testing.assert_array_equal(packed.classes[reader.classes(model, rows)], packed.predict(rows))
    expected = packed.predict_proba(rows)
    np.testing.assert_allclose(reader.probabilities(model, rows, packed.n_classes), expected, rtol=4e-6, atol=1e-6)


@pytest.mark.parametrize(
    "name",
    [
        "scales and a codebook",
        "ranks",
        "sets of categories",
        "steps, no missing values",
        "projections and a codebook",
    ],
)
@pytest.mark.parametrize("kind", ["int16", "uint8"])
def test_whole_numbers_are_taken_as_they_are(reader, name, kind):
    packed, _ = blob_model(name)
    limits, rng = np.iinfo(kind), np.random.default_rng(0)
    rows = rng.integers(limits.min, limits.max, (40, packed.n_features), dtype=kind, endpoint=True)
    rows[:20] = rng.integers(0, 17, (20, packed.n_features))
    rows[0], rows[1] = limits.min, limits.max
    model = reader.open(packed.to_bytes())
    scores = reader.scores_of_whole(model, rows, packed.layout.n_columns)
    np.testing.assert_array_equal(scores, packed.scores(rows.astype(np.float32)))
    if packed.classes is not None:
        classes = packed.classes[reader.classes_of_whole(model, rows)]
        np.testing.assert_array_equal(classes, packed.predict(rows.astype(np.float32)))


@given(forests(), st.sampled_from(["exact", 4, 9, 16]), st.booleans())
def test_made_up_forests_score_as_in_python(reader, forest, threshold_bits, missing_values):
    packed = bh.pack(forest, threshold_bits=threshold_bits, leaf_bits=6, missing_values=missing_values)
    rows = tricky_rows(np.random.default_rng(0), 20, packed.n_features)
    model = reader.open(packed.to_bytes(names=False), n_scratch(packed))
    np.testing.assert_array_equal(reader.scores(model, rows, packed.layout.n_columns), packed.scores(rows))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda blob: blob[:0], "cut off"),
        (lambda blob: blob[:15], "cut off"),
        (lambda blob: b"PK" + blob, "not a blob"),
        (lambda blob: blob[:3] + b"\x02" + blob[4:], "wrong version"),
        (lambda blob: blob[:-1], "cut off"),
        (lambda blob: blob[:40] + bytes([blob[40] ^ 1]) + blob[41:], "damaged"),
        (lambda blob: blob[:4] + b"\0\0\0\x05" + blob[8:], "cut off"),
        (lambda blob: sealed(blob[:8]) + blob[12:], "cut off"),
        (lambda blob: sealed(blob[:11]) + blob[15:], "cut off"),
        (lambda blob: sealed(blob[:-5]), "invalid"),
        (lambda blob: sealed(blob[:-4] + b"\0"), "invalid"),
        (lambda blob: sealed(blob[:8] + b"\x20" + blob[9:-4]), "invalid"),
        (lambda blob: sealed(blob[:9] + b"\x06" + blob[10:-4]), "invalid"),
        (lambda blob: sealed(blob[:10] + b"\x01" + blob[11:-4]), "invalid"),
        (lambda blob: sealed(blob[:12] + b"\xff" * 20 + blob[32:-4]), "invalid"),
    ],
)
def test_what_is_wrong_is_told(reader, change, error):
    blob = change(blob_model("ranks")[0].to_bytes(names=False))
    assert reader.open(blob) == error


def test_fields_that_cannot_be_are_refused(reader):
    for wrong, (blob, _) in impossible_blobs().items():
        assert reader.open(blob) in ("invalid", "too large"), wrong


def test_sums_of_projections_that_just_fit_are_computed(reader):
    for blob, rows in largest_sums():
        packed, model = bh.Packed.from_bytes(blob), reader.open(blob)
        np.testing.assert_array_equal(reader.scores(model, rows, packed.layout.n_columns), packed.scores(rows))


# By which models may be refused; the others leave out functions, or the checksum.
REFUSING = ("MULTICLASS", "RANKS", "STEPS", "KEYS", "CATEGORIES", "MISSING", "SYMMETRIC", "FACTORS", "PROJECTIONS")
ONLY_ONE_SCORE = ("MULTICLASS", "CATEGORIES", "MISSING", "SYMMETRIC", "FACTORS", "PROJECTIONS")
LEFT_OUT = {
    **{part.lower(): (part,) for part in (*REFUSING, "FLOATS", "VALUES", "PROBABILITIES", "CHECKSUM")},
    "one score of steps": (*ONLY_ONE_SCORE, "RANKS", "KEYS", "VALUES", "PROBABILITIES"),
    "one score of ranks": (*ONLY_ONE_SCORE, "STEPS", "KEYS", "CHECKSUM"),
    "one score of steps of whole numbers": (*ONLY_ONE_SCORE, "RANKS", "KEYS", "FLOATS"),
    "projections": ("RANKS", "CATEGORIES", "MISSING"),
    "projections of whole numbers": ("RANKS", "KEYS", "CATEGORIES", "MISSING", "FLOATS"),
    "categories": ("RANKS", "STEPS", "KEYS"),
    "categories of whole numbers": ("RANKS", "STEPS", "KEYS", "FLOATS", "MISSING"),
    "steps by floats of whole numbers": ("RANKS", "STEPS", "CATEGORIES", "FLOATS"),
    "all": (*REFUSING, "FLOATS", "CHECKSUM"),
}


def whole_rows(rng, n_features):
    """Return rows of int16, from end to end and of small numbers."""
    rows = rng.integers(-32768, 32767, (40, n_features), dtype=np.int16, endpoint=True)
    rows[:20] = rng.integers(-1, 17, (20, n_features))
    rows[0], rows[1] = -32768, 32767
    return rows


@pytest.fixture(scope="module", params=LEFT_OUT)
def smaller(request, tmp_path_factory):
    """Return a reader without some parts, and which."""
    parts = LEFT_OUT[request.param]
    options = ("-O1", "-fsanitize=undefined", "-fno-sanitize-recover=all", *(f"-DBH_NO_{part}" for part in parts))
    return Reader(tmp_path_factory.mktemp("reader"), *options), parts


def test_a_reader_without_some_parts_opens_what_needs_none_of_them(smaller):
    reader, parts = smaller
    models = [blob_model(name) for name in MODELS] + made_up_models(60)
    refused = set()
    for packed, rows in models:
        needed = set(REFUSING) & set(parts) - {macro.removeprefix("BH_NO_") for macro in not_needed(packed)}
        model = reader.open(packed.to_bytes(names=False), n_scratch(packed))
        assert (model == "left out") == bool(needed)
        refused |= needed
        if needed:
            continue
        if "FLOATS" in parts:
            rows = whole_rows(np.random.default_rng(0), packed.n_features)
            scores = reader.scores_of_whole(model, rows, packed.layout.n_columns)
            classes = reader.classes_of_whole(model, rows)
        else:
            scores = reader.scores(model, rows, packed.layout.n_columns)
            classes = reader.classes(model, rows)
        np.testing.assert_array_equal(scores, packed.scores(rows.astype(np.float32)))
        if packed.classes is not None:
            np.testing.assert_array_equal(packed.classes[classes], packed.predict(rows.astype(np.float32)))
    assert refused == set(REFUSING) & set(parts)


def test_a_reader_without_functions_has_none_of_them(smaller):
    reader, parts = smaller
    for part, functions in {
        "FLOATS": ("bh_scores", "bh_predict", "bh_value", "bh_proba"),
        "VALUES": ("bh_value",),
        "PROBABILITIES": ("bh_proba",),
    }.items():
        if part in parts:
            assert not any(hasattr(reader.library, function) for function in functions)
    assert hasattr(reader.library, "bh_value") == (not {"FLOATS", "VALUES"} & set(parts))
    assert hasattr(reader.library, "bh_proba") == (not {"FLOATS", "PROBABILITIES"} & set(parts))


def test_a_reader_without_some_parts_refuses_what_cannot_be(smaller):
    reader, _ = smaller
    for wrong, (blob, _) in impossible_blobs().items():
        assert reader.open(blob) in ("invalid", "too large", "left out"), wrong


def test_damage_is_told_only_where_the_checksum_is_looked_at(smaller):
    reader, parts = smaller
    packed, rows = blob_model("one split")
    blob = bytearray(packed.to_bytes(names=False))
    blob[-1] ^= 1
    model = reader.open(bytes(blob))
    assert (model == "damaged") == ("CHECKSUM" not in parts)
    if "CHECKSUM" in parts and not isinstance(model, str):
        np.testing.assert_array_equal(reader.scores(model, rows, 1), packed.scores(rows))


def test_a_model_says_how_much_scratch_it_needs(reader):
    for name in ("gaps, 3", "26 classes", "one leaf", "projections, 8 bits"):
        packed, _ = blob_model(name)
        assert reader.open(packed.to_bytes(), n_scratch(packed) - 1) == "scratch"
        assert reader.open(packed.to_bytes(), n_scratch(packed)) != "scratch"
    assert reader.library.bh_error_text(7) == b"it needs more scratch"
    assert reader.library.bh_error_text(8) == b"this reader was compiled without what it needs"


@given(st.data())
@settings(max_examples=200)
def test_what_python_reads_of_made_up_blobs_is_read_alike(reader, data):
    """With a checksum that fits. The reader may take what Python calls odd."""
    packed, rows = blob_model(data.draw(st.sampled_from(sorted(MODELS))))
    core = bytearray(packed.to_bytes(names=False)[:-4])
    places = st.one_of(st.integers(8, min(60, len(core) - 1)), st.integers(8, len(core) - 1))
    for at, byte in data.draw(st.lists(st.tuples(places, st.integers(0, 255)), min_size=1, max_size=3)):
        core[at] = byte
    blob = sealed(bytes(core))
    model = reader.open(blob)
    try:
        again = bh.Packed.from_bytes(blob)
    except bh.ModelFileError:
        return
    assert not isinstance(model, str), model
    if again.n_features == packed.n_features:
        np.testing.assert_array_equal(reader.scores(model, rows, again.layout.n_columns), again.scores(rows))


FUZZED = {
    "uint32_t": ("-DBH_COUNT=uint32_t",),
    "uint16_t": ("-DBH_COUNT=uint16_t",),
    "without": tuple(f"-DBH_NO_{part}" for part in ("MISSING", "KEYS", "CATEGORIES", "SYMMETRIC", "CHECKSUM")),
    "least": (
        "-DBH_COUNT=uint16_t",
        *(f"-DBH_NO_{part}" for part in LEFT_OUT["one score of steps of whole numbers"]),
    ),
}


@pytest.mark.parametrize("kind", FUZZED)
def test_whatever_bytes_there_are_nothing_outside_of_them_is_read(kind, tmp_path):
    """By libFuzzer, for as many runs as take some seconds; `make fuzz-c` goes on for as long as one likes."""
    if shutil.which("clang") is None:
        pytest.skip("clang is not installed: make toolchains")
    write_reader(tmp_path)
    (tmp_path / "corpus").mkdir()
    for number, name in enumerate(MODELS):
        (tmp_path / "corpus" / str(number)).write_bytes(blob_model(name)[0].to_bytes(names=False))
    # Which says itself that it is too short for a header and a checksum, and has the right one.
    (tmp_path / "corpus" / "short").write_bytes(sealed(b"BHM\1\0\0\0\0") + bytes(4))
    sanitizers = ["-fsanitize=fuzzer,address,undefined", "-fno-sanitize=float-divide-by-zero"]
    options = ["-std=c99", "-O1", *sanitizers, "-fno-sanitize-recover=all", *FUZZED[kind], "-I."]
    command = ["clang", *options, str(HERE / "fuzz.c"), "billhook.c", "-o", "fuzz"]
    subprocess.run(command, cwd=tmp_path, check=True)
    run = ["./fuzz", "-seed=1", f"-runs={os.environ.get('BILLHOOK_FUZZ_RUNS', '10000')}", "-max_len=1024", "corpus"]
    if seconds := os.environ.get("BILLHOOK_FUZZ_SECONDS"):
        run[2] = f"-max_total_time={seconds}"
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    print(done.stderr[-200:])


@pytest.mark.parametrize(
    "compiler",
    [
        ["gcc", "-std=c99", "-O2"],
        ["clang", "-std=c99", "-O2"],
        ["g++", "-x", "c++", "-std=c++98", "-O2"],
        ["clang++", "-x", "c++", "-std=c++17"],
        ["avr-gcc", "-std=c99", "-mmcu=atmega328p", "-Os"],
        ["avr-gcc", "-std=c99", "-mmcu=attiny40", "-Os"],
        ["arm-none-eabi-gcc", "-std=c99", "-mcpu=cortex-m0", "-mthumb", "-Os"],
    ],
    ids=lambda command: next((part[6:] for part in command if part.startswith("-mmcu=")), command[0]),
)
def test_the_reader_compiles_without_a_warning(compiler, tmp_path):
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"{compiler[0]} is not installed: make toolchains")
    write_reader(tmp_path)
    warnings = ["-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]
    subprocess.run([*compiler, *warnings, "-c", "billhook.c", "-o", "out.o"], cwd=tmp_path, check=True)


def test_the_reader_takes_nothing_from_a_library(tmp_path):
    write_reader(tmp_path)
    subprocess.run(["gcc", "-std=c99", "-Os", "-c", "billhook.c", "-o", "out.o"], cwd=tmp_path, check=True)
    listed = subprocess.run(["nm", "out.o"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    undefined = {line.split()[-1] for line in listed.splitlines() if " U " in line}
    assert undefined <= {"memset"}  # which a compiler may call for a loop, and every C has
    assert not [line for line in listed.splitlines() if line.split()[-2] in "bBdDC"]


@pytest.mark.parametrize(
    "name",
    ["steps", "ranks, no missing values", "gaps, missing values, 3", "sets of categories", "projections, 8 bits"],
)
@pytest.mark.parametrize("target", ["arduino-uno", "cortex-m0"])
def test_an_emulated_target_has_the_same_scores(target, name, tmp_path):
    tools = tools_for(target_named(target))
    try:
        tools.check_installed()
    except bh.MissingToolError as error:
        pytest.skip(f"{error}: make toolchains")
    packed, rows = blob_model(name)
    rows = np.ascontiguousarray(rows[:8], np.float32)
    write_model(packed, tmp_path)
    cells = ", \\\n".join("{" + ",".join(map(str, row)) + "}" for row in rows.view(np.uint32).tolist())
    about = {"function": "model_scores", "feature_type": "float", "row_type": "uint32_t", "n_rows": len(rows)}
    (tmp_path / "rows.h").write_text(filled_firmware("rows.h", rows=cells, **about))
    for file in FIRMWARE:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(firmware_source(file))
    program, empty = (compile_program(tmp_path, tools, file) for file in ("model.c", "empty.c"))
    scores, _, _ = read_printed(run_program(program, tools)[0], packed)
    np.testing.assert_array_equal(scores, packed.scores(rows))
    code = program_sizes(program, tools)[0] - program_sizes(empty, tools)[0] - len(packed.to_bytes(names=False))
    assert 0 < code <= BLOB_READER_BYTES[target_named(target).family]


X, y = load_iris(return_X_y=True)
IRIS = [bh.pack(RandomForestClassifier(n, max_leaf_nodes=6, random_state=n).fit(X, y), leaf_bits=5) for n in (3, 4)]


def test_a_project_tests_itself_and_opens_other_models(tmp_path):
    first, second = IRIS
    bh.emit(first, tmp_path / "out", runtime="c", name="my flowers", X=X)
    done = subprocess.run(["make", "-C", str(tmp_path / "out"), "test"], check=True, capture_output=True, text=True)
    assert "32 of 32 rows as expected" in done.stdout
    assert bh.load(tmp_path / "out" / "my_flowers.bhm") == first
    (tmp_path / "other.bhm").write_bytes(second.to_bytes())
    (tmp_path / "damaged.bhm").write_bytes(second.to_bytes()[:-200])
    shown = subprocess.run(["out/main", "other.bhm"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert shown.stdout == f"other.bhm: class {second.predict(X[:1])[0]} of 3\n"
    failed = subprocess.run(["out/main", "damaged.bhm"], cwd=tmp_path, check=False, capture_output=True, text=True)
    assert failed.returncode == 1
    assert "it is cut off" in failed.stdout
    source = (tmp_path / "out" / "main.c").read_text()
    (tmp_path / "out" / "main.c").write_text(
        source.replace("expected[32][3] = {\n    {", "expected[32][3] = {\n    {1")
    )
    assert subprocess.run(["make", "-C", str(tmp_path / "out"), "test"], capture_output=True, check=False).returncode


def make_test(folder):
    """Return what `make test` does, with no settings of the user's own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "test"]
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, env=environment)


@pytest.mark.parametrize("more", [(), ("BH_NO_FLOATS",), ("BH_NO_VALUES", "BH_NO_PROBABILITIES", "BH_NO_CHECKSUM")])
@pytest.mark.parametrize("name", ["ranks", "counts", "26 classes", "gaps, missing values, 3"])
def test_a_project_tests_itself_without_what_its_readme_says_may_be_left_out(name, more, tmp_path):
    packed, rows = blob_model(name)
    bh.emit(packed, tmp_path / "out", runtime="c", name="it", X=rows)
    assert "as expected" in make_test(tmp_path / "out").stdout
    macros = {*re.findall(r"`(BH_NO_\w+)`", (tmp_path / "out" / "README.md").read_text()), *more}
    assert ("BH_NO_VALUES" in macros) == (packed.classes is not None or "BH_NO_VALUES" in more)
    config = "".join(f"#define {macro} 1\n" for macro in sorted(macros))
    (tmp_path / "out" / "billhook_config.h").write_text(config)
    done = make_test(tmp_path / "out")
    # Which is compiled anew, since there is another file now.
    assert " main.c " in done.stdout
    assert re.search(r"(\d+) of \1 rows as expected", done.stdout), done.stderr
    assert "warning" not in done.stderr
    shown = subprocess.run(["./main", "it.bhm"], cwd=tmp_path / "out", check=True, capture_output=True, text=True)
    assert shown.stdout.startswith("it.bhm: " + ("class " if packed.classes is not None else ""))
    wrong = re.sub(r"(expected\[.*= \{\n    \{)", r"\g<1>1", (tmp_path / "out" / "main.c").read_text())
    (tmp_path / "out" / "main.c").write_text(wrong)
    assert "row 0: the scores differ" in make_test(tmp_path / "out").stdout


@pytest.mark.parametrize("part", [*REFUSING, "FLOATS", "VALUES", "PROBABILITIES", "CHECKSUM"])
def test_a_part_is_left_out_by_1_and_not_by_nothing(part, tmp_path):
    write_reader(tmp_path)
    for value, is_right in (("", False), ("0", True), ("1", True)):
        (tmp_path / "billhook_config.h").write_text(f"#define BH_NO_{part} {value}\n")
        command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-Wundef", "-c", "billhook.c"]
        done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
        assert (done.returncode == 0) == is_right, done.stderr
        if not is_right:
            assert "#define BH_NO_RANKS 1" in done.stderr


@pytest.mark.parametrize("name", ["ranks", "counts", "26 classes"])
def test_the_c_in_a_readme_compiles(name, tmp_path):
    bh.emit(blob_model(name)[0], tmp_path / "out", runtime="c", name="it")
    [code] = re.findall(r"```c\n(.*?)```", (tmp_path / "out" / "README.md").read_text(), re.DOTALL)
    before, declared, body = code.partition("static int32_t")
    (tmp_path / "out" / "readme.c").write_text(f"{before}void use(void);\nvoid use(void)\n{{\n{declared}{body}}}\n")
    options = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-Wno-unused-but-set-variable"]
    options += ["-Wno-uninitialized", "-Wno-maybe-uninitialized"]  # the row is for the reader of the README to fill
    subprocess.run(["gcc", *options, "-c", "readme.c", "-o", "readme.o"], cwd=tmp_path / "out", check=True)


REPLACE_MAIN = """
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <string.h>
#include "billhook_replace.h"
#include "model_blob.h"
#include "new.h"

static void put(char c)
{
    while (!(UCSR0A & _BV(UDRE0)))
        ;
    UDR0 = (uint8_t)c;
}

static void hex(uint32_t number)
{
    int8_t k;
    for (k = 28; k >= 0; k = (int8_t)(k - 4))
        put("0123456789abcdef"[number >> k & 15]);
}

static bh_model model;
static int32_t scratch[64];

static void show(void)
{
    uint8_t row, k;
    int which = billhook_open_newest(&model, model_blob, sizeof model_blob, scratch, 64, 4);
    put((char)('b' + which));
    for (row = 0; which >= 0 && row < N_ROWS; row++) {
        float x[4];
        const int32_t *scores;
        memcpy_P(x, rows[row], sizeof x);
        scores = bh_scores(&model, x);
        for (k = 0; k < 3; k++)
            hex((uint32_t)scores[k]);
    }
    put('\\n');
}

/* Of a blob in flash, with a byte changed if it is one of them; less the last ones, and in the end what is open. */
static void receive(const uint8_t *blob, uint16_t size, uint16_t damaged, uint16_t less)
{
    billhook_replacement replacement = {0, 0, 0};
    uint16_t at;
    billhook_receive(&replacement, '?');
    billhook_receive(&replacement, 'R');
    billhook_receive(&replacement, (uint8_t)size);
    billhook_receive(&replacement, (uint8_t)(size >> 8));
    for (at = 0; at < size - less; at++) {
        uint8_t byte = (uint8_t)(pgm_read_byte(blob + at) ^ (at == damaged));
        if (billhook_receive(&replacement, byte) == BILLHOOK_COMPLETE)
            put('!');
    }
    show();
}

/* What is in memory is lost, but for this. */
static uint8_t n_resets __attribute__((section(".noinit")));

static void reset(void)
{
    n_resets++;
    __asm__ volatile("jmp 0");
}

#define WHOLE 0xFFFF
#define RECEIVE(blob, damaged, less) receive(blob, sizeof blob, damaged, less)

int main(void)
{
    UCSR0B = _BV(TXEN0);
    if (MCUSR & _BV(PORF)) {
        MCUSR = 0;
        n_resets = 0;
    }
    show();
    if (n_resets == 0) {
        RECEIVE(first, 77, 0);
        RECEIVE(first, WHOLE, 0);
        RECEIVE(second, WHOLE, 9);
        RECEIVE(second, 77, 0);
        reset();
    }
    if (n_resets == 1) {
        RECEIVE(second, WHOLE, 0);
        reset();
    }
    if (n_resets == 2) {
        RECEIVE(first, WHOLE, 0);
        RECEIVE(large, 77, 0);
        RECEIVE(large, WHOLE, 0);
    }
    cli();
    sleep_enable();
    sleep_cpu();
    return 0;
}
"""


def test_a_model_is_replaced_without_a_new_firmware(tmp_path):
    """From flash; then others come into the EEPROM, whole, damaged or cut off, and are used once nothing is wrong."""
    if shutil.which("avr-gcc") is None or shutil.which("simavr") is None:
        pytest.skip("avr-gcc and simavr are not installed: make toolchains")
    old, first = IRIS
    second, large = (
        bh.pack(RandomForestClassifier(n, max_leaf_nodes=6, random_state=n).fit(X, y), leaf_bits=5) for n in (5, 62)
    )
    bh.emit(old, tmp_path / "out", runtime="c", target="arduino-uno")
    library = tmp_path / "out" / "arduino" / "model" / "src"
    rows = X[::30].astype(np.float32)
    cells = ",\n".join("{" + ",".join(map(str, row)) + "}" for row in rows.view(np.uint32).tolist())
    blobs = {name: packed.to_bytes(names=False) for name, packed in (("first", first), ("second", second))}
    blobs["large"] = large.to_bytes(names=False)
    # Of 1,024 bytes: two have room together, the large one has not with any other.
    assert len(blobs["first"]) + len(blobs["second"]) < 1024 - 64
    assert 1024 - min(map(len, blobs.values())) < len(blobs["large"]) <= 1024
    arrays = [
        f"static const uint8_t {name}[{len(blob)}] PROGMEM = {{{','.join(map(str, blob))}}};\n"
        for name, blob in blobs.items()
    ]
    head = f"#define N_ROWS {len(rows)}\nstatic const uint32_t rows[N_ROWS][4] PROGMEM = {{{cells}}};\n"
    (library / "new.h").write_text(head + "".join(arrays))
    (library / "main.c").write_text(REPLACE_MAIN)
    options = ["-std=gnu99", "-Os", "-Wall", "-Wextra", "-Werror", "-mmcu=atmega328p"]
    sources = ["main.c", "billhook.c", "billhook_replace.c"]
    subprocess.run(["avr-gcc", *options, *sources, "-o", "main.elf"], cwd=library, check=True)
    command = ["simavr", "-f", "16000000", "-m", "atmega328p", "main.elf"]
    done = subprocess.run(command, cwd=library, capture_output=True, text=True, errors="replace", check=False)
    shown = re.findall(rf"(!?[abcd])([0-9a-f]{{{8 * 3 * len(rows)}}})", done.stdout + done.stderr)

    def scores(packed):
        return "".join(f"{score & 0xFFFFFFFF:08x}" for score in packed.scores(rows).ravel().tolist())

    # Which is open: in flash (b), the last (c), or the one before (d); after a "!" if all of a model came.
    assert shown == [
        ("b", scores(old)),
        ("!b", scores(old)),
        ("!c", scores(first)),
        ("d", scores(first)),
        ("!d", scores(first)),
        ("c", scores(first)),  # after a reset
        ("!c", scores(second)),
        ("c", scores(second)),  # after another
        ("!c", scores(first)),
        ("!b", scores(old)),  # damaged, and written over the one that was in use
        ("!c", scores(large)),
    ]


REPLACE_HOST = """
#include <string.h>
#include "billhook_replace.c"
void restart(void) { memset(&newest, 0, sizeof newest); memset(&in_use, 0, sizeof in_use); }
void erase(void) { restart(); memset(kept, 0xFF, sizeof kept); }
void send(const uint8_t *blob, uint16_t size, uint16_t n_sent, uint16_t damaged)
{
    billhook_replacement replacement = {0, 0, 0};
    uint16_t at;
    billhook_receive(&replacement, 'R');
    billhook_receive(&replacement, (uint8_t)size);
    billhook_receive(&replacement, (uint8_t)(size >> 8));
    for (at = 0; at < n_sent; at++)
        billhook_receive(&replacement, (uint8_t)(blob[at] ^ (at == damaged)));
}
"""


class Kept:
    """The place of received models, with what makes them come and fail, on this machine."""

    def __init__(self, folder, in_flash):
        for file in ("billhook_replace.c", "billhook_replace.h"):
            (folder / file).write_text(runtime_source(f"c/arduino/{file}"))
        write_reader(folder)
        (folder / "host.c").write_text(REPLACE_HOST)
        options = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-DBILLHOOK_REPLACE_BYTES=1024"]
        options += ["-fsanitize=undefined", "-fno-sanitize-recover=all", "-shared", "-fPIC"]
        subprocess.run(["gcc", *options, "host.c", "billhook.c", "-o", "host.so"], cwd=folder, check=True)
        self.library, self.in_flash = ctypes.CDLL(str(folder / "host.so")), in_flash
        self.library.bh_scores.restype = ctypes.POINTER(ctypes.c_int32)

    def opened(self, row):
        """Return which model is open, as `billhook_open_newest` says, and its scores of a row."""
        model, scratch = ctypes.create_string_buffer(MODEL_BYTES), (ctypes.c_int32 * 64)()
        size = ctypes.c_size_t(len(self.in_flash))
        expected = (ctypes.c_size_t(64), ctypes.c_uint32(4))
        which = self.library.billhook_open_newest(model, self.in_flash, size, scratch, *expected)
        return which, tuple(self.library.bh_scores(model, row.ctypes.data_as(ctypes.c_void_p))[:3])


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return Kept(tmp_path_factory.mktemp("kept"), IRIS[0].to_bytes(names=False))


FOREST_SIZES = (2, 5, 9, 20, 30, 45, 60)
REFUSED = ("damaged", "cut off", "of other rows")


@cache
def flowers_of(n, n_features=4):
    """Return the blob of a forest of so many trees, and its scores of a row."""
    model = RandomForestClassifier(n, max_leaf_nodes=6, random_state=n).fit(X[:, :n_features], y)
    packed = bh.pack(model, leaf_bits=5)
    return packed.to_bytes(names=n % 2 == 0), tuple(packed.scores(X[100:101, :n_features])[0].tolist())


@given(st.data())
@settings(max_examples=150)
def test_a_received_model_stays_until_another_is_whole(kept, data):
    """Whatever comes, is damaged or cut off, and whenever the power fails."""
    row = np.ascontiguousarray(X[100], np.float32)
    at_first = tuple(IRIS[0].scores(X[100:101])[0].tolist())
    kept.library.erase()
    current, size = at_first, 0
    whole = set()  # of which it is not known since the power failed whether they came later than the current one
    for _ in range(data.draw(st.integers(1, 8))):
        kind = data.draw(st.sampled_from(["whole", *REFUSED, "the power fails", "and at its end"]))
        n_features = 3 if kind == "of other rows" else 4
        blob, scores = flowers_of(data.draw(st.sampled_from(FOREST_SIZES[: n_features + 3])), n_features)
        assert len(blob) <= 1024
        n_sent = data.draw(st.integers(1, len(blob) - 1)) if kind in ("cut off", "the power fails") else len(blob)
        # A byte of the part that a checksum is of.
        kept.library.send(blob, len(blob), n_sent, data.draw(st.integers(0, 99)) if kind == "damaged" else 0xFFFF)
        if kind in ("the power fails", "and at its end"):
            kept.library.restart()
        which, found = kept.opened(row)
        if kind == "whole":
            assert (which, found) == (1, scores)
        elif kind != "and at its end" or found != scores:
            if size + len(blob) <= 1024:
                assert found == current
            assert found in (current, at_first, *whole)
            assert which == (0 if found == at_first else 2 if kind in REFUSED else 1)
        # And the one before is still there, beside it.
        whole |= {scores, current} if kind == "and at its end" else set()
        if found != current:
            current, size = found, 0 if found == at_first else len(blob)
        kept.library.restart()
        assert kept.opened(row)[1] == current


def test_a_model_of_other_rows_does_not_take_the_place_of_a_good_one(kept):
    row = np.ascontiguousarray(X[100], np.float32)
    (good, scores), (other, _) = flowers_of(9), flowers_of(5, 3)
    kept.library.erase()
    for blob, which in ((good, 1), (other, 2), (other, 2), (good, 1), (other, 2)):
        kept.library.send(blob, len(blob), len(blob), 0xFFFF)
        assert kept.opened(row) == (which, scores)
    kept.library.restart()
    assert kept.opened(row) == (1, scores)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("-DBH_NO_CHECKSUM", "a model that is replaced needs the checksum"),
        ("-DBILLHOOK_REPLACE_BYTES=65536", "BILLHOOK_REPLACE_BYTES is 65535 at most"),
        ("-DBILLHOOK_REPLACE_BYTES=65535", None),
        ("-DBH_NO_CHECKSUM=0", None),
    ],
)
def test_what_a_replaced_model_cannot_do_without_is_told_when_it_is_compiled(option, message, tmp_path):
    for file in ("billhook_replace.c", "billhook_replace.h"):
        (tmp_path / file).write_text(runtime_source(f"c/arduino/{file}"))
    write_reader(tmp_path)
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", option, "-c", "billhook_replace.c"]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert (done.returncode == 0) == (message is None), done.stderr
    assert message is None or message in done.stderr


def test_the_sketch_compiles(tmp_path):
    """Against as little of Arduino as it uses."""
    if shutil.which("avr-g++") is None:
        pytest.skip("avr-gcc is not installed: make toolchains")
    bh.emit(IRIS[0], tmp_path / "out", runtime="c", target="arduino-uno", name="flowers")
    library = tmp_path / "out" / "arduino" / "flowers"
    stub = """#include <stddef.h>
#include <stdint.h>
static unsigned long millis() { return 0; }
struct Port { void begin(long) {} int available() { return 0; } int read() { return 0; }
  void println(const char *) {} void println(int) {} void println(float) {} };
static Port Serial;
void setup(); void loop();
int main() { setup(); loop(); return 0; }
"""
    sketch = (library / "examples" / "replace" / "replace.ino").read_text()
    (tmp_path / "sketch.cpp").write_text(stub + sketch)
    options = ["-Os", "-Wall", "-Wextra", "-Werror", "-mmcu=atmega328p", "-I", str(library / "src")]
    subprocess.run(["avr-g++", *options, "-c", "sketch.cpp", "-o", "sketch.o"], cwd=tmp_path, check=True)


# As little of Arduino as the sketch uses, with a clock that goes on when bytes are looked for and when one is kept.
# Bytes come as fast as the line has them, and are lost if 63 wait already.
BOARD = """#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <vector>
struct Sent { double at; int byte; };
static std::vector<Sent> sent;
static double now;
static unsigned long millis() { return (unsigned long)now; }
struct Port {
  size_t next = 0;
  std::deque<int> waiting;
  double a_byte = 0;
  void begin(long baud) { a_byte = 10000.0 / baud; }
  int available() {
    now += 0.05;
    for (; next < sent.size() && sent[next].at * a_byte <= now; next++)
      if (waiting.size() < 63) waiting.push_back(sent[next].byte);
    return (int)waiting.size();
  }
  int read() { int byte = waiting.front(); waiting.pop_front(); now += 3.4; return byte; }
  void println(const char *text) { puts(text); }
  void println(int number) { printf("%d\\n", number); }
  void println(float number) { printf("%g\\n", (double)number); }
};
static Port Serial;
void setup(); void loop();
int main() {
  setup();
  double at = 500;
  for (int byte; (byte = getchar()) != EOF; at++) {
    if (byte == 0xFF && (byte = getchar()) != 0xFF) at += 1000;  // a pause, of some seconds
    sent.push_back({at, byte});
  }
  while (now < (at + 1000) * Serial.a_byte) loop();
}
"""


def test_the_sketch_takes_models_at_the_speed_of_its_line(tmp_path):
    """Ones that are cut off, whole, cut off again, damaged, and one with another number of features."""
    old = IRIS[0]
    new = bh.pack(RandomForestClassifier(16, max_leaf_nodes=12, random_state=0).fit(X, y), leaf_bits=5)
    bh.emit(old, tmp_path / "out", runtime="c", target="arduino-mkr1000")
    library = tmp_path / "out" / "arduino" / "model"
    (tmp_path / "sketch.cpp").write_text(BOARD + (library / "examples" / "replace" / "replace.ino").read_text())
    sources = [str(library / "src" / file) for file in ("billhook.c", "billhook_replace.c")]
    options = ["-O1", "-Wall", "-Wextra", "-Werror", "-I", str(library / "src")]
    subprocess.run(["g++", *options, "sketch.cpp", *sources, "-o", "sketch"], cwd=tmp_path, check=True)
    other = bh.pack(RandomForestClassifier(2, max_leaf_nodes=4, random_state=0).fit(X[:, :3], y), leaf_bits=5)
    blobs = [packed.to_bytes(names=False) for packed in (new, new, other)]
    assert len(blobs[0]) > 4 * 63
    whole = [b"R" + struct.pack("<H", len(blob)) + blob for blob in blobs]
    damaged = whole[1][:80] + bytes([whole[1][80] ^ 1]) + whole[1][81:]
    parts = [whole[0][:-9], whole[1], whole[1][:-9], damaged, whole[2]]
    line = b"\xff".join(part.replace(b"\xff", b"\xff\xff") for part in parts)
    done = subprocess.run([tmp_path / "sketch"], input=line, capture_output=True, check=True)
    said = [text for text in done.stdout.decode().splitlines() if not text.isdigit()]
    refused = "what came was refused: damaged, too large, or not of 4 features"
    assert said == [
        "the model in flash",
        "cut off",
        "the model in flash",
        "the new model",
        "cut off",
        "the model before",
        "the model before",
        refused,
        "the model before",
        refused,
    ]
    answers = [int(text) for text in done.stdout.decode().splitlines() if text.isdigit()]
    assert [answers[0], answers[-1]] == [packed.predict(np.zeros((1, 4)))[0] for packed in (old, new)]


def test_the_reader_is_part_of_the_package():
    for name in ("c/billhook.h", "c/billhook.c", "c/arduino/billhook_replace.c", "web/billhook.mjs"):
        assert runtime_source(name)


def test_what_avr_gcc_cannot_compile_is_refused(tmp_path):
    rng = np.random.default_rng(0)
    large = bh.pack(random_forest(rng, (400,) * 60, 10, n_classes=3), leaf_bits=12)
    with pytest.raises(bh.DoesNotFitError, match="avr-gcc compiles arrays of 32,767 at most"):
        bh.emit(large, tmp_path / "out", runtime="c", target="arduino-mega")


def test_what_does_not_fit_beside_the_reader_is_refused(tmp_path):
    rng = np.random.default_rng(0)
    large, small, few = (bh.pack(random_forest(rng, (200,) * n, 10, n_classes=3), leaf_bits=12) for n in (22, 11, 5))
    wide = bh.pack(random_forest(rng, (300,), 400), leaf_bits=4, missing_values=False)
    for packed, target, message in (
        (few, "attiny85", r"reads any blob takes up to 4,140, and attiny85 has 8,192 bytes of flash"),
        (large, "arduino-uno", r"reads any blob takes up to 4,140, and arduino-uno has 32,256 bytes of flash"),
        (small, "ch32v003", r"reads any blob takes up to 2,690, and ch32v003 has 16,384 bytes of flash"),
        (wide, "arduino-uno", r"an open model takes [0-9,]+ bytes of memory with its row, and arduino-uno has 2,048"),
    ):
        with pytest.raises(bh.DoesNotFitError, match=message):
            bh.emit(packed, tmp_path / "out", runtime="c", target=target)
        assert not (tmp_path / "out").exists()
    bh.emit(IRIS[0], tmp_path / "out", runtime="c", target="attiny85")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"runtime": "cobol"}, "there is no runtime 'cobol'; known are c"),
        (
            {"runtime": "c", "layout": "fast"},
            "layout is for C made of one model; runtime='c' reads",
        ),
        ({"runtime": "c", "y": y, "X": X}, "y is for C made of one model"),
        ({"runtime": "c", "target": "unos"}, "no target 'unos'"),
        (
            {"runtime": "rust", "target": "uno"},
            "target='uno' is for C.* runtime='rust' writes the same for all",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        bh.emit(IRIS[0], tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
