"""A fit is gone on with: what was found then is not looked for again."""

import argparse
import json
import shutil
from inspect import signature

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics import make_scorer, recall_score

import billhook as bh
from billhook.budget._record import KEPT, read_record
from billhook.cli import main
from billhook.cli.options import _fit

COMMANDS = argparse.ArgumentParser().add_subparsers()
_fit.add_to(COMMANDS)
FIT_OPTIONS = [each for each in COMMANDS.choices["fit"]._actions if each.dest != "help"]


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """A table and what was fitted to it, which no test changes."""
    folder = tmp_path_factory.mktemp("fitted")
    load_wine(as_frame=True).frame.to_csv(folder / "wine.csv", index=False)
    return folder, bh.fit_table(folder / "wine.csv", "target", budget=300, n_trials=5, n_jobs=1, out=folder / "out")


@pytest.fixture
def fitted(once, tmp_path):
    """Return a copy of the table and of the folder, and the result."""
    folder, result = once
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    record = tmp_path / "out" / "search.json"
    record.write_text(record.read_text().replace(str(folder), str(tmp_path)))
    return tmp_path / "wine.csv", tmp_path / "out", result


def test_what_was_tried_is_not_tried_again_but_the_best(fitted):
    _, out, first = fitted
    before = read_record(out)
    second = bh.resume_fit(out, n_trials=3, n_jobs=1)
    after = read_record(out)
    assert second.report.n_trials == len(before.best) + 3
    tried = {*before.best, *before.others}
    assert len({*after.best, *after.others} - tried) == 3
    assert second.report.score >= first.report.score
    assert bh.load(out) == second.packed
    assert after.settings == before.settings


def test_a_third_search_knows_what_the_first_two_tried(fitted):
    _, out, _ = fitted
    known = set()
    for _ in range(2):
        record = read_record(out)
        assert known <= {*record.best, *record.others}
        known = {*record.best, *record.others}
        bh.resume_fit(out, n_trials=1, n_jobs=1)
    record = read_record(out)
    assert known < {*record.best, *record.others}


def test_the_settings_are_those_of_then(tmp_path):
    frame = load_breast_cancer(as_frame=True).frame
    path = tmp_path / "rows.csv"
    frame.assign(kind=np.where(frame["mean radius"] > 14, "large", "small")).to_csv(path, index=False)
    (tmp_path / "costs.csv").write_text("true,0,1\n0,0,9\n1,1,0\n")
    asked = {"costs": tmp_path / "costs.csv", "target": "arduino-uno", "random_state": 3, "categorical": "one_hot"}
    bh.fit_table(path, "target", budget=500, n_trials=2, n_jobs=1, out=tmp_path / "out", **asked)
    second = bh.resume_fit(tmp_path / "out", n_trials=1, n_jobs=1)
    assert (second.report.scoring, second.report.target, second.report.seed) == ("minus_mean_cost", "arduino-uno", 3)
    assert second.report.budget == 500


def test_a_table_that_has_moved_is_named(fitted, tmp_path):
    path, out, _ = fitted
    moved = path.rename(tmp_path / "moved.csv")
    with pytest.raises(FileNotFoundError, match=r"wine\.csv, is not there any more: name it"):
        bh.resume_fit(out, n_trials=1)
    assert bh.resume_fit(out, moved, n_trials=1, n_jobs=1).packed.nbytes <= 300


def test_another_table_is_refused_and_the_folder_stays(fitted):
    _, out, _ = fitted
    model = (out / "model.bhk").read_bytes()
    frame = load_wine(as_frame=True).frame
    with pytest.raises(ValueError, match="it had 178 rows, and this one has 100; fit it anew"):
        bh.resume_fit(out, frame[:100], n_trials=1)
    with pytest.raises(ValueError, match="it had 13 features, and this one has 12"):
        bh.resume_fit(out, frame.drop(columns="hue"), n_trials=1)
    with pytest.raises(ValueError, match="it had 13 features, and this one has 13 others"):
        bh.resume_fit(out, frame.rename(columns={"hue": "tone"}), n_trials=1)
    assert (out / "model.bhk").read_bytes() == model


def test_what_a_file_cannot_hold_is_given_again(tmp_path):
    frame, out = load_wine(as_frame=True).frame, tmp_path / "out"
    scorer = make_scorer(recall_score, average="macro")
    bh.fit_table(frame, "target", budget=300, n_trials=1, n_jobs=1, scoring=scorer, out=out)
    with pytest.raises(ValueError, match="fitted with a scoring that a file cannot hold"):
        bh.resume_fit(out, frame, n_trials=1)
    again = bh.fit_table(
        frame, "target", budget=300, n_trials=1, n_jobs=1, scoring=scorer, out=out, force=True, resume=out
    )
    assert again.report.n_trials > 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: path.unlink(), "is not a fit that can be gone on with: it has no search.json"),
        (lambda path: path.write_text("{"), "is not JSON"),
        (lambda path: path.write_text("[]"), "is damaged"),
        (lambda path: path.write_text('{"version": 9}'), "is of version 9, and this Billhook reads 1"),
        (lambda path: path.write_text(path.read_text().replace('"leaves"', '"leafs"')), "is damaged: .*leaves"),
        (lambda path: path.write_text(json.dumps(json.loads(path.read_text()) | {"best": 3})), "is damaged"),
        (lambda path: path.write_text(path.read_text().replace('"label"', '"labels"')), "is damaged: .*labels"),
        (lambda path: path.write_text(path.read_text().replace('"boosted"', '"bosted"')), "is damaged: .*'bosted'"),
    ],
    ids=["gone", "cut off", "a list", "newer", "another name", "a number", "another setting", "another family"],
)
def test_a_damaged_record_is_refused(fitted, change, message):
    _, out, _ = fitted
    change(out / "search.json")
    with pytest.raises((ValueError, OSError), match=message):
        bh.resume_fit(out, n_trials=1)


def test_a_record_of_before_targets_were_smoothed_and_splits_chosen_again_is_read(fitted):
    _, out, _ = fitted
    now = read_record(out)
    record = json.loads((out / "search.json").read_text())
    for trial in record["best"] + record["others"]:
        del trial["growth"]["smoothing"], trial["growth"]["draw"], trial["compression"]["sweeps"]
    (out / "search.json").write_text(json.dumps(record))
    assert read_record(out).best == now.best


def test_the_command_goes_on_and_takes_no_other_settings(fitted, capsys):
    _, out, first = fitted
    assert main(["fit", "--resume", str(out), "--trials", "2", "--jobs", "1"]) == 0
    assert f"Wrote {out}/model.bhk" in capsys.readouterr().out
    assert main(["fit", "--resume", str(out / "none")]) == 2
    assert "there is no such folder" in capsys.readouterr().err
    assert main(["fit", "--resume", str(out / "c")]) == 2
    assert "it has no search.json" in capsys.readouterr().err
    assert main(["fit", "--resume", str(out / "model.bhk")]) == 2
    assert "it is a file; name the folder" in capsys.readouterr().err
    assert first.packed.nbytes <= 300


OF_RESUMING = {"table", "demo", "time_limit", "trials", "jobs", "compare", "resume"}


@pytest.mark.parametrize(
    "action", [each for each in FIT_OPTIONS if each.dest not in OF_RESUMING], ids=lambda a: a.dest
)
def test_no_option_of_the_beginning_is_ignored(action, capsys):
    value = [] if action.nargs == 0 else [str(action.choices[-1]) if action.choices else "7"]
    assert main(["fit", "--resume", "out", action.option_strings[0], *value]) == 2
    assert f"{action.option_strings[0]} was said when out was fitted" in capsys.readouterr().err


def test_all_that_is_asked_for_is_kept():
    asked = set(signature(bh.fit_table).parameters) - set(signature(bh.resume_fit).parameters)
    assert asked - {"out", "force", "scheduler", "resume"} | {"table"} == KEPT
