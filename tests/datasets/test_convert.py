"""Files as OpenML and UCI have them, against what the authors' steps make of them with pandas."""

import io
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from billhook.datasets import DownloadError, _catalogue, fetch, load
from billhook.datasets._catalogue import BY_NAME, Printed
from data_server import arff_of, zip_of

FOLDER = Path(os.environ.get("BILLHOOK_DATA") or "nowhere")
PREAMBLE = "".join(f"This file is part of APS Failure, line {k}, copyright\n" for k in range(20))


def shrunk(monkeypatch, name, rows, features, classes, **changes):
    """Let a data set have another size: what is served is of the same shape, but small."""
    small = replace(
        BY_NAME[name], printed=Printed(rows, features, classes), rows=rows, classes=classes, counts=(), **changes
    )
    monkeypatch.setitem(_catalogue.BY_NAME, name, small)


def ida_file(rng, n_rows, n_pos):
    """Return a file of ida2016: 170 features, most rows with missing values."""
    cells = pd.DataFrame(rng.integers(0, 10**6, (n_rows, 170))).add_prefix("aa_").astype(object)
    cells = cells.mask(rng.random(cells.shape) < 0.08, "na")
    cells.insert(0, "class", rng.permutation(["pos"] * n_pos + ["neg"] * (n_rows - n_pos)))
    return PREAMBLE + cells.to_csv(index=False)


@pytest.fixture
def ida(data_server, monkeypatch):
    rng = np.random.default_rng(0)
    origin = BY_NAME["ida2016"].origin._replace(sha256=None)
    shrunk(monkeypatch, "ida2016", 80, 170, 2, n_train=60, origin=origin)
    files = {"train": ida_file(rng, 60, 10), "test": ida_file(rng, 20, 7)}
    data_server.routes["/static/public/421/aps+failure+at+scania+trucks.zip"] = zip_of(
        {
            "aps_failure_description.txt": "about it",
            "to_uci/aps_failure_test_set.csv": files["test"],
            "to_uci/aps_failure_training_set.csv": files["train"],
        }
    )
    return files


def test_ida2016_is_the_training_file_then_the_test_file(ida):
    frames = [
        pd.read_csv(io.StringIO(ida[part]), skiprows=20, na_values="na").fillna(-1) for part in ("train", "test")
    ]
    expected = pd.concat(frames)
    data = load("ida2016")
    assert data.X.shape == (80, 170)
    assert (expected == -1).to_numpy().sum() > 500
    np.testing.assert_array_equal(data.X, expected.drop(columns="class").to_numpy(np.float32))
    assert data.y.tolist() == expected["class"].tolist()
    ((train, test),) = data.folds(5, 0)
    assert (train.tolist(), test.tolist()) == (list(range(60)), list(range(60, 80)))
    assert f"{(expected == -1).to_numpy().sum():,} missing values are -1." in data.notes


@pytest.mark.usefixtures("ida")
def test_ida2016_of_another_checksum_is_refused(data_cache, monkeypatch):
    small, known = BY_NAME["ida2016"], BY_NAME["ida2016"].origin
    monkeypatch.setitem(
        _catalogue.BY_NAME, "ida2016", replace(small, origin=known._replace(sha256="5504" + "0" * 60))
    )
    with pytest.raises(DownloadError, match="has the sha256 checksum"):
        fetch("ida2016")
    assert not list(data_cache.iterdir())


def test_a_part_of_ida2016_is_filled_as_pandas_does(monkeypatch, tmp_path):
    partial = FOLDER / "partial" / "ida2016-partial.parquet"
    if not partial.exists():
        pytest.skip("no part of ida2016 in BILLHOOK_DATA")
    (tmp_path / "ida2016.parquet").symlink_to(partial)
    monkeypatch.setenv("BILLHOOK_DATA", str(tmp_path))
    shrunk(monkeypatch, "ida2016", 9000, 170, 2, n_train=8000)
    data = load("ida2016")
    expected = pd.read_parquet(partial)
    np.testing.assert_array_equal(data.X, expected.drop(columns="label").fillna(-1).to_numpy(np.float32))
    assert (data.X == -1).any(axis=1).sum() == 8913  # the rows with missing values that the manifest counts
    assert (len(data.train), len(data.test)) == (8000, 1000)


def postures_file(rng, n_rows):
    """Return a file of postures: twelve markers, of which three are always seen, and an empty first row."""
    names = [f"{axis}{marker}" for marker in range(12) for axis in "XYZ"]
    cells = pd.DataFrame(rng.normal(50, 40, (n_rows, 36)).round(8), columns=names).astype(object)
    for marker in range(3, 12):
        cells.loc[rng.random(n_rows) < 0.1 * marker, [f"{axis}{marker}" for axis in "XYZ"]] = "?"
    cells.insert(0, "Class", 1 + np.arange(n_rows) % 5)
    cells.insert(1, "User", rng.integers(0, 14, n_rows))
    empty = pd.DataFrame([[0] * 38], columns=cells.columns)
    return pd.concat([empty, cells]).to_csv(index=False)


def test_postures_lacks_users_incomplete_columns_and_the_first_row(data_server, monkeypatch):
    shrunk(monkeypatch, "postures", 50, 9, 5)
    text = postures_file(np.random.default_rng(1), 50)
    data_server.routes["/ml/machine-learning-databases/00405/Postures.zip"] = zip_of({"Postures.csv": text})
    expected = pd.read_csv(io.StringIO(text), na_values="?").dropna(axis=1).iloc[1:]
    data = load("postures")
    assert data.feature_names == ("X0", "Y0", "Z0", "X1", "Y1", "Z1", "X2", "Y2", "Z2")
    np.testing.assert_array_equal(data.X, expected[list(data.feature_names)].to_numpy(np.float32))
    assert data.y.tolist() == expected["Class"].tolist()
    assert data.classes.tolist() == [1, 2, 3, 4, 5]
    assert data.train is None
    assert "Dropped 27 columns with missing values." in data.notes


def test_mnist_splits_where_openml_has_no_column_for_it(data_server, monkeypatch):
    rng = np.random.default_rng(2)
    shrunk(monkeypatch, "mnist", 70, 6, 10, n_train=60, used=(20, 5))
    pixels = {f"pixel{k}": rng.integers(0, 256, 70).tolist() for k in range(1, 7)}
    data_server.add_openml(554, arff_of(pixels, "class", [str(k % 10) for k in range(70)]), "class")
    paper, everything = load("mnist"), load("mnist", rows="all")
    X = np.array(list(pixels.values()), np.float32).T
    np.testing.assert_array_equal(everything.X, X)
    np.testing.assert_array_equal(paper.X, X[[*range(20), *range(60, 65)]])
    assert (paper.train.tolist(), paper.test.tolist()) == (list(range(20)), list(range(20, 25)))
    assert (len(everything.train), len(everything.test)) == (60, 10)


def test_rows_with_missing_values_are_removed(data_server, monkeypatch):
    shrunk(monkeypatch, "mozilla", 40, 3, 2)
    rng = np.random.default_rng(3)
    columns = {"size": rng.normal(size=40).tolist(), "event": ["a", "b"] * 20}
    columns["size"][3] = columns["event"][10] = None
    data_server.add_openml(1046, arff_of(columns, "state", [0, 1, 1, 0] * 10), "state")
    data = load("mozilla")
    kept = [k for k in range(40) if k not in (3, 10)]
    np.testing.assert_array_equal(data.X[:, 0], np.float32([columns["size"][k] for k in kept]))
    assert data.feature_names == ("size", "event=a", "event=b")  # two features, as pandas makes of two categories
    assert data.y.tolist() == [[0, 1, 1, 0][k % 4] for k in kept]
    assert "Removed 2 rows with missing values." in data.notes


def real(name):
    path = FOLDER / f"{name}.parquet"
    if not path.exists():
        pytest.skip(f"no {name}.parquet in BILLHOOK_DATA")
    table = pd.read_parquet(path)
    return {
        column: table[column].astype(table[column].dtype.name.replace("category", "object")).tolist()
        for column in table
    }


def served_by_openml(name, server):
    """Serve a real data set in the form that OpenML has, as far as that is known."""
    columns = real(name)
    labels = columns.pop("label")
    fields = {}
    label = {"bank": "Class", "eeg": "Class", "magic": "class:", "japanese-vowels": "speaker"}.get(name, "class")
    if name == "adult":  # the test file first; '?' is a missing value
        columns = {
            column: [*cells[:16281], *(None if cell == "?" else cell for cell in cells)]
            for column, cells in columns.items()
        }
        labels = [*labels[:16281], *labels]
    elif name == "bank":
        columns = {f"V{k}": cells for k, cells in enumerate(columns.values(), start=1)}
        labels = [{"no": 1, "yes": 2}[one] for one in labels]
    elif name in ("chess", "connect"):  # numbers that are declared as names
        columns = {f"V{k}": list(map(str, cells)) for k, cells in enumerate(columns.values(), start=1)}
        if name == "connect":
            labels = [{"draw": 0, "loss": 1, "win": 2}[one] for one in labels]
    elif name == "eeg":
        labels = [one + 1 for one in labels]
    elif name == "magic":
        columns = {"ID": list(range(len(labels)))} | {f"{column}:": cells for column, cells in columns.items()}
        fields = {"row_id_attribute": "ID"}
    elif name == "satimage":
        labels = [f"{one}." for one in labels]
    server.add_openml(BY_NAME[name].origin.id, arff_of(columns, label, labels), label, **fields)


@pytest.mark.parametrize(
    "name", ["adult", "bank", "chess", "connect", "eeg", "elec", "japanese-vowels", "magic", "mozilla", "satimage"]
)
def test_what_is_downloaded_equals_the_present_file(name, data_server, monkeypatch):
    served_by_openml(name, data_server)
    check_equal(name, monkeypatch)


def test_anura_is_read_from_uci(data_server, monkeypatch):
    columns = real("anura")
    species = columns.pop("label")
    frame = pd.DataFrame({column.replace("_", "_ "): cells for column, cells in columns.items()})
    frame = frame.assign(
        Family="Hylidae", Genus=[one[:4] for one in species], Species=species, RecordID=range(len(species))
    )
    data_server.routes["/static/public/406/anuran+calls+mfccs.zip"] = zip_of(
        {"Readme.txt": "frogs", "Frogs_MFCCs.csv": frame.to_csv(index=False).replace("\n", "\r\n")}
    )
    check_equal("anura", monkeypatch)


def test_avila_is_read_from_uci(data_server, monkeypatch):
    rows = pd.DataFrame(real("avila")).to_csv(index=False, header=False).splitlines(keepends=True)
    data_server.routes["/static/public/459/avila.zip"] = zip_of(
        {
            "avila/avila-description.txt": "a bible",
            "avila/avila-ts.txt": "".join(rows[10430:]),
            "avila/avila-tr.txt": "".join(rows[:10430]),
        }
    )
    check_equal("avila", monkeypatch)


def check_equal(name, monkeypatch):
    downloaded = fetch(name).data
    monkeypatch.setenv("BILLHOOK_DATA", str(FOLDER))
    present = load(name, rows="all")
    np.testing.assert_array_equal(downloaded.X, present.X)
    assert downloaded.y.tolist() == present.y.tolist()
    assert downloaded.feature_names == present.feature_names
    monkeypatch.delenv("BILLHOOK_DATA")
    np.testing.assert_array_equal(load(name, rows="all").X, present.X)  # as the cache has it


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"other.txt": ""}, "the zip file has 0 files called avila-tr.txt"),
        ({"a/avila-tr.txt": "", "b/avila-tr.txt": ""}, "the zip file has 2 files called avila-tr.txt"),
        ({"avila-tr.txt": "1,2,A\n", "avila-ts.txt": ""}, "has 3 cells"),
        (None, "avila.zip is not a zip file, or damaged"),
    ],
)
def test_a_zip_file_that_holds_something_else_is_refused(files, said, data_server, data_cache):
    data_server.routes["/static/public/459/avila.zip"] = b"<html>moved" if files is None else zip_of(files)
    with pytest.raises(DownloadError, match=f"459/avila.zip is not the paper's avila: .*{said}"):
        fetch("avila")
    assert not list(data_cache.iterdir())


def test_files_of_different_columns_are_not_joined(data_server, monkeypatch):
    monkeypatch.setitem(
        _catalogue.BY_NAME,
        "ida2016",
        replace(BY_NAME["ida2016"], origin=BY_NAME["ida2016"].origin._replace(sha256=None)),
    )
    path = "/static/public/421/aps+failure+at+scania+trucks.zip"
    train = "about it\nclass,a,b\nneg,1,2\n"
    for test, said in (
        ("class,b,a\nneg,1,2\n", "aps_failure_test_set.csv has other columns"),
        ("1,2\n", "no line of names"),
    ):
        data_server.routes[path] = zip_of({"aps_failure_training_set.csv": train, "aps_failure_test_set.csv": test})
        with pytest.raises(DownloadError, match=said):
            fetch("ida2016")
