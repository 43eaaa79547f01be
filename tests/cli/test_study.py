import shutil

import pytest

import billhook as bh
from billhook.cli import main

OWN = """\
data = ["iris", "wine", "breast_cancer"]
folds = 2
trees = 8
max_leaves = [4, 8]
n_trees = [2, 4]
caps = [1, 3]
[[methods]]
label = "RF"
[[methods]]
label = "RE"
prune = "reduced_error"
[[methods]]
label = "GB"
base = "gradient_boosting"
options = { engine = "histogram" }
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """Return a study file, and the folder that it ran in."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "own.toml").write_text(OWN)
    bh.study.run(bh.study.read(folder / "own.toml"), folder / "results")
    return folder


@pytest.fixture
def mine(own, tmp_path):
    """Return a copy, to be changed."""
    shutil.copytree(own, tmp_path / "mine")
    return tmp_path / "mine"


def test_a_study_is_run_and_told(own, tmp_path, capsys):
    folder = tmp_path / "results"
    command = ["study", "run", str(own / "own.toml"), "--out", str(folder), "--jobs", "1", "--data", "iris"]
    assert main([*command, "--methods", "GB", "RE"]) == 0
    out, err = capsys.readouterr()
    assert "16 done; results in" in out
    assert f"billhook study report {folder} --out report.html" in out
    assert "16 of 16 runs" in err
    assert "iris, fold 1, random_forest" in err


def test_failures_are_told_with_their_reasons(tmp_path, capsys):
    text = OWN.replace('label = "RF"', 'label = "RF"\nrefine = { solver = "sgd", step_size = 1e9 }')
    (tmp_path / "own.toml").write_text(text)
    given = ["study", "run", str(tmp_path / "own.toml"), "--out", str(tmp_path / "results"), "--data", "iris"]
    with pytest.raises(SystemExit, match="1"):
        main([*given, "--jobs", "1"])
    out = capsys.readouterr().out
    assert "16 done, 8 failed" in out
    assert "(RF; iris): ValueError: the loss diverges" in out


def test_the_state_of_a_study(own, capsys):
    assert main(["study", "status", str(own / "results")]) == 0
    out = capsys.readouterr().out
    assert "study own: 72 of 72 runs" in out
    assert "growing" in out


def test_a_report_is_written(own, tmp_path, capsys):
    assert main(["study", "report", str(own / "results"), "--out", str(tmp_path / "report.html")]) == 0
    assert "wrote" in capsys.readouterr().out
    page = (tmp_path / "report.html").read_text()
    assert page.lower().startswith("<!doctype html>")
    assert "<h1>own</h1>" in page
    assert "breast_cancer" in page


def test_tables_and_figures_are_written(own, tmp_path, capsys):
    assert main(["study", "tables", str(own / "results"), "--out", str(tmp_path / "tables")]) == 0
    n_files = len(list((tmp_path / "tables").iterdir()))
    assert f"wrote {n_files} files" in capsys.readouterr().out
    assert (tmp_path / "tables" / "accuracy_below_3KB.csv").exists()
    assert {path.suffix for path in (tmp_path / "tables").iterdir()} == {".csv", ".tex", ".png", ".pdf"}


def test_studies_are_listed(capsys):
    assert main(["study", "list"]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert lines[0].split() == ["study", "data", "sets", "methods", "labels"]
    assert [line.split()[0] for line in lines[1:]] == list(bh.study.shipped())
    assert "16       10  RF, RE, IC, IE, COMP, DREP, LMD, CA, RF-LR, GB" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "papr", "--out", "{new}"], "there is no study 'papr'; did you mean 'paper'?"),
        (
            ["run", "{own}", "--out", "{new}", "--data", "irs"],
            "the study own has no data set 'irs'; did you mean 'iris'?",
        ),
        (
            ["run", "{own}", "--out", "{new}", "--methods", "REE"],
            "the study own has no method 'REE'; did you mean 'RE'",
        ),
        (["run", "{own}", "--out", "{new}", "--folds", "1"], "--folds must be 2 or more, not 1"),
        (["run", "{own}", "--out", "{new}", "--jobs", "0"], "--jobs must be a number of jobs, or -1"),
        (["run", "{own}", "--out", "{new}", "--resume"], "holds no results to go on with: leave --resume out"),
        (["run", "{own}", "--out", "{new}", "--backend", "dask"], "--backend dask needs the address of a scheduler"),
        (
            ["run", "{own}", "--out", "{new}", "--worker-timeout", "60"],
            "--worker-timeout is for the workers of a clus",
        ),
        (
            ["run", "{own}", "--out", "{new}", "--scheduler", "tcp://127.0.0.1:9", "--worker-timeout", "-1"],
            "--worker-timeout must be 0 to 10,000,000 seconds, not -1",
        ),
        (
            ["run", "{own}", "--out", "{new}", "--backend", "local", "--scheduler", "x"],
            "--scheduler is for --backend dask",
        ),
        (["run", "{own}", "--out", "{new}", "--memory-limit", "much"], "'much'"),
        (["run", "{own}", "--out", "{new}", "--time-limit", "0"], "--time-limit must be above 0 seconds"),
        (
            ["run", "{own}", "--out", "{results}", "--folds", "3"],
            "holds the results of another study (folds: 2 there, 3",
        ),
        (["run", "{own}", "--out", "{own}"], "own.toml"),
        (["report", "{new}", "--out", "{new}.html"], "holds no results of a study"),
        (["report", "{results}", "--out", "{new}/no/where.html"], "there is no such folder"),
        (
            ["report", "{results}", "--out", "{new}.html", "--size", "packed"],
            "no run that is done has both an accuracy",
        ),
        (["report", "{results}", "--out", "{results}/results.sqlite"], "holds the results: give another file"),
        (["status", "{new}"], "holds no results of a study"),
        (["tables", "{new}", "--out", "{new}"], "holds no results of a study"),
    ],
)
def test_what_is_wrong_is_said(mine, arguments, message, capsys):
    places = {"new": mine / "new", "own": mine / "own.toml", "results": mine / "results"}
    before = {path: path.read_bytes() for path in mine.rglob("*") if path.is_file()}
    assert main(["study", *(argument.format(**places) for argument in arguments)]) == 2
    assert message in capsys.readouterr().err
    assert {path: path.read_bytes() for path in mine.rglob("*") if path in before} == before
    assert not (mine / "new.html").exists()


def test_without_an_action_there_is_help(capsys):
    assert main(["study"]) == 0
    assert "run a study; if it was interrupted, go on" in capsys.readouterr().out
