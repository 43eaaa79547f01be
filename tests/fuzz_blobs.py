"""Blobs with something wrong, one after the other, in a process of its own that may crash: see test_fuzz_files.

    python tests/fuzz_blobs.py FOLDER SEED SECONDS EXAMPLES

Each is written to FOLDER before it is read, by Python and by the C reader, which have to give the same scores.
"""

import json
import struct
import sys
import time
import tracemalloc
import warnings
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

import billhook as bh
from blob_answers import sealed
from blob_models import MODELS, blob_model
from c_reader import Reader
from fuzz_model_files import MOST_MEMORY, damaged, put_odd
from made_up import tricky_rows

# The length of what a checksum that is made to hold goes with stands behind so many bytes; both take so many.
HEADER, CHECKSUM = 8, struct.Struct("<I")
MOST_FEATURES = 1_000


def seeds():
    """Return two blobs of each model: with and without names."""
    models = [blob_model(name)[0] for name in MODELS]
    frame = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0] * 5, "colour": ["red", "blue", "green", "red"] * 5})
    fitted = bh.fit_table(frame.assign(label=["yes", "no", "no", "yes"] * 5), "label", budget=512, n_trials=1)
    models.append(fitted.packed)
    return [model.to_bytes(names=names) for model in models for names in (False, True)]


def parts_of(blob):
    """Return what is before the first checksum, and the names without theirs."""
    end = int.from_bytes(blob[4:HEADER], "big")
    return blob[: end - CHECKSUM.size], blob[end : -CHECKSUM.size]


def made_up(blob, rng, others):
    """Return a blob whose lengths and checksums hold, with something between them changed."""
    core, names = parts_of(blob)
    if names and rng.random() < 0.5:
        return sealed(core) + with_checksum(changed_names(names, rng))
    other_cores = [parts_of(other)[0][HEADER:] for other in others]
    return sealed(core[:HEADER] + damaged(core[HEADER:], rng, other_cores)) + (with_checksum(names) if names else b"")


def changed_names(names, rng):
    if rng.random() < 0.3:
        return damaged(names, rng, [names])
    known = json.loads(names)
    for _ in range(int(rng.integers(1, 3))):
        put_odd(known, rng)
    return json.dumps(known).encode()


def with_checksum(names):
    return names + CHECKSUM.pack(zlib.crc32(names))


def check(path, blob, rng, goods, reader, is_sealed):
    """Read a blob; return what came of it, or raise AssertionError."""
    path.write_bytes(blob)
    in_c = reader.open(blob)
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    loaded, wrong = None, ""
    try:
        loaded = bh.Packed.from_bytes(blob)
    except bh.ModelFileError as error:
        wrong = str(error)
    if loaded is None:
        assert wrong.strip(), "an error without words"
        # The reader takes no notice of names, and some of what Python calls odd.
        assert is_sealed or isinstance(in_c, str) or "names" in wrong, "Python refuses what the C reader takes"
    else:
        assert not isinstance(in_c, str), f"the C reader says {in_c}"
        assert is_sealed or loaded.to_bytes(names=False) in goods, "another model, and no error"
        if loaded.n_features <= MOST_FEATURES:
            rows = tricky_rows(rng, 5, loaded.n_features)
            scores = loaded.scores(rows)
            np.testing.assert_array_equal(reader.scores(in_c, rows, loaded.layout.n_columns), scores)
    used = tracemalloc.get_traced_memory()[1] - before
    assert used <= MOST_MEMORY, f"{used:,} bytes of memory for {len(blob):,}"
    return "ModelFileError" if loaded is None else "read"


def run(folder, seed, seconds, n_examples):
    """Read mutated blobs until the time or the number of examples is reached; return how many came to what."""
    warnings.simplefilter("ignore")
    blobs = seeds()
    goods = {blob for blob in blobs if not parts_of(blob)[1]}
    reader = Reader(folder, "-O2")
    rng = np.random.default_rng(seed)
    end = time.perf_counter() + seconds
    outcomes = Counter()
    tracemalloc.start()
    while outcomes.total() < n_examples and time.perf_counter() < end:
        blob = blobs[rng.integers(len(blobs))]
        is_sealed = rng.random() < 0.7
        blob = made_up(blob, rng, blobs) if is_sealed else damaged(blob, rng, blobs)
        outcomes[check(folder / "example.bhm", blob, rng, goods, reader, is_sealed)] += 1
    return outcomes


if __name__ == "__main__":
    place, seed, seconds, n_examples = sys.argv[1:]
    counts = run(Path(place), int(seed), float(seconds), int(n_examples))
    print(f"{counts.total():,} blobs, seed {seed}: {dict(counts)}")
