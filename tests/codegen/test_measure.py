import shutil

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor

import billhook as bh
from billhook.codegen import TOOLCHAINS, flash_with_reader, target_named
from made_up import random_forest, rows_of_categories, symmetric_forest, tricky_rows, with_sets
from short_models import SHORT, short_model

X3, y3 = load_iris(return_X_y=True)
X2, y2 = load_breast_cancer(return_X_y=True)
X_n, y_n = load_diabetes(return_X_y=True)
TARGETS = ["arduino-uno", "arduino-mega", "cortex-m0", "stm32f2", "cortex-m4", "raspberry-pi-zero", "linux-x86_64"]


def need(target):
    tools = TOOLCHAINS[next(t.family for t in bh.targets() if t.name == target)]
    for program in (tools.compiler, *tools.emulator[:1]):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: make toolchains")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("layout", ["compact", "balanced", "fast"])
@pytest.mark.parametrize(
    ("X", "y", "model", "threshold_bits"),
    [
        (X3, y3, RandomForestClassifier(5, max_leaf_nodes=9, random_state=0), 8),
        (X2, y2, HistGradientBoostingClassifier(max_iter=6, random_state=0), "exact"),
        (X_n, y_n, RandomForestRegressor(4, max_leaf_nodes=20, random_state=0), 12),
    ],
    ids=["three classes", "boosted", "numbers"],
)
def test_devices_answer_as_python_does(target, layout, X, y, model, threshold_bits):
    need(target)
    packed = bh.pack(model.fit(X, y), threshold_bits=threshold_bits)
    rows = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    found = bh.measure(packed, rows, target=target, max_rows=25, layout=layout)
    assert found.agreement == 1.0
    assert found.form.layout == layout
    assert found.data == packed.nbytes
    if layout != "fast":
        assert packed.nbytes < found.flash < 1.3 * packed.nbytes + 1500
    assert found.ram == 0
    assert found.fits in (True, None)
    if target.startswith("arduino"):
        assert found.microseconds == pytest.approx(found.cycles / 16)
        assert 0 < found.stack < 400
    elif target != "linux-x86_64":
        assert found.instructions > 50


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("layout", ["compact", "balanced", "fast"])
def test_devices_read_categories_and_symmetric_trees(target, layout):
    need(target)
    rng = np.random.default_rng(0)
    categorical = with_sets(rng, random_forest(rng, (9, 20, 30), 3, 3), categories=np.arange(40))
    symmetric = symmetric_forest(rng, (3, 5, 4), 3, thresholds=rng.normal(size=30))
    for forest, rows in ((categorical, rows_of_categories(rng, 25, 3)), (symmetric, tricky_rows(rng, 25, 3))):
        packed = bh.pack(forest, leaf_bits=6)
        assert packed.layout.is_symmetric == (forest is symmetric)
        found = bh.measure(packed, rows, target=target, layout=layout)
        assert found.agreement == 1.0
        if layout == "compact" and found.target.flash:
            assert found.flash <= flash_with_reader(packed.nbytes, found.target)


@pytest.mark.parametrize("target", ["arduino-uno", "cortex-m0"])
@pytest.mark.parametrize("name", SHORT)
def test_devices_read_short_models(target, name):
    need(target)
    packed, rows = short_model(name, 3)
    found = bh.measure(packed, rows, target=target, max_rows=10)
    assert found.agreement == 1.0
    assert found.flash < flash_with_reader(packed.nbytes, found.target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("layout", ["compact", "balanced", "fast"])
@pytest.mark.parametrize("inputs", ["int16", "uint8"])
def test_whole_numbers_need_no_floats(target, layout, inputs):
    need(target)
    X, y = load_digits(return_X_y=True)
    packed = bh.pack(RandomForestClassifier(4, max_leaf_nodes=20, random_state=0).fit(X, y), threshold_bits="exact")
    found = bh.measure(packed, X * (-1 if inputs == "int16" else 15), target=target, layout=layout, inputs=inputs)
    assert found.agreement == 1.0
    assert found.ram == 0


# A third of it is for counting shapes by bytes or words, not bit by bit, which takes a third of the time off a row.
@pytest.mark.parametrize(("target", "most"), [("arduino-uno", 1000), ("cortex-m0", 630), ("cortex-m4", 630)])
def test_the_program_that_reads_the_data_is_small(target, most):
    need(target)
    rf = RandomForestClassifier(16, max_leaf_nodes=30, random_state=0).fit(X2, y2)
    packed = bh.pack(rf, threshold_bits=9, missing_values=False)
    assert bh.measure(packed, X2, target=target, max_rows=2).flash - packed.nbytes <= most


def test_an_avr_reads_what_lies_beyond_16_bits_of_address():
    need("arduino-mega")
    rng = np.random.default_rng(0)
    forest = random_forest(rng, (3000,) * 9, n_features=9, n_classes=1, thresholds=rng.normal(size=300))
    packed = bh.pack(forest, threshold_bits=9, leaf_bits=8)
    assert packed.nbytes > 80_000
    found = bh.measure(packed, rng.normal(size=(3, 9)), target="arduino-mega")
    assert found.agreement == 1.0
    assert found.flash_left == found.target.flash - found.flash > 0
    small = bh.measure(packed, rng.normal(size=(3, 9)), target="arduino-uno")
    assert small.fits is False
    assert small.flash_left < -40_000


def test_more_data_than_an_uno_has_flash():
    need("cortex-m4")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 6))
    y = X[:, 0] * X[:, 1] + rng.normal(size=4000)
    packed = bh.pack(
        RandomForestRegressor(8, max_leaf_nodes=1500, random_state=0).fit(X, y), threshold_bits=16, leaf_bits=16
    )
    assert packed.nbytes > 32_256
    assert bh.measure(packed, X, target="cortex-m4", max_rows=3).agreement == 1.0


def test_a_missing_tool_is_named_with_its_package(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        bh.MissingToolError, match="avr-gcc is not installed; on Debian: apt-get install gcc-avr avr-libc"
    ):
        bh.measure(RandomForestClassifier(2).fit(X3, y3), X3, target="arduino-uno")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "z80"}, "no target 'z80'"),
        ({"max_rows": 0}, "max_rows must be 1 or more, not 0"),
        ({"inputs": ("float", "int16")}, "one kind of input at a time"),
        ({"X": X3[:0]}, "no rows to run"),
        ({"X": X3[:, :2]}, "X has 2 features"),
    ],
)
def test_what_cannot_be_measured_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        bh.measure(RandomForestClassifier(2).fit(X3, y3), **{"X": X3, **options})


@pytest.mark.parametrize("target", ["arduino-uno", "arduino-mkr1000", "arduino-due", "stm32f4"])
@pytest.mark.parametrize(
    "options",
    [
        {"leaf_bits": 4},
        {"leaf_bits": 4, "missing_values": False},
        {"leaf_bits": 4, "codebook": 16, "scales": "class"},
        {"threshold_bits": "exact"},
        {"threshold_bits": 12, "leaf_bits": 11, "scales": "class"},
    ],
    ids=str,
)
def test_what_reads_a_model_takes_no_more_than_is_reckoned_with(target, options):
    need(target)
    packed = bh.pack(RandomForestClassifier(5, max_leaf_nodes=16, random_state=0).fit(X3, y3), **options)
    measured = bh.measure(packed, X3[:2], target=target)
    assert measured.flash <= flash_with_reader(packed.nbytes, target_named(target))
