"""Which layout is written for a target, by flash and cycles."""

import shutil
from dataclasses import replace

import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

import billhook as bh
from billhook.codegen import TOOLCHAINS, choose_layout, source, tools_for
from billhook.codegen._estimate import estimated_cycles
from billhook.codegen._targets import target_named

X, y = make_classification(1000, 6, n_informative=5, n_redundant=1, random_state=0)
PACKED = bh.pack(
    RandomForestClassifier(16, max_leaf_nodes=50, random_state=0).fit(X, y), threshold_bits=9, missing_values=False
)


@pytest.fixture(scope="module")
def measured():
    if not shutil.which("simavr") or not shutil.which("avr-gcc"):
        pytest.skip("avr-gcc and simavr are not installed: make toolchains")
    found = choose_layout(PACKED, target="arduino-uno", X=X).measurements
    assert list(found) == ["compact", "balanced", "fast"]
    return found


def test_each_layout_is_larger_and_faster_than_the_one_before(measured):
    compact, balanced, fast = measured.values()
    assert compact.flash < balanced.flash < fast.flash
    assert compact.cycles > 2 * balanced.cycles > 2 * fast.cycles


@pytest.mark.parametrize("name", ["compact", "balanced", "fast"])
def test_the_smallest_layout_within_the_cycles_is_chosen(measured, name):
    cycles = measured[name].cycles
    choice = choose_layout(PACKED, target="arduino-uno", X=X, max_cycles=cycles)
    assert choice.layout == name
    assert {cost.layout: cost.cycles for cost in choice.costs}[name] == cycles
    assert not any(cost.is_estimated for cost in choice.costs)


def test_where_none_is_quick_enough_it_is_said_what_would_do(measured):
    least = measured["fast"].cycles
    with pytest.raises(bh.DoesNotFitError, match=rf"compact [\d,]+ in .* max_cycles={least} would do") as error:
        choose_layout(PACKED, target="arduino-uno", X=X, max_cycles=least - 1)
    assert "too many" not in str(error.value)
    beside = target_named("arduino-uno").flash - measured["balanced"].flash
    with pytest.raises(bh.DoesNotFitError, match=r"fast [\d,]+ in [\d,]+ bytes of flash, too many;") as error:
        choose_layout(PACKED, target="arduino-uno", X=X, max_cycles=least, reserve=beside)
    assert str(error.value).count("too many") == 1
    assert choose_layout(PACKED, target="arduino-uno", X=X, max_cycles=least).layout == "fast"


def test_estimates_are_within_a_factor_of_two(measured):
    for name, found in measured.items():
        assert 0.5 < estimated_cycles(PACKED, name, found.target) / found.cycles < 2.0


@pytest.mark.usefixtures("measured")
def test_a_model_that_does_not_compile_is_not_written(monkeypatch, tmp_path):
    monkeypatch.setattr("billhook.codegen._measure.source", lambda *_arguments, **_options: "int model;;(")
    with pytest.raises(RuntimeError, match="avr-gcc cannot compile the model"):
        choose_layout(PACKED, target="arduino-uno", max_cycles=10**9)
    with pytest.raises(RuntimeError, match="avr-gcc cannot compile the model"):
        bh.emit(PACKED, tmp_path / "c", target="arduino-uno", optimize="speed")
    assert not (tmp_path / "c").exists()


@pytest.mark.usefixtures("measured")
def test_what_is_too_large_to_be_linked_is_neither_chosen_nor_estimated(monkeypatch):
    too_large = '#include "model.h"\nvoid model_scores(const float *x, int32_t *s) { __asm__(".space 400000"); }\n'
    sources = {"compact": source, "balanced": source, "fast": lambda *_arguments, **_options: too_large}
    monkeypatch.setattr(
        "billhook.codegen._measure.source", lambda packed, form: sources[form.layout](packed, form=form)
    )
    choice = choose_layout(PACKED, target="arduino-uno", max_cycles=10**9)
    assert [type(tried.error).__name__ for tried in choice.errors] == ["TooLargeError"]
    assert [cost.layout for cost in choice.costs] == ["compact", "balanced"]


@pytest.mark.parametrize("target", ["arduino-uno", "stm32f4"])
def test_without_tools_cycles_are_estimated(target, monkeypatch):
    monkeypatch.setenv("PATH", "")
    estimates = [estimated_cycles(PACKED, name, target_named(target)) for name in ("compact", "balanced", "fast")]
    assert estimates == sorted(estimates, reverse=True)
    choice = choose_layout(PACKED, target=target, max_cycles=estimates[1])
    assert choice.layout == "balanced"
    assert all(cost.is_estimated for cost in choice.costs)
    with pytest.raises(bh.DoesNotFitError, match="about"):
        choose_layout(PACKED, target=target, max_cycles=10)


def test_cycles_are_estimated_where_programs_can_be_compiled_but_not_run(monkeypatch):
    target = target_named("esp8266")
    without = replace(TOOLCHAINS["xtensa-lx106"], emulator=(), measures="size")
    monkeypatch.setitem(TOOLCHAINS, "xtensa-lx106", without)
    if not shutil.which(tools_for(target).compiler):
        pytest.skip(f"{tools_for(target).compiler} is not installed: make toolchains")
    estimates = {name: estimated_cycles(PACKED, name, target) for name in ("compact", "balanced", "fast")}
    choice = choose_layout(PACKED, target="esp8266", max_cycles=estimates["balanced"])
    assert choice.layout == "balanced"
    assert {cost.layout: cost.cycles for cost in choice.costs} == estimates
    assert {cost.layout: cost.flash for cost in choice.costs} == {
        name: measured.flash for name, measured in choice.measurements.items()
    }
    assert all(cost.is_estimated for cost in choice.costs)
    with pytest.raises(bh.DoesNotFitError, match=r"takes at most 1 cycles a row: .* about"):
        choose_layout(PACKED, target="esp8266", max_cycles=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "arduino-uno", "max_cycles": 0}, "max_cycles must be 1 or more, not 0"),
        ({"target": "linux-x86_64", "max_cycles": 100}, "no cycles are counted on linux-x86_64"),
        ({"target": "generic", "max_cycles": 100}, "no cycles are counted on generic"),
        ({"target": "arduino-uno", "max_cycles": 100, "layout": "fast"}, "leave out layout='fast', or max_cycles"),
    ],
)
def test_what_cannot_be_chosen_by_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        choose_layout(PACKED, **options)
