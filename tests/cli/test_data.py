import re
from dataclasses import replace

import numpy as np
import pytest

from billhook.cli import main
from billhook.datasets import _catalogue, names
from billhook.datasets._catalogue import BY_NAME, Printed
from data_server import arff_of, breaking_off


@pytest.fixture
def small_sets(data_server, monkeypatch):
    """Serve eeg and mozilla with 30 rows each; others are not found."""
    rng = np.random.default_rng(0)
    for name, label in (("eeg", "Class"), ("mozilla", "state")):
        small = replace(BY_NAME[name], printed=Printed(30, 2, 2), rows=30, counts=())
        monkeypatch.setitem(_catalogue.BY_NAME, name, small)
        columns = {"a": rng.normal(size=30).tolist(), "b": rng.normal(size=30).tolist()}
        data_server.add_openml(small.origin.id, arff_of(columns, label, [0, 1, 1] * 10), label)
    return data_server


def listed(capsys):
    """Return the cells of the table by name."""
    assert main(["data", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("  ")[0] == "name"
    return {line.split()[0]: re.split(r" {2,}", line) for line in lines[1:17]}


@pytest.mark.usefixtures("small_sets")
def test_fetched_sets_are_listed_as_cached(data_cache, capsys):
    before = listed(capsys)
    assert list(before) == list(names())
    assert {row[4] for row in before.values()} == {"not here"}
    assert main(["data", "fetch", "eeg"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"eeg: 30 rows, 2 features, 2 classes; [\d,]+ bytes from http", said)
    assert re.search(r"md5 [0-9a-f]{32} as it should be", said)
    assert str(data_cache / "eeg.parquet") in said
    after = listed(capsys)
    assert after["eeg"][4] == "cache"
    assert {row[4] for name, row in after.items() if name != "eeg"} == {"not here"}


@pytest.mark.usefixtures("data_cache")
def test_the_list_says_sizes_origins_licences_and_differences(tmp_path, monkeypatch, capsys):
    (tmp_path / "chess.parquet").touch()
    monkeypatch.setenv("BILLHOOK_DATA", str(tmp_path))
    rows = listed(capsys)
    assert rows["chess"] == ["chess", "28,056", "23", "18", "$BILLHOOK_DATA", "OpenML 1481", "CC BY 4.0"]
    assert rows["anura"][5] == "UCI 406"
    assert "the donor's permission" in rows["japanese-vowels"][6]
    main(["data", "list"])
    assert "chess: The paper prints C = 17; the file has 18." in capsys.readouterr().out


def test_what_is_here_is_not_fetched_again_unless_asked(small_sets, data_cache, capsys):
    assert main(["data", "fetch", "eeg", "eeg", "mozilla"]) == 0
    assert len(small_sets.asked) == 4
    capsys.readouterr()
    assert main(["data", "fetch", "eeg"]) == 0
    assert capsys.readouterr().out == f"eeg: is here, {data_cache / 'eeg.parquet'}\n"
    assert len(small_sets.asked) == 4
    assert main(["data", "fetch", "eeg", "--force"]) == 0
    assert len(small_sets.asked) == 6


def test_one_that_fails_does_not_keep_the_others_from_coming(small_sets, data_cache, capsys):
    path = "/data/v1/download/1471/set.arff"
    small_sets.routes[path] = breaking_off(small_sets.routes[path])
    assert main(["data", "fetch", "--all"]) == 2
    captured = capsys.readouterr()
    assert "mozilla: 30 rows" in captured.out
    assert re.search(r"^billhook: eeg: http.* broke off after", captured.err, re.MULTILINE)
    assert re.search(r"^billhook: postures: http.*Postures.zip answers 404 Not Found$", captured.err, re.MULTILINE)
    assert "15 of 16 data sets could not be fetched: adult, anura, " in captured.err
    assert [file.name for file in data_cache.iterdir()] == ["mozilla.parquet"]


@pytest.mark.usefixtures("small_sets")
def test_an_interruption_says_what_is_here(data_cache, monkeypatch, capsys):
    from billhook.cli import _data

    fetch = _data.fetch

    def interrupted(name, **options):
        if name == "mozilla":
            raise KeyboardInterrupt
        return fetch(name, **options)

    monkeypatch.setattr(_data, "fetch", interrupted)
    with pytest.raises(SystemExit) as end:
        main(["data", "fetch", "eeg", "mozilla"])
    assert end.value.code == 130
    assert "interrupted; nothing of mozilla was written, 1 of 2 are here" in capsys.readouterr().err
    assert [file.name for file in data_cache.iterdir()] == ["eeg.parquet"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fetch"], "name the data sets to fetch, or give --all"),
        (["fetch", "eeg", "--all"], "name the data sets to fetch, or give --all"),
        (["fetch", "eeg", "ches"], "there is no data set 'ches'; did you mean 'chess'?"),
        (["fetch", "eeg", "--timeout", "0"], "--timeout must be more than 0, not 0"),
    ],
)
def test_wrong_arguments_are_said_before_anything_is_fetched(arguments, said, data_server, capsys):
    assert main(["data", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert data_server.asked == []


def test_without_an_action_the_actions_are_listed(capsys):
    assert main(["data"]) == 0
    assert "fetch" in capsys.readouterr().out
