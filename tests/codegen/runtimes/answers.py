"""Reads blobs with rows and writes what the models answer, as tests/blob_answers.py has it: for MicroPython too."""

import struct

import billhook  # the module for devices

REFUSED, ANSWERED, OTHER_ROWS = range(3)


def packed(numbers):
    """Return floats as bytes; what is too large, as models that somebody made up may be, as infinity."""
    try:
        return struct.pack("<" + str(len(numbers)) + "f", *numbers)
    except OverflowError:
        return struct.pack("<f", float("inf")) * len(numbers)


def answer(blob, rows, out):
    try:
        model = billhook.load(blob)
    except ValueError:
        out.write(bytes([REFUSED]))
        return
    if model.n_features != len(rows[0]):
        if model.n_features < 1 << 20:
            model.predict([1.5] * model.n_features)
        out.write(bytes([OTHER_ROWS]))
        return
    is_regression = model.classes is None
    n_classes = 1 if is_regression else len(model.classes)
    out.write(struct.pack("<BBII", ANSWERED, is_regression, len(model.scores(rows[0])), n_classes))
    for row in rows:
        for score in model.scores(row):
            out.write(struct.pack("<i", score))
        if is_regression:
            out.write(packed([model.predict(row)]))
        else:
            out.write(struct.pack("<I", model.classes.index(model.predict(row))))
            out.write(packed(model.predict_proba(row)))


def main(path, into):
    with open(path, "rb") as file, open(into, "wb") as out:
        while True:
            sizes = file.read(12)
            if not sizes:
                break
            n_bytes, n_rows, n_features = struct.unpack("<III", sizes)
            blob = file.read(n_bytes)
            rows = [struct.unpack("<" + str(n_features) + "f", file.read(4 * n_features)) for _ in range(n_rows)]
            answer(blob, rows, out)
