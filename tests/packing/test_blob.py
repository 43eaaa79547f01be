"""Models as one string of bytes."""

import json
import struct
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import billhook as bh
from billhook.packing._blob_sections import LOWS, SECTIONS, TURNS, WEIGHTS, Section, read_sections
from blob_answers import impossible_blobs, largest_sums, put, sealed, with_numbers
from blob_models import MODELS, blob_model
from made_up import random_forest, tricky_rows

# Header and checksum, and what sections take that a packed model has in its layout.
OVERHEAD = 16 + 70


@pytest.mark.parametrize("name", MODELS)
def test_a_blob_is_the_model(name):
    packed, rows = blob_model(name)
    assert bh.Packed.from_bytes(packed.to_bytes()) == packed
    bare = packed.to_bytes(names=False)
    again = bh.Packed.from_bytes(bytearray(bare))
    np.testing.assert_array_equal(again.scores(rows), packed.scores(rows))
    assert again.to_bytes(names=False) == bare
    assert len(bare) <= 1.4 * packed.nbytes + OVERHEAD
    assert packed.to_bytes().startswith(bare)


def test_the_bytes_are_as_the_module_describes_them():
    X, y = load_iris(return_X_y=True)
    packed = bh.pack(RandomForestClassifier(4, max_leaf_nodes=8, random_state=0).fit(X, y))
    blob = packed.to_bytes()
    assert blob[:4] == b"BHM\x01"
    length, flags, kind, count_bits, nothing = struct.unpack_from(">IBBBB", blob, 4)
    assert (flags, kind, nothing) == (0, 0, 0)
    assert struct.unpack_from("<I", blob, length - 4)[0] == zlib.crc32(blob[: length - 4])
    names = json.loads(blob[length:-4])
    assert names["classes"]["labels"] == [0, 1, 2]

    bits, at = "".join(f"{byte:08b}" for byte in blob[12 : length - 4]), 0

    def numbers(count, width):
        nonlocal at
        found = [int(bits[at + k * width : at + (k + 1) * width] or "0", 2) for k in range(count)]
        at += -(-count * width // 8) * 8
        return found

    widths, counts = numbers(18, 6), numbers(18, count_bits)
    known = {name: numbers(*shape) for name, *shape in zip(SECTIONS, counts, widths, strict=True)}
    assert at == len(bits)
    assert np.cumsum(known["features"]).tolist() == packed.used.tolist()
    assert known["trees"] == (np.diff(packed.coded.offset) // 2).tolist()
    assert len(known["values"]) == packed.layout.n_leaves * 3 or known["leaves"]
    assert known["bases"][-3] == 4
    assert known["bases"][-2] == np.float32(packed.scale).view(np.uint32)


def test_labels_names_and_encodings_are_kept(tmp_path):
    frame, y = load_iris(return_X_y=True, as_frame=True)
    frame["colour"] = np.where(y == 1, "red", "blue")
    result = bh.fit_table(frame.assign(kind=np.array(["a", "b", "ç"])[y]), "kind", budget=500, n_trials=1)
    again = bh.Packed.from_bytes(result.packed.to_bytes())
    assert again == result.packed
    assert again.encoding is not None
    (tmp_path / "any.name").write_bytes(result.packed.to_bytes())
    assert bh.load(tmp_path / "any.name") == result.packed
    bare = bh.Packed.from_bytes(result.packed.to_bytes(names=False))
    assert bare.classes.tolist() == [0, 1, 2]
    assert bare.feature_names is None


def test_without_names_a_number_has_the_precision_of_a_float():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    packed = bh.pack(RandomForestRegressor(3, max_leaf_nodes=8, random_state=0).fit(X, 1e5 + 1e4 * X[:, 0]))
    bare = bh.Packed.from_bytes(packed.to_bytes(names=False))
    np.testing.assert_array_equal(bare.scores(X), packed.scores(X))
    np.testing.assert_allclose(bare.predict(X), packed.predict(X), rtol=1e-6)


def test_what_is_too_large_for_readers_is_refused():
    packed, _ = blob_model("26 classes")
    large = replace(packed, layout=replace(packed.layout, n_leaves=2**22))
    with pytest.raises(ValueError, match="may have 67,108,863 numbers of a kind, not 109,051,904"):
        large.to_bytes()
    with pytest.raises(ValueError, match="may have 33,554,431 features, not 40,000,000"):
        replace(packed, n_features=40_000_000).to_bytes()


def test_a_blob_may_have_as_many_classes_as_16_bits_count():
    rng = np.random.default_rng(0)
    for n_classes in (2**16 - 1, 2**16):
        packed = bh.pack(random_forest(rng, n_classes=n_classes, per_class=True), threshold_bits="exact")
        if n_classes == 2**16:
            with pytest.raises(ValueError, match="a blob may have 65,535 classes, not 65,536"):
                packed.to_bytes()
        else:
            again = bh.Packed.from_bytes(packed.to_bytes(names=False))
            assert again.n_classes == n_classes
            rows = tricky_rows(rng, 3, 3)
            np.testing.assert_array_equal(again.scores(rows), packed.scores(rows))


@pytest.fixture(scope="module")
def blob():
    return blob_model("ranks")[0].to_bytes(names=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda blob: blob[:0], "does not begin with BHM"),
        (lambda blob: b"PK" + blob, "does not begin with BHM"),
        (lambda blob: blob[:9], "cut off after 9 bytes"),
        (lambda blob: blob[:-1], "cut off: .* bytes of"),
        (lambda blob: blob + b"x", "names are damaged"),
        (lambda blob: blob + b"[]" + struct.pack("<I", zlib.crc32(b"[]")), "names must be an object"),
        (lambda blob: blob + b"{" + struct.pack("<I", zlib.crc32(b"{")), "names are no JSON"),
        (lambda blob: blob[:3] + b"\x02" + blob[4:], "is of version 2, and this Billhook reads version 1"),
        (lambda blob: blob[:40] + bytes([blob[40] ^ 1]) + blob[41:], "checksum is wrong"),
        (lambda blob: blob[:4] + b"\0\0\0\x05" + blob[8:], "length cannot be 5 bytes"),
        (lambda blob: sealed(blob[:-5]), "section of bases cannot have"),
        (lambda blob: sealed(blob[:-4] + b"\0"), "its sections take .* bytes; there are"),
        (lambda blob: sealed(blob[:8] + b"\xff" + blob[9:-4]), "of a kind that is not known"),
        (lambda blob: sealed(blob[:9] + b"\x07" + blob[10:-4]), "of a kind that is not known"),
        (lambda blob: sealed(blob[:10] + b"\xff" + blob[11:-4]), "section of counts cannot have 18 numbers of 255"),
        (lambda blob: sealed(blob[:12] + b"\xff" * 14 + blob[26:-4]), "numbers of 63 bits"),
    ],
)
def test_what_is_wrong_with_a_blob_is_said(blob, change, message):
    with pytest.raises(bh.ModelFileError, match=message):
        bh.Packed.from_bytes(change(blob))


NAN = 0x7FC00000
PROJECTED = "projections, 4 bits"


def cut_off(part):
    return Section(part.numbers[:-1], part.width)


def wider(width):
    return lambda part: Section(part.numbers, width)


def all_are(number):
    return lambda part: Section(np.full_like(part.numbers, number), part.width)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("ranks", {"bases": put(-2, NAN)}, "scale must be a number above 0"),
        ("one leaf", {"bases": put(-3, 0)}, "n_features must be a whole number of 1 or more, not 0"),
        ("ranks", {"keys": put(0, 0x7FFFFFFF)}, "a threshold is no number"),
        ("ranks", {"keys": put(0, 0xFFFFFFFF)}, "a threshold is no number"),
        ("ranks", {"begins": put(0, 3)}, "are not those of a feature"),
        ("steps", {"scales": put(0, 70000)}, "the steps of a feature cannot have scale 70000"),
        ("steps by floats", {"begins": put(0, 2046)}, "the steps of a feature have power 138 and offset 2046"),
        ("steps", {"sizes": put(0, 40)}, "more splits on the left of a split than below it"),
        ("symmetric", {"trees": put(1, 14)}, "symmetric trees cannot have"),
        ("symmetric", {"features": put(-1, 40)}, "features up to .* in use are not those of a model"),
        ("scales and a codebook", {"leaves": put(0, 31)}, "a leaf has values 31 of"),
        (PROJECTED, {TURNS: cut_off}, "0 thresholds or categories belong to features, not 1"),
        (PROJECTED, {LOWS: cut_off}, "section of keys has 0 numbers, not 1"),
        (PROJECTED, {WEIGHTS: cut_off}, "section of categories has 3 numbers, not 4"),
        (PROJECTED, {WEIGHTS: wider(9)}, "its codes, or factors, have too many bits"),
        (PROJECTED, {WEIGHTS: wider(0)}, "weights, turns and lows of projections cannot have 0, 3, 5 bits"),
        (PROJECTED, {TURNS: wider(6)}, "weights, turns and lows of projections cannot have 8, 6, 5 bits"),
        (PROJECTED, {LOWS: wider(0)}, "weights, turns and lows of projections cannot have 8, 3, 0 bits"),
        (PROJECTED, {LOWS: wider(32)}, "the sum of a projection takes more than 32 bits"),
        (PROJECTED, {WEIGHTS: all_are(128)}, "a projection has no weight other than 0"),
        (PROJECTED, {"tested": put(0, 6)}, "a test is of feature 6 of 5 in use, or projections"),
        (
            PROJECTED,
            {"shifts": put(0, 0), "begins": put(0, 0), "scales": put(0, 0)},
            "whose codes are those of steps",
        ),
        (
            PROJECTED,
            {"shifts": put(0, 1), "begins": put(0, 0), "scales": put(0, 0)},
            "whose codes are those of steps",
        ),
    ],
)
def test_what_is_wrong_with_a_number_is_said(name, changes, message):
    with pytest.raises(bh.ModelFileError, match=message):
        bh.Packed.from_bytes(with_numbers(blob_model(name)[0], changes))


@pytest.mark.parametrize("wrong", impossible_blobs())
def test_numbers_that_cannot_be_are_refused(wrong):
    with pytest.raises(bh.ModelFileError):
        bh.Packed.from_bytes(impossible_blobs()[wrong][0])


def test_projections_of_what_may_be_missing_are_refused():
    with pytest.raises(bh.ModelFileError, match="section of missing has 1 numbers, not 1"):
        bh.Packed.from_bytes(with_numbers(blob_model(PROJECTED)[0], {}, flags=4))


def test_projections_have_weights_of_a_byte():
    packed, _ = blob_model(PROJECTED)
    weights = packed.projections.weights.copy()
    weights[0, 0] = 128
    with pytest.raises(ValueError, match="a weight of a projection takes more than 8 bits"):
        replace(packed.projections, weights=weights).check()


def test_sums_of_projections_that_just_fit_are_read():
    for blob, rows in largest_sums():
        assert np.ptp(bh.Packed.from_bytes(blob).scores(rows))


def test_projections_take_the_place_of_what_is_not_beside_them():
    """So that a blob without has no bytes of them."""
    packed, _ = blob_model("projections of some features")
    core = packed.to_bytes(names=False)[:-4]
    sections = read_sections(np.frombuffer(core[12:], np.uint8), core[10])
    projections = packed.projections
    assert sections[WEIGHTS].numbers.size == projections.weights.size
    assert sections[TURNS].numbers.tolist() == projections.turn.tolist()
    assert (sections[LOWS].numbers - (1 << sections[LOWS].width - 1)).tolist() == projections.low.tolist()
    assert sections["tested"].numbers.max() >= sections["features"].numbers.size


def test_a_file_that_is_damaged_is_named(blob, tmp_path):
    (tmp_path / "model.bhm").write_bytes(blob[:-3])
    with pytest.raises(bh.ModelFileError, match=r"model\.bhm: it is cut off"):
        bh.load(tmp_path / "model.bhm")
    with pytest.raises(TypeError, match="not str: read files with load"):
        bh.Packed.from_bytes("model.bhm")


@given(st.data())
def test_whatever_is_made_up_ends_in_an_error_or_a_model(data):
    """With a checksum that fits: what a person could make up."""
    packed, rows = blob_model(data.draw(st.sampled_from(sorted(MODELS))))
    core = bytearray(packed.to_bytes(names=False)[:-4])
    # More often among the fields, where most is decided.
    places = st.one_of(st.integers(8, min(60, len(core) - 1)), st.integers(8, len(core) - 1))
    for at, byte in data.draw(st.lists(st.tuples(places, st.integers(0, 255)), min_size=1, max_size=4)):
        core[at] = byte
    try:
        bh.Packed.from_bytes(sealed(bytes(core))).scores(rows)
    except bh.ModelFileError:
        pass
    except ValueError as error:
        assert "features" in str(error)  # noqa: PT017 - the rows are of another model
