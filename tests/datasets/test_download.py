"""Downloads from a real server on this machine, which fails in every way that servers do."""

import hashlib
import json
import socket
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow.parquet
import pytest

from billhook.datasets import DownloadError, _catalogue, catalogue, fetch, find, load, names
from billhook.datasets._catalogue import BY_NAME, OpenML, Printed
from billhook.datasets._download import download
from data_server import arff_of, breaking_off, failing, silent, silent_after_a_part

FILE = "/data/v1/download/1471/set.arff"
DESCRIPTION = "/api/v1/json/data/1471"


def made_up(n_rows=40):
    rng = np.random.default_rng(0)
    columns = {name: np.round(rng.normal(4000, 30, n_rows), 2).tolist() for name in ("AF3", "F7", "F3")}
    return columns, [1 + (k % 3 == 0) for k in range(n_rows)]


@pytest.fixture
def small_eeg(monkeypatch):
    """Eeg with 40 rows and three features: the rest as it is."""
    small = replace(BY_NAME["eeg"], printed=Printed(40, 3, 2), rows=40, counts=(26, 14))
    monkeypatch.setitem(_catalogue.BY_NAME, "eeg", small)
    return small


@pytest.fixture
def eeg_server(data_server, small_eeg):  # noqa: ARG001 - of the size that the server has
    columns, labels = made_up()
    data_server.add_openml(1471, arff_of(columns, "Class", labels), "Class")
    return data_server


def is_empty(folder):
    return not folder.exists() or not list(folder.iterdir())


def test_a_set_that_is_not_here_is_downloaded_once(eeg_server, data_cache):
    columns, labels = made_up()
    data = load("eeg")
    np.testing.assert_array_equal(data.X, np.array(list(columns.values()), np.float32).T)
    assert data.y.tolist() == [label - 1 for label in labels]  # 0 and 1, as in UCI's file
    assert data.feature_names == ("AF3", "F7", "F3")
    assert eeg_server.asked == [DESCRIPTION, FILE]
    again = load("eeg")
    np.testing.assert_array_equal(again.X, data.X)
    assert len(eeg_server.asked) == 2
    assert [path.name for path in data_cache.iterdir()] == ["eeg.parquet"]
    assert find("eeg") == (data_cache / "eeg.parquet", "cache")


@pytest.mark.usefixtures("eeg_server")
def test_the_checksum_is_kept_with_the_file():
    arff = arff_of(*made_up()[:1], "Class", made_up()[1])
    seen = []
    fetched = fetch("eeg", progress=lambda done, everything: seen.append((done, everything)))
    kept = json.loads(pyarrow.parquet.read_schema(fetched.path).metadata[b"billhook"])
    assert kept["md5"] == hashlib.md5(arff).hexdigest()
    assert kept["sha256"] == hashlib.sha256(arff).hexdigest()
    assert (kept["n_bytes"], kept["compared"]) == (len(arff), "md5")
    assert kept["url"].endswith(FILE)
    assert seen[-1] == (len(arff), len(arff))


def test_the_folder_of_the_user_comes_before_the_cache(eeg_server, data_cache, tmp_path, monkeypatch):
    fetch("eeg")
    mine = tmp_path / "mine"
    mine.mkdir()
    (data_cache / "eeg.parquet").rename(mine / "eeg.parquet")
    monkeypatch.setenv("BILLHOOK_DATA", str(mine))
    n_asked = len(eeg_server.asked)
    assert len(load("eeg").X) == 40
    assert find("eeg") == (mine / "eeg.parquet", "$BILLHOOK_DATA")
    fetch("eeg")
    assert find("eeg").kind == "$BILLHOOK_DATA"
    assert len(eeg_server.asked) == n_asked + 2


def not_found(server):
    del server.routes[FILE]


def no_description(server):
    del server.routes[DESCRIPTION]


def no_json(server):
    server.routes[DESCRIPTION] = b"<html>down for maintenance</html>"


def without_address(server):
    server.routes[DESCRIPTION] = b'{"data_set_description": {"default_target_attribute": "Class"}}'


def wrong_checksum(server):
    server.add_openml(1471, server.routes[FILE], "Class", md5="0" * 32)


def changed_file(server):
    server.routes[FILE] = server.routes[FILE].replace(b"40", b"41", 1)


def truncated(server):
    server.routes[FILE] = breaking_off(server.routes[FILE])


def truncated_description(server):
    server.routes[DESCRIPTION] = breaking_off(server.routes[DESCRIPTION])


def always_failing(server):
    server.routes[FILE] = failing(9, b"")


def says_nothing(server):
    server.routes[FILE] = silent(server)


def stops_speaking(server):
    server.routes[FILE] = silent_after_a_part(server, server.routes[FILE])


def hangs_up(server):
    server.routes[FILE] = lambda handler: handler.connection.shutdown(socket.SHUT_RDWR)


def other_rows(server):
    columns, labels = made_up(39)
    server.add_openml(1471, arff_of(columns, "Class", labels), "Class")


def other_classes(server):
    columns, labels = made_up()
    server.add_openml(1471, arff_of(columns, "Class", [*labels[:-1], 3]), "Class")


def other_counts(server):
    columns, labels = made_up()
    server.add_openml(1471, arff_of(columns, "Class", [3 - labels[0], *labels[1:]]), "Class")


def other_features(server):
    columns, labels = made_up()
    columns.pop("F3")
    server.add_openml(1471, arff_of(columns, "Class", labels), "Class")


def no_arff(server):
    server.add_openml(1471, b"AF3,F7,F3,Class\n1,2,3,4\n", "Class")


def other_label(server):
    server.add_openml(1471, server.routes[FILE], "Klass")


FAILURES = [
    (not_found, "set.arff answers 404 Not Found"),
    (no_description, "data/1471 answers 404 Not Found"),
    (no_json, "does not give the address"),
    (without_address, "does not give the address"),
    (wrong_checksum, "has the md5 checksum [0-9a-f]{32}, not 0{32}: the file is damaged or was replaced"),
    (changed_file, "has the md5 checksum"),
    (truncated, "broke off after [0-9,]+ of [0-9,]+ bytes"),
    (truncated_description, "data/1471 broke off after"),
    (always_failing, "answers 503 Service Unavailable"),
    (says_nothing, "cannot be reached: no answer within 0.2 seconds"),
    (stops_speaking, "broke off: no answer within 2 seconds"),
    (hangs_up, "set.arff (cannot be reached|broke off)"),
    (other_rows, "is not the paper's eeg: eeg.arff has 39 rows; eeg has 40"),
    (other_classes, "is not the paper's eeg: eeg.arff has 3 classes; eeg has 2"),
    (other_counts, r"the classes in eeg.arff have \[13, 27\] rows; those of eeg \[14, 26\]"),
    (other_features, "is not the paper's eeg: eeg.arff makes 2 features; eeg has 3"),
    (no_arff, "is not the paper's eeg: line 1 of .* is not ARFF"),
    (other_label, "is not the paper's eeg: .* has no column 'Klass'; did you mean 'Class'"),
]


@pytest.mark.parametrize(("fail", "said"), FAILURES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_failed_download_leaves_nothing_behind(fail, said, eeg_server, data_cache):
    fail(eeg_server)
    # What is waited for in vain is not waited for long; all else has as long as a busy machine may take.
    timeout = {says_nothing: 0.2, stops_speaking: 2.0}.get(fail, 600.0)
    with pytest.raises(DownloadError, match=said):
        fetch("eeg", timeout=timeout, tries=1 if fail is stops_speaking else 2)
    assert is_empty(data_cache)


@pytest.mark.parametrize("fail", [truncated, wrong_checksum, other_rows], ids=lambda fail: fail.__name__)
def test_a_failed_download_leaves_what_was_there(fail, eeg_server, data_cache):
    before = fetch("eeg").path.read_bytes()
    fail(eeg_server)
    with pytest.raises(DownloadError):
        fetch("eeg", tries=1)
    assert [path.name for path in data_cache.iterdir()] == ["eeg.parquet"]
    assert (data_cache / "eeg.parquet").read_bytes() == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
@pytest.mark.usefixtures("eeg_server")
def test_an_interrupted_write_leaves_nothing_behind(error, data_cache, monkeypatch):
    written = []

    def write_table(_, file, **__):
        file.write(b"PAR1 and some more")
        written.extend(path.name for path in data_cache.iterdir())
        raise error

    monkeypatch.setattr(pyarrow.parquet, "write_table", write_table)
    with pytest.raises(error if isinstance(error, type) else OSError):
        fetch("eeg")
    assert written  # there was something to remove
    assert "eeg.parquet" not in written
    assert is_empty(data_cache)


@pytest.mark.usefixtures("eeg_server")
def test_an_interrupted_download_leaves_nothing_behind(data_cache):
    def interrupt(_, __):
        assert not is_empty(data_cache)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch("eeg", progress=interrupt)
    assert is_empty(data_cache)


def test_a_passing_failure_is_tried_again(eeg_server):
    eeg_server.routes[FILE] = failing(2, eeg_server.routes[FILE])
    assert len(load("eeg").X) == 40
    assert eeg_server.asked.count(FILE) == 3


def test_a_lasting_failure_is_not_tried_again(eeg_server):
    not_found(eeg_server)
    with pytest.raises(DownloadError):
        fetch("eeg")
    assert eeg_server.asked.count(FILE) == 1


def test_a_redirection_is_followed(eeg_server):
    body = eeg_server.routes[FILE]
    eeg_server.routes["/elsewhere"] = body

    def redirect(handler):
        handler.send_response(302)
        handler.send_header("Location", "/elsewhere")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    eeg_server.routes[FILE] = redirect
    assert len(load("eeg").X) == 40


def test_a_redirection_to_a_file_of_this_machine_is_not_followed(eeg_server, data_cache, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("of this machine")

    def redirect(handler):
        handler.send_response(302)
        handler.send_header("Location", secret.as_uri())
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    eeg_server.routes[FILE] = redirect
    with pytest.raises(DownloadError, match=r"set.arff cannot be reached: .*file://"):
        fetch("eeg")
    assert eeg_server.asked.count(FILE) == 1
    assert is_empty(data_cache)


def test_a_body_of_unknown_length_is_taken_if_its_checksum_is_right(eeg_server, data_cache):
    body = eeg_server.routes[FILE]

    def without_length(content):
        def answer(handler):
            handler.send_response(200)
            handler.end_headers()
            handler.wfile.write(content)

        return answer

    eeg_server.routes[FILE] = without_length(body[:-30])
    with pytest.raises(DownloadError, match="md5 checksum"):
        fetch("eeg")
    assert is_empty(data_cache)
    eeg_server.routes[FILE] = without_length(body)
    assert len(fetch("eeg").data.X) == 40


def test_an_address_that_is_no_web_address_is_refused(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("of this machine")
    with pytest.raises(DownloadError, match="is not an address of the web"):
        download(secret.as_uri(), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_sha256_is_compared_where_it_is_known(data_server, tmp_path):
    data_server.routes["/file"] = b"content"
    right = hashlib.sha256(b"content").hexdigest()
    assert download(f"{data_server.url}/file", tmp_path / "out", sha256=right.upper()).compared == "sha256"
    with pytest.raises(DownloadError, match=f"has the sha256 checksum {right}, not 1+"):
        download(f"{data_server.url}/file", tmp_path / "out", sha256="1" * 64)


@pytest.mark.usefixtures("small_eeg")
def test_without_a_network_one_is_told_what_to_do(data_cache, tmp_path, monkeypatch):
    with socket.socket() as taken:  # a port at which nobody listens
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("BILLHOOK_MIRROR", f"http://127.0.0.1:{taken.getsockname()[1]}")
        monkeypatch.setenv("BILLHOOK_DATA", str(tmp_path / "absent"))
        with pytest.raises(FileNotFoundError) as caught:
            load("eeg")
    said = str(caught.value)
    assert "eeg is not here and cannot be downloaded" in said
    assert "Connection refused" in said
    assert f"$BILLHOOK_DATA ({tmp_path / 'absent'}, which is no folder)" in said
    assert f"the cache ({data_cache})" in said
    assert "run `billhook data fetch eeg`" in said


def test_nothing_is_downloaded_where_that_is_not_wanted(eeg_server):
    with pytest.raises(
        FileNotFoundError, match=r"eeg is not here. It was looked for as eeg.parquet in \$BILLHOOK_DATA"
    ):
        load("eeg", download=False)
    assert eeg_server.asked == []


@pytest.mark.usefixtures("eeg_server")
def test_a_damaged_file_in_the_cache_is_noticed():
    path = fetch("eeg").path
    content = bytearray(path.read_bytes())
    content[len(content) // 4] ^= 0xFF  # in the pages of a column, not in the description at the end
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"eeg.parquet cannot be read: .*run `billhook data fetch eeg`"):
        load("eeg")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("egg", "did you mean 'eeg'"),
        ("japanese_vowels", "did you mean 'japanese-vowels'"),
        ("nothing like it", "the paper's are adult, anura, .*, satimage"),
    ],
)
def test_an_unknown_name_is_told_the_nearest(name, hint):
    with pytest.raises(ValueError, match=f"there is no data set '{name}'; {hint}"):
        load(name)


def test_rows_are_of_the_paper_or_all(data_server):
    with pytest.raises(ValueError, match="there is no choice of rows 'al'; did you mean 'all'"):
        load("eeg", rows="al")
    assert data_server.asked == []


def test_all_sixteen_sets_have_a_name_and_an_origin():
    assert len(names()) == len(set(names())) == 16
    assert [entry.name for entry in catalogue()] == list(names())
    ids = [entry.origin.id for entry in catalogue() if isinstance(entry.origin, OpenML)]
    assert len(ids) == len(set(ids)) == 12
    for entry in catalogue():
        assert not entry.counts or (sum(entry.counts), len(entry.counts)) == (entry.rows, entry.classes), entry.name


def test_the_sets_are_an_attribute_of_the_package_and_import_nothing_heavy():
    code = "import billhook as bh, sys; bh.datasets.names(); print(*{name.partition('.')[0] for name in sys.modules})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(run.stdout.split())
    assert "billhook" in imported
    assert not imported & {"pandas", "pooch", "pyarrow", "requests", "sklearn", "matplotlib", "narwhals"}


def test_without_pooch_the_extra_is_named(eeg_server, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"downloaded by pooch .*: pip install 'billhook\[study\]'"):
        fetch("eeg")
    assert eeg_server.asked == []


def test_without_pyarrow_nothing_is_downloaded(eeg_server, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"pip install 'billhook\[study\]'"):
        fetch("eeg")
    assert eeg_server.asked == []
