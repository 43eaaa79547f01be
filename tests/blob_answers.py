"""Blobs with rows as one string of bytes for programs that read them, and what these programs answer."""

import struct
import zlib
from typing import NamedTuple

import numpy as np

import billhook as bh
from billhook.packing._blob_sections import (
    LOWS,
    SECTIONS,
    TURNS,
    WEIGHTS,
    Section,
    read_sections,
    section,
    write_sections,
)
from blob_models import blob_model
from made_up import TRICKY, random_forest, rows_of_categories, symmetric_forest, tricky_rows, with_sets

REFUSED, ANSWERED, OTHER_ROWS = range(3)


class Answers(NamedTuple):
    """What a program answers to the rows of a blob that it takes."""

    scores: np.ndarray
    predicted: np.ndarray  # numbers of classes, or numbers
    probability: np.ndarray | None


def questions(cases):
    """Return blobs, each with rows, as one string of bytes."""
    parts = []
    for blob, rows in cases:
        rows = np.ascontiguousarray(rows, "<f4")
        parts += [struct.pack("<III", len(blob), *rows.shape), blob, rows.tobytes()]
    return b"".join(parts)


def answers(said, cases):
    """Return what a program said to such a string: for each blob, Answers, or REFUSED or OTHER_ROWS."""
    at, found = 0, []
    for _, rows in cases:
        status = said[at]
        at += 1
        if status != ANSWERED:
            found.append(status)
            continue
        is_regression, n_scores, n_classes = struct.unpack_from("<?II", said, at)
        at += 9
        last = [("value", "<f4")] if is_regression else [("class", "<u4"), ("probability", "<f4", n_classes)]
        kind = np.dtype([("scores", "<i4", (n_scores,)), *last])
        row = np.frombuffer(said, kind, len(rows), at)
        at += row.nbytes
        predicted = row["value"] if is_regression else row["class"]
        probability = None if is_regression else row["probability"].reshape(len(rows), n_classes)
        found.append(Answers(row["scores"], predicted, probability))
    assert at == len(said)
    return found


def sealed(core):
    """Return a blob with the length and the checksum that it should have."""
    core = core[:4] + struct.pack(">I", len(core) + 4) + core[8:]
    return core + struct.pack("<I", zlib.crc32(core))


def mutated(packed, rng):
    """Return the blob of a model with a few bytes, most of them among the fields, that somebody changed."""
    core = bytearray(packed.to_bytes(names=False)[:-4])
    for _ in range(rng.integers(1, 5)):
        last = min(60, len(core)) if rng.random() < 0.5 else len(core)
        at = int(rng.integers(8, last))
        core[at] = rng.integers(256) if rng.random() < 0.5 else core[at] ^ 1 << rng.integers(8)
    return sealed(bytes(core))


def with_numbers(packed, changes, flags=0, kind=0):
    """Return the blob of a model with other numbers in some of its sections, and bits of its header turned."""
    core = packed.to_bytes(names=False)[:-4]
    sections = read_sections(np.frombuffer(core[12:], np.uint8), core[10])
    for name, change in changes.items():
        sections[name] = change(sections[name])
    count_bits, data = write_sections(sections)
    return sealed(core[:8] + bytes([core[8] ^ flags, core[9] ^ kind, count_bits, 0]) + data)


def put(at, number):
    """Return a change of one number of a section."""

    def change(part):
        numbers = part.numbers.copy()
        numbers[at] = number
        return section(numbers, None if number >> part.width else part.width)

    return change


def impossible_blobs():
    """Return blobs whose checksums are right and whose numbers cannot be, each with rows, by what is wrong."""
    two, rows = blob_model("two classes, boosted")
    few, other_rows = blob_model("a score for each class")
    core = two.to_bytes(names=False)[:-4]
    cut = {name: lambda part: section(part.numbers[:-1], part.width) for name in SECTIONS}
    more = {name: lambda part: section([*part.numbers, 0], part.width) for name in ("features", "trees", "sizes")}
    return {
        "kind 7": (with_numbers(two, {}, kind=6), rows),
        "a flag that there is not": (with_numbers(two, {}, flags=32), rows),
        "a regression of one score for two classes": (with_numbers(two, {}, kind=4), rows),
        "one score for two classes, and more": (with_numbers(few, {}, flags=16), other_rows),
        "a regression of several scores": (with_numbers(few, {}, kind=4 ^ few.to_bytes()[9]), other_rows),
        "another byte behind the header": (sealed(core[:11] + b"\1" + core[12:]), rows),
        "a feature behind the last": (with_numbers(two, {"features": put(-1, 1000)}), rows),
        "a kind that there is not": (with_numbers(two, {"kinds": put(0, 1000)}), rows),
        "a threshold of no table": (with_numbers(few, {"shifts": put(0, 0), "begins": put(0, 9)}), other_rows),
        "a test of no feature": (with_numbers(two, {"tested": put(0, 1000)}), rows),
        "a column beyond": (with_numbers(few, {"columns": put(0, 4)}), other_rows),
        "a larger tree": (with_numbers(two, {"trees": put(-1, 100)}), rows),
        "no numbers of values": (with_numbers(two, {"values": lambda part: section([], part.width)}), rows),
        **{
            f"{name} cut off": (with_numbers(few, {name: cut[name]}), other_rows)
            for name in ("kinds", "codes", "tested")
        },
        **{f"more {name}": (with_numbers(few, {name: more[name]}), other_rows) for name in more},
        **impossible_projections(),
    }


def impossible_projections():
    """Return blobs of a model with projections that cannot be, each with rows, by what is wrong."""
    packed, rows = blob_model("projections, 10 bits")

    def wider(width):
        return lambda part: Section(part.numbers, width)

    cut = {name: lambda part: section(part.numbers[:-1], part.width) for name in (WEIGHTS, TURNS, LOWS)}
    more = {name: lambda part: section([*part.numbers, part.numbers[-1]], part.width) for name in cut}
    step = {"begins": put(0, 0), "scales": put(0, 0)}
    changes = {
        "a test behind the last projection": {"tested": put(0, packed.layout.n_tested)},
        "weights of 9 bits": {WEIGHTS: wider(9)},
        "weights of no bits": {WEIGHTS: wider(0)},
        "turns of 6 bits": {TURNS: wider(6)},
        "lows of no bits": {LOWS: wider(0)},
        "a lowest of which there is no other sign": {LOWS: lambda part: Section(put(0, 0)(part).numbers, 32)},
        "projections of ranks": {"shifts": put(0, 0), **step},
        "projections of categories": {"shifts": put(0, 1), **step},
        **{f"projections, {name} cut off": {name: change} for name, change in cut.items()},
        **{f"projections, more {name}": {name: change} for name, change in more.items()},
    }
    blobs = {wrong: (with_numbers(packed, change), rows) for wrong, change in changes.items()}
    one, few_rows = blob_model("projections, 4 bits")
    for sign in (1, -1):
        change = {LOWS: lowest_that_fits(one, 1, sign)}
        blobs[f"a sum that is too large by one, {sign}"] = (with_numbers(one, change), few_rows)
    return blobs | {"projections of what may be missing": (with_numbers(packed, {}, flags=4), rows)}


def lowest_that_fits(packed, more=0, sign=1):
    """Return a change of the lowest of the first projection to the largest that fits its sum, and so much more."""
    largest = int(np.abs(packed.projections.weights[0]).sum()) * (packed.projections.n_codes - 1)

    def change(part):
        numbers = part.numbers - (1 << part.width >> 1) + 2**31
        numbers[0] = sign * (2**31 - 1 - largest + more) + 2**31
        return Section(numbers, 32)

    return change


def largest_sums():
    """Return blobs of models with projections whose sums just fit, each with rows."""
    packed, rows = blob_model("projections, 4 bits")
    return [(with_numbers(packed, {LOWS: lowest_that_fits(packed, 0, sign)}), rows) for sign in (1, -1)]


def made_up_models(n_models):
    """Return packed forests of any shape, packed in any way, with rows: a few of each, many in all."""
    models = []
    for seed in range(n_models):
        rng = np.random.default_rng(seed)
        n_classes, n_features = int(rng.integers(1, 6)), int(rng.integers(1, 9))
        if seed % 5 == 0:
            depths = rng.integers(1, 6, rng.integers(1, 9)).tolist()
            forest = symmetric_forest(rng, depths, n_features, n_classes)
        else:
            forest = random_forest(
                rng,
                rng.choice([0, 1, 2, 3, 15, 31, 64, 200], rng.integers(1, 9)).tolist(),
                n_features,
                n_classes,
                per_class=bool(rng.random() < 0.4) and n_classes > 1,
                thresholds=(TRICKY, np.arange(40.0), rng.normal(size=30) * 1e3)[rng.integers(3)],
                chain=bool(rng.random() < 0.2),
            )
        if seed % 3 == 0:
            forest = with_sets(rng, forest, share=rng.choice([0.1, 0.5, 1.0]))
        bits = rng.choice(["exact", "8", "5", "12"])
        packed = bh.pack(
            forest,
            threshold_bits="exact" if bits == "exact" else int(bits),
            leaf_bits=int(rng.integers(2, 13)),
            missing_values=bool(rng.random() < 0.5),
        )
        rows = np.concatenate([tricky_rows(rng, 6, n_features), rows_of_categories(rng, 6, n_features)])
        for feature, values in packed.typical_values().items():
            rows[::2, feature] = rng.choice(values, 6)
        # Not a number has a sign, too.
        rows[rng.random(rows.shape) < 0.05] = -np.float32(np.nan)
        models.append((packed, rows))
    return models
