import json
import os
import stat
import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given

import billhook as bh
from billhook import _files
from made_up import categorical_forests, forests, random_forest, rows_of_categories, tricky_rows, with_sets


@pytest.fixture
def forest():
    return random_forest(np.random.default_rng(0), sizes=(0, 3, 20), n_features=4)


def bytes_of(forest, path):
    forest.save(path)
    return path.read_bytes()


@pytest.fixture
def categorical_forest(forest):
    return with_sets(np.random.default_rng(0), forest, categories=np.arange(0, 70, 3))


def taken_apart(data, expected_version=1):
    """Return the header of a model file as Python sees it, and the bytes behind it."""
    magic, version, length, _ = struct.unpack_from("<8sIII", data)
    assert (magic, version) == (b"BILLHOOK", expected_version)
    return json.loads(data[20 : 20 + length]), data[20 + length :]


def put_together(header, body, *, fix_checksums=True, version=1):
    """Return a file whose checksums hold, whatever it says."""
    if fix_checksums:
        position = 0
        for entry in header["arrays"]:
            try:
                n_bytes = int(np.prod(entry["shape"])) * np.dtype(entry["dtype"]).itemsize
                entry["crc32"] = zlib.crc32(body[position : position + n_bytes])
                position += n_bytes
            except (TypeError, ValueError, OverflowError, KeyError):
                break
    text = json.dumps(header).encode()
    return struct.pack("<8sIII", b"BILLHOOK", version, len(text), zlib.crc32(text)) + text + body


@given(forests())
def test_a_loaded_forest_is_the_one_that_was_saved(tmp_path_factory, forest):
    path = tmp_path_factory.mktemp("forest") / "forest.bhk"
    forest.save(path)
    loaded = bh.load(str(path))
    assert loaded == forest
    X = tricky_rows(np.random.default_rng(0), 20, forest.n_features)
    np.testing.assert_array_equal(loaded.decision_function(X), forest.decision_function(X))


@given(categorical_forests())
def test_a_loaded_forest_has_the_sets_that_were_saved(tmp_path_factory, forest):
    path = tmp_path_factory.mktemp("forest") / "forest.bhk"
    forest.save(path)
    loaded = bh.load(str(path))
    assert loaded == forest
    X = rows_of_categories(np.random.default_rng(0), 20, forest.n_features)
    np.testing.assert_array_equal(loaded.decision_function(X), forest.decision_function(X))


def test_only_a_forest_with_sets_needs_a_file_of_the_second_version(tmp_path, forest, categorical_forest):
    of_sets = {"category_set", "set_offset", "set_bits"}
    header, body = taken_apart(bytes_of(forest, tmp_path / "m.bhk"), 1)
    assert not of_sets & {entry["name"] for entry in header["arrays"]}
    header, body = taken_apart(bytes_of(categorical_forest, tmp_path / "m.bhk"), 2)
    assert of_sets < {entry["name"] for entry in header["arrays"]}
    (tmp_path / "m.bhk").write_bytes(put_together(header, body, version=1))
    with pytest.raises(bh.ModelFileError, match="arrays missing or unknown: category_set, set_bits, set_offset"):
        bh.load(tmp_path / "m.bhk")


@pytest.mark.parametrize(
    "classes",
    [
        np.array(["no", "yes", "maybe"], dtype="<U20"),
        np.array(["käse", "wurst", "\u2603"], dtype=object),
        np.array([False, True]),
        np.array([-5, 7, 1000], dtype=np.int16),
        np.array([0.5, 1.5, 2.0]),
        np.array([0, 2**63], dtype=np.uint64),
        np.array(["only one"]),
    ],
)
def test_labels_of_any_kind_survive(tmp_path, classes):
    n_classes = classes.size
    forest = random_forest(np.random.default_rng(0), sizes=(3,), n_classes=max(n_classes, 2))
    if n_classes == 1:
        forest = bh.Forest(
            **{**forest.__getstate__(), "value": forest.value[:, :1], "base": np.zeros(1), "classes": classes}
        )
    else:
        forest = bh.Forest(**{**forest.__getstate__(), "classes": classes})
    forest.save(tmp_path / "m.bhk")
    loaded = bh.load(tmp_path / "m.bhk")
    assert loaded == forest
    assert loaded.classes.tolist() == classes.tolist()
    assert loaded.classes.dtype.kind == classes.dtype.kind


def test_labels_that_json_cannot_hold_are_refused_and_leave_no_file(tmp_path):
    forest = random_forest(np.random.default_rng(0), sizes=(3,), n_classes=2)
    odd = bh.Forest(**{**forest.__getstate__(), "classes": np.array([(1,), (2, 3)], dtype=object)})
    with pytest.raises(TypeError, match="labels of type tuple cannot be saved"):
        odd.save(tmp_path / "m.bhk")
    assert os.listdir(tmp_path) == []


def test_names_and_origin_survive(tmp_path, forest):
    named = bh.Forest(**{**forest.__getstate__(), "feature_names": ("a", "b", "c d", "ü"), "origin": "sklearn.X"})
    named.save(tmp_path / "m.bhk")
    assert bh.load(tmp_path / "m.bhk").feature_names == ("a", "b", "c d", "ü")
    assert bh.load(tmp_path / "m.bhk") == named


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path, forest, monkeypatch):
    path = tmp_path / "m.bhk"
    before = bytes_of(forest, path)

    def full_disk(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_files.os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        forest.select([0]).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.bhk"]


def test_a_new_file_has_the_usual_permissions_and_a_replaced_one_its_own(tmp_path, forest):
    path = tmp_path / "m.bhk"
    (tmp_path / "plain").write_bytes(b"")
    forest.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    path.chmod(0o640)
    forest.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_saving_to_a_folder_that_is_not_there_says_so(tmp_path, forest):
    with pytest.raises(FileNotFoundError, match=r"no such folder.*nowhere"):
        forest.save(tmp_path / "nowhere" / "m.bhk")
    with pytest.raises(IsADirectoryError, match="this is a folder"):
        forest.save(tmp_path)


def test_saving_through_a_link_keeps_the_link(tmp_path, forest):
    (tmp_path / "link.bhk").symlink_to(tmp_path / "m.bhk")
    forest.save(tmp_path / "link.bhk")
    assert (tmp_path / "link.bhk").is_symlink()
    assert bh.load(tmp_path / "m.bhk") == forest


def test_loading_what_is_not_there_says_so(tmp_path):
    with pytest.raises(FileNotFoundError):
        bh.load(tmp_path / "m.bhk")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty: save the model again"),
        (b"PK\x03\x04" + bytes(100), "this is compressed: unpack it first; if joblib or pickle wrote it, open it in"),
        (b"\x80\x04" + bytes(100), "this is a pickle, which can run any code when it is opened: open it in Python"),
        (b"a,b\n1,2\n", "no model file that Billhook knows; it reads its own and LightGBM's text"),
        (b"BILLHOOK", "not a Billhook model file"),
        (struct.pack("<8sIII", b"BILLHOOK", 3, 0, 0), "format version 3; this Billhook reads versions 1 and 2"),
        (struct.pack("<8sIII", b"BILLHOOK", 1, 2**32 - 1, 0), "a header of 4,294,967,295 bytes"),
        (struct.pack("<8sIII", b"BILLHOOK", 1, 1000, 0), "ends within its header"),
        (struct.pack("<8sIII", b"BILLHOOK", 1, 2, 0) + b"{}", "checksum"),
        (struct.pack("<8sIII", b"BILLHOOK", 1, 2, zlib.crc32(b"{}")) + b"{}", "lacks kind"),
        (struct.pack("<8sIII", b"BILLHOOK", 1, 2, zlib.crc32(b"[}")) + b"[}", "not JSON"),
    ],
    ids=[
        "empty",
        "zip",
        "pickle",
        "table",
        "cut short",
        "version 3",
        "long header",
        "short header",
        "checksum",
        "no kind",
        "not JSON",
    ],
)
def test_what_is_no_model_file_is_refused_with_the_reason_and_the_path(tmp_path, data, message):
    path = tmp_path / "odd.bhk"
    path.write_bytes(data)
    with pytest.raises(bh.ModelFileError, match=rf"odd\.bhk: .*{message}"):
        bh.load(path)


@pytest.mark.parametrize("odd", [None, 3, b"m.bhk", ["m.bhk"]])
def test_what_is_no_path_is_refused(odd):
    with pytest.raises(TypeError, match=f"load needs the path of a model file, not a {type(odd).__name__}"):
        bh.load(odd)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(bh.ModelFileError, match="a folder, and none that ydf saved a model to: give the path of a"):
        bh.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "new"),
    [
        ("offset", np.array([0, 2**63 - 1, -2, 49])),  # whose differences overflow to something harmless
        ("offset", np.array([0, -1, 8, 49])),
        ("tree_column", np.array([2**31 - 1, 0, 0], np.int32)),
        ("left", np.full(49, 2**31 - 1, np.int32)),
    ],
)
def test_numbers_that_overflow_are_refused(tmp_path, forest, name, new):
    header, body = taken_apart(bytes_of(forest, tmp_path / "m.bhk"))
    arrays, position = [], 0
    for entry in header["arrays"]:
        n_bytes = int(np.prod(entry["shape"])) * np.dtype(entry["dtype"]).itemsize
        if entry["name"] == name:
            assert (list(new.shape), new.dtype.str) == (entry["shape"], entry["dtype"])
        arrays.append(new.tobytes() if entry["name"] == name else body[position : position + n_bytes])
        position += n_bytes
    (tmp_path / "m.bhk").write_bytes(put_together(header, b"".join(arrays)))
    with pytest.raises(bh.ModelFileError, match=r"offset|tree_column|children|a leaf"):
        bh.load(tmp_path / "m.bhk")


def test_one_long_label_among_many_takes_no_memory(tmp_path, forest):
    header, body = taken_apart(bytes_of(forest, tmp_path / "m.bhk"))
    header["meta"]["classes"] = {"dtype": "<U5", "labels": ["x" * 200_000] + [str(n) for n in range(1500)]}
    (tmp_path / "m.bhk").write_bytes(put_together(header, body))
    tracemalloc.start()
    try:
        with pytest.raises(bh.ModelFileError, match="too long for so many"):
            bh.load(tmp_path / "m.bhk")
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_a_header_has_its_limit(tmp_path, forest):
    (tmp_path / "m.bhk").write_bytes(struct.pack("<8sIII", b"BILLHOOK", 1, 2**24 + 1, 0) + bytes(2**24 + 1))
    with pytest.raises(bh.ModelFileError, match="the most is 16,777,216"):
        bh.load(tmp_path / "m.bhk")
    names = ("n" * 2**23, "m" * 2**23, "c", "d")
    with pytest.raises(ValueError, match="a file holds at most"):
        bh.Forest(**{**forest.__getstate__(), "feature_names": names}).save(tmp_path / "new.bhk")
    assert os.listdir(tmp_path) == ["m.bhk"]


def test_a_name_as_long_as_the_system_allows_can_be_saved_to(tmp_path, forest):
    forest.save(tmp_path / ("x" * 255))
    assert bh.load(tmp_path / ("x" * 255)) == forest


def test_deeply_nested_json_is_refused(tmp_path):
    text = b"[" * 100_000
    path = tmp_path / "deep.bhk"
    path.write_bytes(struct.pack("<8sIII", b"BILLHOOK", 1, len(text), zlib.crc32(text)) + text)
    with pytest.raises(bh.ModelFileError, match="not JSON"):
        bh.load(path)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ([2**40], "should have .* bytes, but the file has only"),
        ([2**30, 2**30], "should have .* bytes, but the file has only"),
        ([2**70], "shape"),
        ([-1], "shape"),
        (["9"], "shape"),
        ([True], "shape"),
        ([], "shape"),
        ([0], "bytes are left over after the last array"),
    ],
)
def test_no_size_in_a_file_takes_memory(tmp_path, forest, shape, message):
    header, body = taken_apart(bytes_of(forest, tmp_path / "m.bhk"))
    header["arrays"][0]["shape"] = shape
    (tmp_path / "m.bhk").write_bytes(put_together(header, body))
    tracemalloc.start()
    try:
        with pytest.raises(bh.ModelFileError, match=message):
            bh.load(tmp_path / "m.bhk")
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def damaged(data, rng):
    """Return the file with one thing wrong: bits, bytes, lengths."""
    data = bytearray(data)
    match rng.integers(6):
        case 0:
            data[rng.integers(len(data))] ^= 1 << rng.integers(8)
        case 1:
            data[rng.integers(len(data))] = rng.integers(256)
        case 2:
            del data[rng.integers(len(data)) :]
        case 3:
            start = rng.integers(len(data))
            del data[start : start + rng.integers(1, 50)]
        case 4:
            start = rng.integers(len(data))
            data[start:start] = rng.bytes(rng.integers(1, 50))
        case 5:
            start, length = rng.integers(len(data)), rng.integers(1, 9)
            data[start : start + length] = rng.bytes(length)
    return bytes(data)


def made_up_header(header, body, rng, version=1):
    """Return a file whose checksums hold, with one thing in its header or its arrays made up."""
    odd = [None, -1, 0, 1, 2, 3.5, "x", [], {}, True, 2**31, 2**63, 1e308, "identity", "exp", ["a"], [1, 2]]
    header = json.loads(json.dumps(header))
    choice = rng.integers(4)
    if choice == 0:
        header["meta"][rng.choice(sorted(header["meta"]))] = odd[rng.integers(len(odd))]
    elif choice == 1:
        entry = header["arrays"][rng.integers(len(header["arrays"]))]
        entry[rng.choice(["name", "dtype", "shape"])] = odd[rng.integers(len(odd))]
    elif choice == 2:
        header[rng.choice(["kind", "meta", "arrays"])] = odd[rng.integers(len(odd))]
        return put_together(header, body, fix_checksums=False, version=version)
    else:
        body = damaged(body, rng) if rng.random() < 0.3 else flipped(body, rng)
    return put_together(header, body, version=version)


def flipped(body, rng):
    body = bytearray(body)
    for _ in range(rng.integers(1, 4)):
        body[rng.integers(len(body))] = rng.choice([0, 1, 2, 3, 127, 128, 255, rng.integers(256)])
    return bytes(body)


@pytest.mark.parametrize("kind", ["forest", "categorical_forest"])
def test_a_damaged_file_is_refused(tmp_path, request, kind):
    good = bytes_of(request.getfixturevalue(kind), tmp_path / "good.bhk")
    rng = np.random.default_rng(0)
    path = tmp_path / "damaged.bhk"
    for _ in range(1500):
        data = damaged(good, rng)
        path.write_bytes(data)
        if data == good:
            continue
        with pytest.raises(bh.ModelFileError):
            bh.load(path)


@pytest.mark.parametrize(("kind", "version"), [("forest", 1), ("categorical_forest", 2)])
def test_a_made_up_file_gives_a_valid_forest_or_is_refused(tmp_path, request, kind, version):
    header, body = taken_apart(bytes_of(request.getfixturevalue(kind), tmp_path / "good.bhk"), version)
    rng = np.random.default_rng(1)
    path = tmp_path / "made_up.bhk"
    X = tricky_rows(rng, 20, 4)
    n_loaded = 0
    tracemalloc.start()
    try:
        for _ in range(1500):
            path.write_bytes(made_up_header(header, body, rng, version))
            try:
                loaded = bh.load(path)
            except bh.ModelFileError:
                continue
            n_loaded += 1
            if loaded.n_features == 4:  # a walk through a forest that is none would hang or crash
                loaded.predict(X)
                loaded.predict(X[:2])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 50 < n_loaded < 1450  # both ways were taken
    assert peak < 20_000_000
