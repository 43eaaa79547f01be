"""Model files with something wrong, one after the other, in a process of its own that may crash: see test_fuzz_files.

    python tests/fuzz_model_files.py FOLDER SEED SECONDS EXAMPLES

Each file is written to FOLDER before it is read, so that the one at which the process ends is there.
"""

import base64
import copy
import gzip
import io
import json
import struct
import sys
import time
import tracemalloc
import warnings
import zipfile
import zlib
from collections import Counter
from pathlib import Path

import numpy as np

import billhook as bh
from made_up import random_forest, tricky_rows, with_sets
from projected import projected_model
from short_models import SHORT, short_model

MOST_MEMORY = 100_000_000
PREFIX = struct.Struct("<8sIII")
ODD = [None, -1, 0, 1, 2, 3.5, "", "x", [], {}, True, False, 2**31, 2**63, 10**400, 1e308, -0.0, "identity", "exp"]
ODD += [
    ["a"],
    [1, 2],
    [[1]],
    {"dtype": "<U1", "labels": ["a"]},
    {"dtype": "<f8", "labels": [1.0, 2.0]},
    "\ud800",
    "\0",
]
RAW = [
    b"NaN",
    b"Infinity",
    b"-1e999",
    b"1" * 5000,
    b"[" * 3000,
    b'{"a":' * 3000,
    b'"\\ud800"',
    b"null",
    b'""',
    b"1.0",
]
NUMBERS = [0, 1, 2, 3, 127, 128, 254, 255]


def seeds(folder):
    """Return good models, and their files."""
    rng = np.random.default_rng(0)
    forest = random_forest(rng, sizes=(0, 3, 9), n_features=4)
    models = [forest, random_forest(rng, sizes=(2, 5), n_features=3, n_classes=1)]
    models += [with_sets(rng, forest, categories=np.arange(0, 70, 3))]
    models += [short_model(name, n_classes)[0] for name in SHORT for n_classes in (1, 3)]
    models += [bh.pack(random_forest(rng, sizes=(3, 6), n_features=4, thresholds=np.arange(9.0)))]
    # Their own numbers, so that those of the others stay as they were.
    models += [projected_model(np.random.default_rng(seed), code_bits=bits)[0] for seed, bits in ((0, 5), (1, 12))]
    files = []
    for number, model in enumerate(models):
        model.save(folder / f"good{number}.bhk")
        files.append((folder / f"good{number}.bhk").read_bytes())
    return models, files


def damaged(data, rng, others):
    """Return the file with bits flipped, bytes set, cut, doubled, moved, or spliced with those of another."""
    data = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(len(data))) if rng.random() < 0.6 else int(rng.integers(min(len(data), 400)))
        length = int(2 ** rng.integers(0, 7))
        match rng.integers(9):
            case 0:
                data[place] ^= 1 << rng.integers(8)
            case 1:
                data[place] = rng.choice(NUMBERS)
            case 2:
                del data[max(place, 1) :]
            case 3:
                del data[place : place + length]
            case 4:
                data[place:place] = rng.bytes(length)
            case 5:
                data[place:place] = data[place : place + length]
            case 6:
                other = others[rng.integers(len(others))]
                start = rng.integers(len(other))
                data[place:] = other[start:]
            case 7:
                data[8:20] = struct.pack("<III", *(int(rng.choice([0, 1, 2, 3, 2**31, 2**32 - 1])) for _ in range(3)))
            case 8:
                data[place : place + 4] = struct.pack("<I", int(rng.choice([0, 1, 2**16, 2**31 - 1, 2**32 - 1])))
        if not data:
            data = bytearray(b"\0")
    return bytes(data)


def resealed(data, rng):
    """Return a file whose checksums hold, with something in its header or its arrays made up."""
    _, version, length, _ = PREFIX.unpack_from(data)
    header, body = json.loads(data[PREFIX.size : PREFIX.size + length]), bytearray(data[PREFIX.size + length :])
    for _ in range(int(rng.integers(1, 3))):
        match rng.integers(5):
            case 0:
                put_odd(header.get("meta"), rng)
            case 1:
                put_odd(header.get("arrays"), rng)
            case 2:
                put_odd(header, rng)
            case 3:
                for _ in range(int(rng.integers(1, 6))):
                    if body:
                        body[rng.integers(len(body))] = rng.choice([*NUMBERS, rng.integers(256)])
            case 4:
                body = bytearray(damaged(bytes(body) or b"\0", rng, [bytes(body) or b"\0"]))
    position = 0
    try:
        for entry in header["arrays"]:
            # As many as the shape says, however large.
            n_bytes = int(np.prod(entry["shape"])) * np.dtype(entry["dtype"]).itemsize
            entry["crc32"] = zlib.crc32(body[position : position + n_bytes])
            position += n_bytes
    except (TypeError, ValueError, OverflowError, KeyError, AttributeError):
        pass
    text = json.dumps(header).encode()
    if rng.random() < 0.15:  # what json.dumps would not write
        places = [k for k, byte in enumerate(text) if byte in b":,[{"]
        place = int(rng.choice(places)) + 1
        text = text[:place] + RAW[rng.integers(len(RAW))] + text[place + int(rng.integers(4)) :]
    version = int(rng.integers(4)) if rng.random() < 0.1 else version
    return PREFIX.pack(b"BILLHOOK", version, len(text), zlib.crc32(text)) + text + bytes(body)


def put_odd(value, rng):
    """Put something odd somewhere into JSON, or take something out."""
    while isinstance(value, dict | list):
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = keys[rng.integers(len(keys))]
        if isinstance(value[key], dict | list) and value[key] and rng.random() < 0.8:
            value = value[key]
            continue
        choice = rng.random()
        if choice < 0.1:
            del value[key]
        elif choice < 0.2 and isinstance(value, list):
            value.append(copy.deepcopy(value[key]))
        elif choice < 0.3 and type(value[key]) is int:
            value[key] += int(rng.choice([-1, 1, 256, -(2**31)]))
        else:
            value[key] = copy.deepcopy(ODD[rng.integers(len(ODD))])
        return


def wrapped(data, rng):
    """Return the file within another, or something that swells."""
    match rng.integers(6):
        case 0:
            return gzip.compress(data)
        case 1:
            file = io.BytesIO()
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("model.bhk" if rng.random() < 0.5 else "../../model.bhk", data)
                archive.writestr("zeros", bytes(10**6))
            return file.getvalue()
        case 2:
            return gzip.compress(bytes(10**7))
        case 3:
            return base64.b64encode(data)
        case 4:
            return data + zlib.compress(data)
        case _:
            return b"PK\x03\x04" + data


def check(path, data, rng, goods, is_sealed):
    """Read a file; return what came of it, or raise AssertionError."""
    path.write_bytes(data)
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    try:
        loaded = bh.load(path)
    except ValueError as error:
        outcome = type(error).__name__ if str(error).strip() else "an error without words"
    else:
        if not is_sealed:  # checksums hold only if nothing that matters was changed
            assert any(type(good) is type(loaded) and loaded == good for good in goods), "another model, and no error"
        rows = tricky_rows(rng, 5, min(loaded.n_features, 1000))
        if rows.shape[1] == loaded.n_features and getattr(loaded, "encoding", None) is None:
            loaded.predict(rows)
        outcome = "read"
    used = tracemalloc.get_traced_memory()[1] - before
    assert used <= MOST_MEMORY, f"{used:,} bytes of memory for {len(data):,}"
    return outcome


def run(folder, seed, seconds, n_examples):
    """Read mutated files until the time or the number of examples is reached; return how many came to what."""
    warnings.simplefilter("ignore")
    goods, files = seeds(folder)
    rng = np.random.default_rng(seed)
    end = time.perf_counter() + seconds
    outcomes = Counter()
    tracemalloc.start()
    while outcomes.total() < n_examples and time.perf_counter() < end:
        data = files[rng.integers(len(files))]
        kind = rng.random()
        is_sealed = 0.45 <= kind < 0.95
        if is_sealed:
            data = resealed(data, rng)
        elif kind < 0.45:
            data = damaged(data, rng, files)
        else:
            data = wrapped(data, rng)
        outcomes[check(folder / "example.bhk", data, rng, goods, is_sealed)] += 1
    return outcomes


if __name__ == "__main__":
    place, seed, seconds, n_examples = sys.argv[1:]
    counts = run(Path(place), int(seed), float(seconds), int(n_examples))
    print(f"{counts.total():,} model files, seed {seed}: {dict(counts)}")
