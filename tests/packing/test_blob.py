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
from billhook.packing._blob import FIELDS
from blob_answers import sealed
from blob_models import MODELS, blob_model

# Header, length and checksum; what the fields take at most is seen below.
OVERHEAD = 17 + 4


@pytest.mark.parametrize("name", MODELS)
def test_a_blob_is_the_model(name):
    packed, rows = blob_model(name)
    assert bh.Packed.from_bytes(packed.to_bytes()) == packed
    bare = packed.to_bytes(names=False)
    again = bh.Packed.from_bytes(bytearray(bare))
    np.testing.assert_array_equal(again.scores(rows), packed.scores(rows))
    assert again.to_bytes(names=False) == bare
    assert len(bare) <= packed.nbytes + OVERHEAD + 40
    assert packed.to_bytes().startswith(bare)


def test_the_bytes_are_as_the_module_describes_them():
    X, y = load_iris(return_X_y=True)
    packed = bh.pack(RandomForestClassifier(4, max_leaf_nodes=8, random_state=0).fit(X, y))
    blob = packed.to_bytes()
    assert blob[:4] == b"BHM\x01"
    length, scale, base, n_bytes = struct.unpack_from("<IffB", blob, 4)
    assert scale == np.float32(packed.scale)
    assert base == 0.0
    data = blob[17 + n_bytes : length - 4]
    assert data == packed.data.tobytes()
    assert struct.unpack_from("<I", blob, length - 4)[0] == zlib.crc32(blob[: length - 4])
    names = json.loads(blob[length:-4])
    assert names["classes"]["labels"] == [0, 1, 2]
    fields, number, shift = [], 0, 0
    for byte in blob[17 : 17 + n_bytes]:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            fields.append(number)
            number = shift = 0
    known = dict(zip(FIELDS, fields, strict=False))
    assert known["n_features"] == 4
    assert known["n_classes"] == 3
    assert known["n_trees"] == packed.layout.n_trees
    assert fields[-1] != 0


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
    large = replace(packed, layout=replace(packed.layout, n_leaves=2**21))
    with pytest.raises(ValueError, match="may have 33,554,431 numbers of leaves, not 54,525,952"):
        large.to_bytes()
    with pytest.raises(ValueError, match="may take 32 bits in a blob, not 35"):
        replace(packed, layout=replace(packed.layout, tree_bits=35)).to_bytes()


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
        (lambda blob: blob[:4] + b"\x05\0\0\0" + blob[8:], "length cannot be 5 bytes"),
        (lambda blob: sealed(blob[:-5]), "the layout is one of .* bytes; the data have"),
        (lambda blob: sealed(blob[:17] + b"\xff" * 5 + blob[22:-4]), "more than 32 bits"),
        (lambda blob: sealed(blob[:16] + b"\xff" + b"\1" * 255 + blob[17:-4]), "more than the 32 known"),
        (lambda blob: sealed(blob[:17] + b"\xff\xff\x03" + blob[20:-4]), "of a kind that is not known"),
        (lambda blob: sealed(blob[:8] + b"\0\0\xc0\x7f" + blob[12:-4]), "scale must be a number above 0"),
    ],
)
def test_what_is_wrong_with_a_blob_is_said(blob, change, message):
    with pytest.raises(bh.ModelFileError, match=message):
        bh.Packed.from_bytes(change(blob))


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
