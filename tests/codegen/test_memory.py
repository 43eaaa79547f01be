import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

import billhook as bh
from billhook.codegen import (
    Form,
    allows_projections,
    data_limit,
    fits_in,
    flash_with_reader,
    most_flash,
    target_fits,
    target_named,
)
from billhook.codegen._memory import LEAST_BESIDE_PROJECTIONS, PROJECTION_BYTES, READER_BYTES, least_stack
from made_up import random_forest
from projected import projected_model

X, y = make_classification(4000, 10, n_informative=8, n_classes=4, random_state=0)


@pytest.fixture(scope="module")
def large():
    return bh.as_forest(RandomForestClassifier(24, max_leaf_nodes=300, random_state=0).fit(X, y))


def test_what_would_fit_is_said_and_fits(large, tmp_path):
    large = large.select(np.arange(32) % 24)
    packed = bh.pack(large, threshold_bits=12, leaf_bits=16)
    with pytest.raises(bh.DoesNotFitError, match="32,256") as raised:
        bh.emit(packed, tmp_path / "out", target="arduino-uno")
    assert f"{packed.nbytes:,}" in str(raised.value)
    with pytest.raises(bh.DoesNotFitError) as raised:
        bh.emit(large, tmp_path / "out", target="arduino-uno")
    assert not (tmp_path / "out").exists()
    found = re.search(
        r"threshold_bits=(\d+), leaf_bits=(\d+), missing_values=False: ([\d,]+) bytes", str(raised.value)
    )
    options = {"threshold_bits": int(found[1]), "leaf_bits": int(found[2]), "missing_values": False}
    small = bh.pack(large, **options)
    assert f"{small.nbytes:,}" == found[3]
    assert bh.emit(small, tmp_path / "out", target="arduino-uno")


def test_where_no_bits_are_few_enough_trees_are_named(large, tmp_path):
    many = large.select(np.arange(240) % 24)
    with pytest.raises(bh.DoesNotFitError) as raised:
        bh.emit(many, tmp_path / "out", target="arduino-uno")
    n_trees = int(re.search(r"prune it to about (\d+) of its 240 trees", str(raised.value))[1])
    small = bh.pack(many.select(np.arange(n_trees)), threshold_bits=5, leaf_bits=2, missing_values=False)
    assert bh.emit(small, tmp_path / "out", target="arduino-uno")


def test_a_device_without_limits_takes_anything(large, tmp_path):
    assert bh.emit(large, tmp_path / "out", target="raspberry-pi-zero")


def test_an_avr_takes_no_large_table(tmp_path):
    X, y = make_classification(
        6000, 10, n_informative=9, n_redundant=0, n_classes=20, n_clusters_per_class=1, random_state=0
    )
    rf = RandomForestClassifier(8, max_leaf_nodes=400, random_state=0).fit(X, y)
    packed = bh.pack(bh.refine(rf, X, y, loss="cross_entropy", validation_fraction=None))
    with pytest.raises(ValueError, match="AVR compilers take no array beyond 32,000: use the compact layout"):
        bh.emit(packed, tmp_path / "out", target="arduino-mega", layout="fast")
    assert not (tmp_path / "out").exists()


def test_more_features_than_memory_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    forest = random_forest(rng, (2000,), 3000, 1, thresholds=rng.normal(size=99))
    with pytest.raises(bh.DoesNotFitError, match="memory while a row is computed, and arduino-uno has 2,048"):
        bh.emit(forest, tmp_path / "out", target="arduino-uno")


@pytest.mark.parametrize(
    ("form", "missing_values", "n_bytes"),
    [
        # Four scores of four bytes; and of three features the float, where it may be missing, or the code.
        (Form("fast", ("float",)), True, 16 + 12),
        (Form("fast", ("float",)), False, 16),
        (Form("fast", ("int16",)), True, 16),
        (Form("balanced", ("float",)), True, 16 + 3),
        (Form("compact", ("int16",)), True, 16 + 3),
    ],
)
def test_a_row_takes_memory_for_its_scores_and_features(form, missing_values, n_bytes):
    thresholds = np.random.default_rng(1).normal(size=99)
    forest = random_forest(np.random.default_rng(0), (20, 20), n_classes=4, thresholds=thresholds)
    packed = bh.pack(forest, threshold_bits=6, missing_values=missing_values)
    assert packed.layout.n_used == 3
    assert not packed.layout.ask_bits
    assert least_stack(packed, form) == n_bytes


def test_projections_take_more_code():
    packed, _ = projected_model(np.random.default_rng(0))
    plain = bh.pack(random_forest(np.random.default_rng(0)))
    assert set(PROJECTION_BYTES) == set(READER_BYTES)
    for target in bh.targets():
        more = PROJECTION_BYTES.get(target.family, max(PROJECTION_BYTES.values()))
        assert most_flash(packed, target) == flash_with_reader(packed.nbytes, target) + more
        assert most_flash(plain, target) == flash_with_reader(plain.nbytes, target)
    for fit in target_fits(packed):
        assert fit.takes == most_flash(packed, target_named(fit.name))


@pytest.mark.parametrize(
    "target", [target for target in bh.targets() if target.flash], ids=lambda target: target.name
)
def test_a_model_that_fits_the_limit_fits_the_target(target):
    """Whether it tests projections or not, unless there is so little room that it must not."""
    for reserve in (0, target.flash // 2, target.flash - 4000, target.flash - 1700):
        limit = data_limit(target, reserve)
        of_projections = flash_with_reader(limit, target, has_projections=True)
        assert (reserve + of_projections <= target.flash) == allows_projections(target, reserve)
        assert reserve + flash_with_reader(limit, target) <= target.flash
        if allows_projections(target, reserve):
            assert limit >= LEAST_BESIDE_PROJECTIONS


def test_a_model_that_fits_without_projections_alone_is_told_apart():
    target = target_named("attiny85")
    packed, _ = projected_model(np.random.default_rng(0), (700,) * 3, 4, 3, 8, 1, leaf_bits=8)
    room = flash_with_reader(packed.nbytes, target)
    tight = replace(target, flash=room)
    assert not fits_in(packed, tight)
    assert fits_in(packed, replace(target, flash=room + PROJECTION_BYTES["avr"]))
    plain, _ = projected_model(np.random.default_rng(0), (9,), 4, 1, 8, 1)
    assert fits_in(plain, tight)


def test_sums_of_features_take_memory_too(tmp_path):
    packed, _ = projected_model(np.random.default_rng(0), (900, 900), 400, 20, 12, 40, per_class=True, leaf_bits=4)
    with pytest.raises(bh.DoesNotFitError, match=r"tests 400 features and 20 sums of them, which takes [\d,]+ bytes"):
        bh.emit(packed, tmp_path / "out", target="attiny85")
