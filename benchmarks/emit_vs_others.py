"""Models of Billhook on targets beside those of other tools: flash, memory, cycles, time on a PC, answers.

    pip install emlearn m2cgen micromlgen treelite tl2cgen
    BILLHOOK_DATA=folder python benchmarks/emit_vs_others.py [--rows 20] [--repeats 15] [--tools Billhook,emlearn]
        ["eeg 16 x 128" ...]

For each forest a Markdown table: the same forest given to every tool, compiled with the same options into the same
program, which asks for the class of each row. A fifth of the rows is kept apart; they are run.

    same, accuracy   share of rows with the class that the Forest in Python says, and with the right one; on the PC
    flash, RAM       what the model adds to the program, as the compilers count: over one that has no model
    cycles, instr.   for a row, the mean: of simavr (AVR), of QEMU (Cortex-M); they repeat exactly
    x86-64           nanoseconds of the processor for a row, the best of the repeats, also as a share of float if-else

AVR is an Arduino Uno, or a Mega where it says so, because the Uno has no room. emlearn's int16 models are given rows
and thresholds times a factor, rounded and cut off, which is printed; "+ 1" are its models with thresholds raised by
hand to the next whole number: it cuts off their fractions and asks for less, not for less or equal. Its leaves of 8
bits have to be shares between 0 and 1, which those of a refined forest are not; without them each tree has one vote.
Float if-else is what this script writes: nested ifs, and the addition of a float for each class not 0 in a leaf.
Billhook: exact thresholds with leaves of 8 bits; the smallest setting that says the same class in 99 % of the rows;
and the smallest that is right as often as votes of the trees are, which is what the smaller models of emlearn do. A
tenth of the rows is kept apart for this choice. Where rows are whole numbers they are given as int16.
"""

import argparse
import contextlib
import io
import os
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from firmware import Firmware, Model
from other_tools import emlearn_model, if_else, m2cgen_model, micromlgen_model, scaled, tl2cgen_model
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import RandomForestClassifier

import billhook as bh


def billhook_model(packed, layout, inputs, target="generic"):
    """Return what Billhook writes."""
    with tempfile.TemporaryDirectory() as folder:
        bh.emit(packed, folder, layout=layout, inputs=inputs, target=target)
        source, header = ((Path(folder) / name).read_text() for name in ("model.c", "model.h"))
    ending = "" if inputs == "float" else f"_{inputs}"
    source += f'\n#include "row.h"\nint answer(const row_t *x) {{ return model_predict{ending}(x); }}\n'
    row = {"float": "float", "int16": "int16_t", "uint8": "uint8_t"}[inputs]
    return Model(source, row, files={"model.h": header})


def packings(forest, data):
    """Yield packings of fewer and fewer bytes, and what they are called."""
    answers = forest.predict(data.X_choose)
    for bits in (12, 10, 9, 8, 7, 6, 5):
        fine = {"threshold_bits": bits, "X": data.X_train, "missing_values": False}
        if np.mean(bh.pack(forest, **fine).predict(data.X_choose) == answers) < 0.98:
            return
        for leaf_bits in (8, 7, 6, 5, 4, 3, 2):
            yield bh.pack(forest, **fine, leaf_bits=leaf_bits), f"{bits}-bit thresholds, {leaf_bits}-bit leaves"
        if bits > 9:
            continue
        for leaf_bits in (4, 3, 2):
            packed = bh.pack(forest, **fine, leaf_bits=leaf_bits, y=data.y_train)
            yield packed, f"{bits}-bit thresholds, {leaf_bits}-bit leaves with rows"
        for codebook in (256, 128, 64, 32, 16) if forest.n_classes > 2 else ():
            leaf_bits = 3 if codebook > 16 else 2
            packed = bh.pack(forest, **fine, leaf_bits=leaf_bits, codebook=codebook, y=data.y_train)
            yield packed, f"{bits}-bit thresholds, {codebook} leaf vectors of {leaf_bits} bits with rows"


def smallest(forest, data):
    """Return the packings of the fewest bytes, by rows that are kept apart for this choice.

    With the forest's class in 99 % of them; and with the right class in no fewer than votes of the trees give.
    """
    answers = forest.predict(data.X_choose)
    votes = [forest.select([tree]).predict(data.X_choose) for tree in range(forest.n_trees)]
    counts = np.stack([(np.array(votes) == label).sum(axis=0) for label in forest.classes])
    by_votes = np.mean(forest.classes[counts.argmax(axis=0)] == data.y_choose)
    best = {}
    for packed, how in packings(forest, data):
        said = packed.predict(data.X_choose)
        for what, is_good in (
            ("99 % the same", np.mean(said == answers) >= 0.99),
            ("as accurate as votes", np.mean(said == data.y_choose) >= by_votes),
        ):
            if is_good and (what not in best or packed.nbytes < best[what][0].nbytes):
                best[what] = packed, how
    return {f"{what}: {how}": packed for what, (packed, how) in best.items()}


@dataclass(frozen=True)
class Data:
    """Rows to train with, to choose bits by, to run; the factor for int16; what the rows are given as."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_choose: np.ndarray
    y_choose: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    scale: float
    inputs: str


def split(X, y, scale, inputs="float"):
    X = np.ascontiguousarray(X, np.float32)
    order = np.random.default_rng(0).permutation(len(y))
    test, choose, train = np.split(order, [len(y) // 5, len(y) * 3 // 10])
    return Data(X[train], y[train], X[choose], y[choose], X[test], y[test], scale, inputs)


def stored(name):
    table = pd.read_parquet(Path(os.environ["BILLHOOK_DATA"]) / f"{name}.parquet")
    y = table.pop("label").to_numpy()
    return table.to_numpy(np.float32), y


def eeg():
    return split(*stored("eeg"), 5)


def eeg_whole():
    X, y = stored("eeg")
    return split(np.clip(np.rint(X * 5), -32768, 32767), y, 1, "int16")


def digits():
    return split(*load_digits(return_X_y=True), 1, "int16")


def satimage():
    return split(*stored("satimage"), 1, "int16")


def made_up(class_sep):
    X, y = make_classification(
        20_000,
        16,
        n_informative=12,
        n_redundant=2,
        n_classes=26,
        n_clusters_per_class=1,
        class_sep=class_sep,
        random_state=0,
    )
    return split(X, y, float(np.floor(32767 / np.abs(X).max())))


# Name: rows, trees, leaves, whether leaves are refined.
FORESTS = {
    "eeg 16 x 128": (eeg, 16, 128, True),
    "eeg, whole numbers 16 x 128": (eeg_whole, 16, 128, True),
    "digits 8 x 64": (digits, 8, 64, False),
    "digits 16 x 128": (digits, 16, 128, False),
    "digits 32 x 256": (digits, 32, 256, False),
    "satimage 16 x 128": (satimage, 16, 128, False),
    "made up, 26 classes 16 x 128": (partial(made_up, 1.0), 16, 128, False),
    "made up, 26 classes further apart 16 x 128": (partial(made_up, 2.0), 16, 128, False),
}
DEVICES = ("arduino-uno", "cortex-m0", "cortex-m4")


@dataclass
class Row:
    """One line of a table."""

    name: str
    same: float = 0.0
    accuracy: float = 0.0
    found: dict[str, object] = field(default_factory=dict)
    nanoseconds: float | None = None
    failure: str = ""

    def cells(self, plain):
        """Return the line in Markdown; times are shares of this one."""
        if self.failure:
            return f"| {self.name} | {self.failure} " + "| " * 12 + "|"
        cells = [self.name, f"{self.same:.4f}", f"{100 * self.accuracy:.2f}"]
        for device in DEVICES:
            found = self.found[device]
            if isinstance(found, str):
                cells += [found, "", ""]
                continue
            mega = " (Mega)" if found.board == "arduino-mega" else ""
            count = f"{found.count:,}" if found.count is not None else found.problem or "-"
            cells += [f"{found.flash:,}{mega}", f"{found.ram:,}", count]
        time = self.nanoseconds
        cells += [f"{time:,.0f}" if time else "-", f"{time / plain:.2f}" if time and plain else "-"]
        return "| " + " | ".join(cells) + " |"


HEAD = (
    "| tool | same | accuracy | AVR flash | RAM | cycles | M0 flash | RAM | instr. | M4 flash | RAM | instr. "
    "| x86-64 ns | of if-else |\n|---|" + "---:|" * 13
)


def measured(name, make: Callable[..., Model], forest, data, given, scale=1.0, avr=None):
    """Return the line of one tool, or what went wrong, in short; `avr` makes another model for AVR."""
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):  # some talk while they write
            warnings.simplefilter("ignore")
            model = make()
        rows = data.X_test
        if model.row in ("int16_t", "uint8_t"):
            rows = np.clip(np.rint(rows * scale), -32768, 32767).astype(np.int16)
        firmware = Firmware(model, np.ascontiguousarray(rows[: given.rows]))
        said, nanoseconds = firmware.on_host(rows, given.repeats)
    except Exception as error:
        return Row(name, failure=f"{type(error).__name__}: {_short(error)}")
    classes = np.asarray(forest.classes)
    said = np.where((said >= 0) & (said < len(classes)), said, 0)
    row = Row(name, np.mean(classes[said] == forest.predict(data.X_test)), np.mean(classes[said] == data.y_test))
    row.nanoseconds = nanoseconds
    for device in DEVICES:
        try:
            if device == "arduino-uno" and avr is not None:
                other = Firmware(avr(), np.ascontiguousarray(rows[: given.rows]))
                other.expected = firmware.expected
                row.found[device] = other.on(device)
                continue
            row.found[device] = firmware.on(device)
        except Exception as error:
            row.found[device] = _short(error)
    return row


def _short(error):
    return (str(error).strip().splitlines() or [""])[0].replace("|", "/")[:90]


def table(name, given):
    """Print one table, and what the tools have to do with each other."""
    load, trees, leaves, is_refined = FORESTS[name]
    data = load()
    rf = RandomForestClassifier(trees, max_leaf_nodes=leaves, random_state=0).fit(data.X_train, data.y_train)
    forest = bh.refine(rf, data.X_train, data.y_train, random_state=0) if is_refined else bh.as_forest(rf)
    estimator = bh.to_estimator(forest)
    accuracy = np.mean(forest.predict(data.X_test) == data.y_test)
    print(f"\n## {name}\n")
    print(
        f"{forest.n_trees} trees, {forest.n_nodes:,} nodes, {forest.n_features} features, {forest.n_classes} classes"
        f"{', refined' if is_refined else ''}; accuracy {100 * accuracy:.2f} on {len(data.y_test):,} rows; int16: "
        f"times {data.scale:g}\n\n{HEAD}",
        flush=True,
    )
    makers = {
        "float if-else": (lambda: if_else(estimator), 1),
        "m2cgen": (lambda: m2cgen_model(estimator), 1),
        "tl2cgen": (lambda: tl2cgen_model(estimator), 1),
        "micromlgen": (lambda: micromlgen_model(estimator), 1),
        "emlearn inline float": (lambda: emlearn_model(estimator, method="inline", dtype="float"), 1),
    }
    for label, how, is_raised in (
        ("inline int16", {"method": "inline"}, False),
        ("inline int16, + 1", {"method": "inline"}, True),
        ("inline int16, + 1, 8-bit leaves", {"method": "inline", "leaf_bits": 8}, True),
        ("loadable int16", {"method": "loadable"}, False),
    ):
        makers[f"emlearn {label}"] = (
            lambda how=how, raised=is_raised: emlearn_model(
                scaled(estimator, data.scale, raised), dtype="int16_t", **how
            ),
            data.scale,
        )
    exact = bh.pack(forest, threshold_bits="exact", leaf_bits=8, missing_values=False)
    packed_ways = {"exact thresholds, 8-bit leaves": exact, **smallest(forest, data)}
    lines = {}

    def show(line):
        lines[line.name] = line
        print(line.cells(lines["float if-else"].nanoseconds), flush=True)

    for label, (make, scale) in makers.items():
        if label == "float if-else" or label.startswith(given.tools):
            show(measured(label, make, forest, data, given, scale))
    for layout in ("compact", "balanced", "fast"):
        for how, packed in packed_ways.items():
            if layout == "balanced" and how.startswith("as accurate"):
                continue
            make = partial(billhook_model, packed, layout, data.inputs)
            avr = partial(make, "arduino-mega")
            show(measured(f"Billhook {layout}, {how}", make, forest, data, given, avr=avr))
    print("\n" + ratios(lines), flush=True)


def ratios(lines):
    """Return the flash of emlearn over ours, our cycles over emlearn's, the time of if-else over ours."""

    def least(start, what):
        values = [what(row) for name, row in lines.items() if name.startswith(start) and not row.failure]
        return min((value for value in values if value), default=None)

    def of(device, attribute):
        def value(row):
            found = row.found[device]
            return None if isinstance(found, str) or found.problem else getattr(found, attribute)

        return value

    def over(a, b):
        return f"{a / b:.2f}" if a and b else "-"

    names = ("AVR", "M0", "M4")
    flash = [over(least("emlearn", of(d, "flash")), least("Billhook compact", of(d, "flash"))) for d in DEVICES]
    cycles = [
        over(least("Billhook fast", of(d, "count")), least("emlearn inline int16", of(d, "count"))) for d in DEVICES
    ]
    plain = lines["float if-else"].nanoseconds
    times = [over(plain, least(f"Billhook {kind}", lambda row: row.nanoseconds)) for kind in ("compact", "fast")]
    return (
        "| | " + " | ".join(names) + " | x86-64 |\n|---|" + "---:|" * 4 + "\n"
        "| emlearn's smallest flash / Billhook's smallest | " + " | ".join(flash) + " | |\n"
        "| cycles or instr. of Billhook fast / emlearn inline int16 | " + " | ".join(cycles) + " | |\n"
        f"| time of float if-else / Billhook compact, fast | | | | {times[0]}, {times[1]} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=20, help="to run in the emulators")
    parser.add_argument("--repeats", type=int, default=15, help="of all rows on the PC; the best counts")
    parser.add_argument(
        "--tools", type=lambda text: tuple(text.split(",")), default=("",), help="what their names begin with"
    )
    parser.add_argument("names", nargs="*", default=list(FORESTS), help="of forests")
    given = parser.parse_args()
    for name in given.names:
        table(name, given)


if __name__ == "__main__":
    main()
