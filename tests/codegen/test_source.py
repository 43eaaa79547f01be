import ctypes
import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import billhook as bh
from billhook.codegen import Form, header, source
from billhook.codegen._names import identifier
from compiled import FLAGS, compiled, write_sources
from ensembles import CLASSIFIERS, REGRESSORS
from made_up import TRICKY, categorical_forests, forests, random_forest, rows_of_categories, tricky_rows, with_sets
from short_models import SHORT, short_model

X3, y3 = load_iris(return_X_y=True)
X2, y2 = load_breast_cancer(return_X_y=True)
X_n, y_n = load_diabetes(return_X_y=True)
WAYS = [("exact", 16), ("exact", 5), (16, 8), (9, 8), (8, 3), (3, 2), (12, 9), (7, 6)]
KINDS = ("float", "int16", "uint8")
FORMS = {
    "compact": Form("compact", KINDS),
    "balanced": Form("balanced", KINDS),
    "fast": Form("fast", KINDS),
    "fast, small": Form("fast", KINDS, is_small=True),
}
IRIS = bh.pack(RandomForestClassifier(2, max_leaf_nodes=4, random_state=0).fit(X3, y3))
COMPILERS = {
    "host": ["gcc"],
    "uno": ["avr-gcc", "-mmcu=atmega328p"],
    # Cores whose lpm, if they have one, reads into no register of choice: a reduced one, and an old one.
    "attiny40": ["avr-gcc", "-mmcu=attiny40"],
    "at90s8515": ["avr-gcc", "-mmcu=at90s8515"],
    "cortex-m0": ["arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb"],
    "cortex-m4": ["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"],
    "armv6": ["arm-linux-gnueabi-gcc", "-march=armv6", "-marm", "-mfpu=vfp", "-mfloat-abi=softfp"],
}
# Not optimized, which compiles in half the time: what is checked is what the C says. Tests without it, on the host
# and in emulators, compile with -O1, -Os and -O2.
SANITISED = ["-O0", "-fsanitize=undefined", "-fno-sanitize-recover=all"]


def rows_for(forest, X, n_rows=300):
    """Real rows, the thresholds themselves and their neighbours, and numbers that no data have."""
    rng = np.random.default_rng(0)
    rows = np.repeat(X[rng.integers(len(X), size=n_rows)].astype(np.float32), 1, axis=0)
    thresholds = forest.threshold[forest.feature >= 0]
    if thresholds.size:
        near = np.concatenate(
            [thresholds, np.nextafter(thresholds, np.float32(np.inf)), np.nextafter(thresholds, np.float32(-np.inf))]
        )
        rows = np.where(rng.random(rows.shape) < 0.3, rng.choice(near, rows.shape), rows)
    rows = np.where(rng.random(rows.shape) < 0.1, rng.choice(TRICKY, rows.shape), rows)
    return np.where(rng.random(rows.shape) < 0.05, np.float32(np.nan), rows)


def check(packed, rows, folder, form, *more, kind="float"):
    """Compare the scores of rows in C with those in Python, bit by bit."""
    folder.mkdir()
    if kind != "float":
        low, high = (0, 255) if kind == "uint8" else (-32768, 32767)
        rows = np.clip(np.rint(np.nan_to_num(rows, nan=7.0)), low, high).astype(np.float32)
    found = compiled(packed, folder, *more, form=form, kind=kind)(rows)
    np.testing.assert_array_equal(found, packed.scores(rows))


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("classes", [2, 3])
def test_every_classifier_scores_the_same_in_c(name, classes, tmp_path):
    X, y = (X2, y2) if classes == 2 else (X3, y3)
    forest = bh.as_forest(clone(CLASSIFIERS[name]).fit(X, y))
    rows = rows_for(forest, X)
    for (threshold_bits, leaf_bits), form in zip(WAYS[(classes == 3) :: 2], FORMS, strict=True):
        packed = bh.pack(forest, threshold_bits=threshold_bits, leaf_bits=leaf_bits)
        check(packed, rows, tmp_path / form, FORMS[form])


@pytest.mark.parametrize("name", REGRESSORS)
def test_every_regressor_scores_the_same_in_c(name, tmp_path):
    forest = bh.as_forest(clone(REGRESSORS[name]).fit(X_n, y_n))
    packed = bh.pack(forest, threshold_bits=10, leaf_bits=9)
    for form in FORMS:
        check(packed, rows_for(forest, X_n), tmp_path / form, FORMS[form])


@pytest.mark.parametrize(("threshold_bits", "leaf_bits"), WAYS)
@pytest.mark.parametrize("missing_values", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_every_option_scores_the_same_in_c(threshold_bits, leaf_bits, missing_values, form, tmp_path):
    X, y = load_digits(return_X_y=True)
    forest = bh.as_forest(RandomForestClassifier(4, max_leaf_nodes=30, random_state=0).fit(X / 7, y))
    packed = bh.pack(forest, threshold_bits=threshold_bits, leaf_bits=leaf_bits, missing_values=missing_values)
    check(packed, rows_for(forest, X / 7), tmp_path / "out", FORMS[form], *SANITISED)


@pytest.mark.parametrize("threshold_bits", ["exact", 13, 8, 5])
@pytest.mark.parametrize("form", FORMS)
def test_whole_numbers_score_the_same_in_c(threshold_bits, form, tmp_path):
    """Features of any size and sign, thresholds within and beyond what the type can hold."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 6)) * [1, 30, 200, 3e3, 2e4, 1e5]
    y = (X[:, 0] + X[:, 1] / 30 + X[:, 2] / 200 + X[:, 3] / 3e3 + X[:, 4] / 2e4 + X[:, 5] / 1e5) > 0
    forest = bh.as_forest(RandomForestClassifier(6, max_leaf_nodes=40, random_state=0).fit(np.rint(X), y))
    packed = bh.pack(forest, threshold_bits=threshold_bits)
    rows = rows_for(forest, X)
    for kind in ("int16", "uint8"):
        check(packed, rows, tmp_path / kind, FORMS[form], *SANITISED, kind=kind)


@pytest.mark.parametrize("name", SHORT)
@pytest.mark.parametrize("n_classes", [1, 3])
def test_short_models_score_the_same_in_c(name, n_classes, tmp_path):
    packed, rows = short_model(name, n_classes)
    for form in FORMS:
        check(packed, rows, tmp_path / form, FORMS[form], *SANITISED)
    for form in ("compact", "balanced"):
        check(packed, rows, tmp_path / f"{form}, int16", FORMS[form], *SANITISED, kind="int16")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("leaf_bits", [3, 16])
def test_scales_of_classes_and_codebooks_score_the_same_in_c(form, per_class, leaf_bits, tmp_path):
    rng = np.random.default_rng(0)
    forest = random_forest(rng, (20, 0, 9, 30), 4, 4, per_class, "any")
    forest = forest.with_values(forest.value * (1.0 if per_class else np.array([9.0, 1.0, 0.01, 3.0])))
    rows = tricky_rows(rng, 200, 4)
    for number, codebook in enumerate((None,) if per_class else (None, 7)):
        packed = bh.pack(forest, leaf_bits=leaf_bits, scales="class", codebook=codebook)
        assert packed.layout.factor_bits == 8
        check(packed, rows, tmp_path / str(number), FORMS[form], *SANITISED)


@given(
    forests(),
    st.sampled_from(["exact", 16, 9, 8, 3]),
    st.integers(2, 16),
    st.booleans(),
    st.sampled_from(["one", "class"]),
    st.sampled_from([None, None, 2, 9]),
    st.sampled_from(sorted(FORMS)),
    st.sampled_from(KINDS),
    st.integers(0, 2**32),
)
@settings(max_examples=60, deadline=None)
def test_whatever_is_packed_scores_the_same_in_c(
    tmp_path_factory, forest, threshold_bits, leaf_bits, missing_values, scales, codebook, form, kind, seed
):
    options = {"threshold_bits": threshold_bits, "leaf_bits": leaf_bits, "missing_values": missing_values}
    if codebook is not None and forest.n_classes > 2 and forest.value.shape[1] > 1:
        options["codebook"] = codebook
    try:
        packed = bh.pack(forest, scales=scales, **options)
    except ValueError as error:
        assert "too large for leaves in units of" in str(error)  # noqa: PT017 - most forests are not refused
        return
    rows = tricky_rows(np.random.default_rng(seed), 60, forest.n_features)
    check(packed, rows, tmp_path_factory.mktemp("c") / "out", FORMS[form], *SANITISED, kind=kind)


@given(
    categorical_forests(),
    st.sampled_from(["exact", 16, 8, 2]),
    st.booleans(),
    st.sampled_from(sorted(FORMS)),
    st.sampled_from(KINDS),
    st.integers(0, 2**32),
)
@settings(max_examples=settings.default.max_examples // 2)
def test_categorical_splits_score_the_same_in_c(
    tmp_path_factory, forest, threshold_bits, missing_values, form, kind, seed
):
    packed = bh.pack(forest, threshold_bits=threshold_bits, leaf_bits=6, missing_values=missing_values)
    rows = rows_of_categories(np.random.default_rng(seed), 100, forest.n_features)
    check(packed, rows, tmp_path_factory.mktemp("c") / "out", FORMS[form], *SANITISED, kind=kind)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_features", [1, 9])
def test_ranks_beside_many_categorical_features_score_the_same_in_c(form, n_features, tmp_path):
    """So many tables that counts of thresholds, if they were counted for these too, would take a byte more."""
    rng = np.random.default_rng(0)
    forest = random_forest(rng, (60, 60, 60), n_features, 2, thresholds=rng.normal(size=200))
    forest = with_sets(rng, forest, share=0.3, n_sets=20, categories=np.arange(60))
    packed = bh.pack(forest, threshold_bits="exact", leaf_bits=6)
    assert packed.layout.grid == "ranks"
    assert packed.layout.n_categorical > n_features
    rows = rows_of_categories(rng, 200, n_features, categories=np.arange(60))
    check(packed, rows, tmp_path / "out", FORMS[form], *SANITISED)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("missing_values", [True, False])
def test_steps_by_the_order_of_floats_score_the_same_in_c(form, missing_values, tmp_path):
    rng = np.random.default_rng(0)
    thresholds = np.concatenate([np.exp(rng.normal(0, 5, 200)), -np.exp(rng.normal(0, 5, 50)), [0.0, -0.0]])
    forest = random_forest(rng, (60, 90, 200), 3, 2, thresholds=thresholds)
    packed = bh.pack(forest, threshold_bits=8, leaf_bits=12, missing_values=missing_values)
    assert any(quantizer.is_by_keys for quantizer in packed.quantizers)
    rows = rows_for(forest, rng.choice(thresholds, (300, 3)))
    for kind in KINDS:
        check(packed, rows, tmp_path / kind, FORMS[form], *SANITISED, kind=kind)
    packed.save(tmp_path / "model.bhk")
    assert bh.load(tmp_path / "model.bhk") == packed


def test_splits_that_rounding_made_idle_are_gone_altogether(tmp_path):
    X = np.random.default_rng(0).normal(size=(400, 4))
    rf = RandomForestRegressor(5, max_leaf_nodes=8, random_state=0).fit(X, 1000 + (X[:, 0] > 3) * 1e-12)
    packed = bh.pack(bh.as_forest(rf).with_values(np.round(bh.as_forest(rf).value)))
    assert (packed.layout.n_inner, packed.layout.n_used, packed.nbytes) == (0, 0, 4)
    for form in FORMS:
        check(packed, X.astype(np.float32), tmp_path / form, FORMS[form], *SANITISED)
    np.testing.assert_allclose(packed.predict(X), 1000)


def test_a_column_behind_a_long_count_of_splits(tmp_path):
    rng = np.random.default_rng(0)
    thresholds = rng.normal(size=90)
    forest = random_forest(rng, [9000, *[3] * 4099], 3, 4100, per_class=True, thresholds=thresholds)
    packed = bh.pack(forest)
    assert packed.layout.tree_bits + packed.layout.column_bits > 25
    for form in ("compact", "balanced"):
        check(packed, rng.normal(size=(3, 3)).astype(np.float32), tmp_path / form, FORMS[form])


def test_what_is_not_a_number_counts_as_infinity_where_there_are_no_missing_values(tmp_path):
    rng = np.random.default_rng(0)
    forest = random_forest(rng, (9, 20, 30), 3, 1, thresholds=np.array([-np.inf, -1.0, 0.1, 3e38, np.inf]))
    rows = tricky_rows(rng, 300, 3)
    rows = np.where(rng.random(rows.shape) < 0.3, np.copysign(np.float32(np.nan), rng.normal(size=rows.shape)), rows)
    for threshold_bits in ("exact", 8):
        packed = bh.pack(forest, threshold_bits=threshold_bits, leaf_bits=16, missing_values=False)
        for form in FORMS:
            check(packed, rows, tmp_path / f"{threshold_bits}{form}", FORMS[form], *SANITISED)


@pytest.mark.parametrize("form", FORMS)
def test_one_feature_of_two_scores_the_same_in_c(form, tmp_path):
    rng = np.random.default_rng(0)
    forest = random_forest(rng, (9, 20), 1, 1, thresholds=rng.normal(size=30))
    forest = replace(forest, n_features=2, feature=np.where(forest.feature < 0, -1, 1).astype(np.int32))
    packed = bh.pack(forest, threshold_bits=6)
    assert (packed.layout.id_bits, packed.layout.n_used, packed.layout.has_map) == (1, 1, False)
    check(packed, rng.normal(size=(60, 2)).astype(np.float32), tmp_path / "c", FORMS[form])


def test_more_thresholds_than_can_be_counted_are_refused():
    rng = np.random.default_rng(0)
    thresholds = rng.normal(size=10**6).astype(np.float32)
    forest = random_forest(rng, (40_000, 40_000), 1, 1, thresholds=thresholds)
    with pytest.raises(ValueError, match="more than 16 bits can count: use threshold_bits=16"):
        bh.pack(forest, threshold_bits="exact")


def test_no_address_outside_the_data_is_read(tmp_path):
    """A program of its own, since the address sanitizer must be there from the beginning."""
    rng = np.random.default_rng(0)
    for number, (threshold_bits, leaf_bits, classes) in enumerate(
        [("exact", 16, 4), (9, 2, 1), (16, 16, 2), (2, 3, 9)]
    ):
        forest = random_forest(rng, (0, 7, 90), 5, classes, False, "any")
        packed = bh.pack(forest, threshold_bits=threshold_bits, leaf_bits=leaf_bits)
        rows = tricky_rows(rng, 32, 5)
        for form in FORMS:
            folder = tmp_path / f"{number}{form}"
            target = "arduino-mega" if FORMS[form].is_small else "generic"
            bh.emit(packed, folder, X=rows, layout=FORMS[form].layout, target=target)
            flags = "CFLAGS=-std=c99 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
            done = subprocess.run(["make", "-C", folder, flags, "test"], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("form", FORMS)
def test_it_is_also_cpp(form, tmp_path):
    packed = bh.pack(RandomForestClassifier(3, max_leaf_nodes=9, random_state=0).fit(X3, y3))
    write_sources(packed, tmp_path, FORMS[form])
    flags = ["-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-std=c++11"]
    subprocess.run(["g++", *flags, "-x", "c++", "-c", "model.c", "-o", "model.o"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("target", COMPILERS)
def test_no_compiler_has_anything_to_say(target, form, tmp_path):
    compiler, *options = COMPILERS[target]
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed: make toolchains")
    rng = np.random.default_rng(0)
    for n_classes, per_class, threshold_bits, missing_values in (
        (1, False, "exact", True),
        (2, False, 9, False),
        (5, False, 8, True),
        (5, True, "exact", False),
    ):
        forest = random_forest(rng, (9, 30, 4), 4, n_classes, per_class, "any")
        packed = bh.pack(forest, threshold_bits=threshold_bits, missing_values=missing_values, scales="class")
        in_sets = bh.pack(with_sets(rng, forest), threshold_bits=threshold_bits, missing_values=missing_values)
        for model in (packed, in_sets):
            write_sources(model, tmp_path, FORMS[form])
            subprocess.run(
                [compiler, *options, "-Os", *FLAGS, "-c", "model.c", "-o", "model.o"], cwd=tmp_path, check=True
            )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("threshold_bits", ["exact", 16, 7])
def test_made_up_forests_score_the_same_in_c(threshold_bits, form, tmp_path):
    rng = np.random.default_rng(0)
    for k, (n_classes, per_class, sizes) in enumerate(
        [(1, False, (0,)), (2, False, (3, 0, 200)), (4, True, (9, 1, 0, 30)), (3, False, (62, 63))]
    ):
        forest = random_forest(rng, sizes, 3, n_classes, per_class, "any")
        packed = bh.pack(forest, threshold_bits=threshold_bits, leaf_bits=6)
        check(packed, tricky_rows(rng, 200, 3), tmp_path / str(k), FORMS[form])


@pytest.fixture(scope="module")
def large():
    """Return a forest with more leaves in a tree than 16 bits count, and more features than 8 bits, and rows."""
    rng = np.random.default_rng(0)
    forest = random_forest(rng, (66_000,), n_features=300, n_classes=1, thresholds=rng.normal(size=9000))
    return bh.pack(forest, threshold_bits=12, leaf_bits=12), rng.normal(size=(40, 300)).astype(np.float32)


@pytest.mark.parametrize("form", ["compact", "balanced", "fast"])
def test_a_large_forest_scores_the_same_in_c(form, large, tmp_path):
    packed, rows = large
    assert packed.layout.n_leaves > 65_535
    check(
        packed, rows, tmp_path / "out", replace(FORMS[form], inputs=("float",)), "-O0", "-Wno-misleading-indentation"
    )


@pytest.mark.parametrize("target", COMPILERS)
@pytest.mark.parametrize("threshold_bits", ["exact", 9])
def test_the_bytes_that_land_in_flash_are_those_counted(target, threshold_bits, tmp_path):
    compiler, *options = COMPILERS[target]
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed: make toolchains")
    rf = RandomForestClassifier(9, max_leaf_nodes=50, random_state=0).fit(X2, y2)
    packed = bh.pack(rf, threshold_bits=threshold_bits)
    write_sources(packed, tmp_path)
    arguments = [*options, "-Os", *FLAGS, "-fdata-sections", "-c", "model.c", "-o", "model.o"]
    subprocess.run([compiler, *arguments], cwd=tmp_path, check=True)
    size = compiler.removesuffix("gcc") + "size"
    listed = subprocess.run([size, "-A", "model.o"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    sections = {line.split()[0]: int(line.split()[1]) for line in listed.splitlines() if line.startswith(".")}
    (data,) = [length for name, length in sections.items() if name.endswith("data.data") or name == ".rodata.data"]
    assert data == packed.nbytes
    assert sections[".data"] == sections[".bss"] == 0


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("2nd floor", "model_2nd_floor"),
        ("7", "model_7"),
        ("a1", "a1"),
        ("x", "x"),
        ("int", "model_int"),
        ("?", "model"),
    ],
)
def test_identifiers_begin_with_a_letter_and_are_no_keywords(name, expected):
    assert identifier(name) == expected


@given(st.lists(st.text(), min_size=2, max_size=2, unique=True), st.text(), st.text())
@settings(max_examples=40, deadline=None)
def test_no_name_can_say_anything_in_c(labels, feature, name):
    """Whatever the names are, the program has the same words as with plain ones, but for its strings and comments."""
    packed = replace(IRIS, classes=np.array([*labels, "c"], dtype=object), feature_names=(feature, "b", "c", "d"))
    plain = replace(IRIS, classes=np.array(["a", "b", "c"], dtype=object), feature_names=("a", "b", "c", "d"))
    assert re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", identifier(name))
    for form in FORMS.values():
        for write in (header, source):
            mine, expected = (words(write(one, name, form)) for one in (replace(packed, origin=feature), plain))
            assert mine == expected
    text = source(packed, name)
    text.encode("ascii")
    assert "??" not in text


def words(text):
    """Return C without comments, and with every string the same."""
    return re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))


@pytest.mark.parametrize(
    "hostile", ['"; system("x"); //', "*/ int x;", "a\nb", "??/", "\\", "é漢", "", "int", "%s%n", "1"]
)
def test_names_cannot_break_out_of_their_strings(hostile, tmp_path):
    labels = np.array([hostile, "other"], dtype=object)[y2]
    forest = bh.as_forest(RandomForestClassifier(2, max_leaf_nodes=4, random_state=0).fit(X2, labels))
    packed = bh.pack(replace(forest, origin=hostile))
    compiled(packed, tmp_path)
    library = ctypes.CDLL(str(tmp_path / "model.so"))
    library.model_class_name.restype = ctypes.c_char_p
    names = [library.model_class_name(k).decode() for k in range(2)]
    assert names == [str(label) for label in packed.classes]
    assert library.model_class_name(2) == library.model_class_name(-1) == b""
