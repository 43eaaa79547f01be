"""`billhook predict` and `score`: what they print, and where."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import billhook as bh
from billhook.cli import main


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("predict")
    frame, y = load_iris(return_X_y=True, as_frame=True)
    forest = bh.as_forest(RandomForestClassifier(4, max_leaf_nodes=4, random_state=0).fit(frame, y))
    forest.save(folder / "forest.bhk")
    frame.assign(kind=y).to_csv(folder / "rows.csv", index=False)
    return folder, forest, frame


def test_predictions_go_to_stdout_and_what_is_said_of_them_does_not(files, capfdbinary):
    folder, forest, frame = files
    assert main(["predict", str(folder / "forest.bhk"), str(folder / "rows.csv")]) == 0
    out, err = capfdbinary.readouterr()
    assert out.decode().splitlines() == ["prediction", *map(str, forest.predict(frame))]
    assert b"Column 'kind' is not known to the model: ignored." in err
    assert b"150 rows: 2 (54), 0 (50), 1 (46)" in err


def test_a_file_is_written_whole_and_replaced_by_force(files, tmp_path, capsys):
    folder, _, _ = files
    command = ["predict", str(folder / "forest.bhk"), str(folder / "rows.csv"), "--out", str(tmp_path / "out.csv")]
    assert main([*command, "--proba"]) == 0
    assert capsys.readouterr().out == f"Wrote {tmp_path / 'out.csv'}.\n"
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 151
    assert main(command) == 2
    assert "is there already; --force replaces it" in capsys.readouterr().err
    assert main([*command, "--force"]) == 0
    assert (tmp_path / "out.csv").read_text().startswith("prediction\n")
    assert len(list(tmp_path.iterdir())) == 1


def test_whoever_reads_predictions_may_stop_reading(files):
    folder, _, _ = files
    (folder / "many.csv").write_text(
        "\n".join([*(folder / "rows.csv").read_text().splitlines(), *["1,2,3,4,0"] * 60_000])
    )
    code = "import sys; from billhook.cli import start; sys.exit(start())"
    command = [sys.executable, "-c", code, "predict", folder / "forest.bhk", folder / "many.csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"prediction\n"
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == 141
    assert said == b""


def test_score_prints_measures_and_the_confusion_matrix(files, capsys):
    folder, forest, frame = files
    assert main(["score", str(folder / "forest.bhk"), str(folder / "rows.csv"), "--label", "kind"]) == 0
    printed = capsys.readouterr().out.splitlines()
    accuracy = np.mean(forest.predict(frame) == load_iris().target)
    assert printed[0].split() == ["rows", "150"]
    assert f"{accuracy:.2%}" in printed[1]
    assert printed[5].split() == ["true", "\\", "predicted", "0", "1", "2", "recall"]
    assert printed[6].split() == ["0", "50", ".", ".", "100.0%"]


def test_of_many_classes_the_most_common_mistakes_are_printed(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 20, 300)
    bh.as_forest(RandomForestClassifier(2, max_leaf_nodes=8, random_state=0).fit(X, y)).save(tmp_path / "f.bhk")
    lines = [f"{a:.7g},{b:.7g},{label}" for (a, b), label in zip(X, y, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,y", *lines]))
    assert main(["score", str(tmp_path / "f.bhk"), str(tmp_path / "rows.csv"), "--label", "y"]) == 0
    printed = capsys.readouterr().out
    assert "Most common mistakes of 20 classes:" in printed
    assert len(printed.splitlines()) == 4 + 1 + 2 + 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("predict none.bhk rows.csv", "none.bhk: No such file"),
        ("predict rows.csv rows.csv", "this is no model file that Billhook knows"),
        ("predict forest.bhk none.csv", "none.csv: No such file"),
        ("predict forest.bhk forest.bhk", "a Billhook model, not a text file or a table"),
        ("predict forest.bhk other.csv", "lacks 4 columns that the model was trained on: 'sepal length (cm)',"),
        ("predict forest.bhk other.csv --fill-missing", "all there are: is this the right table?"),
        ("predict forest.bhk rows.csv --label weight", "has no column 'weight'; its columns are "),
        ("predict forest.bhk rows.csv --out out.json", "written as csv and parquet, not as .json"),
        ("predict forest.bhk rows.csv --force", "--force replaces a file: name it with --out FILE"),
        ("predict . rows.csv", "or the folder of a fit"),
        ("score forest.bhk rows.csv --label kin", "has no column 'kin'; did you mean 'kind'?"),
        ("score forest.bhk gap.csv --label kind", "has 1 empty cell among 1, the first in row 1"),
    ],
)
def test_wrong_inputs_are_said_in_one_line(files, arguments, message, capsys, monkeypatch):
    folder, _, _ = files
    monkeypatch.chdir(folder)
    (folder / "other.csv").write_text("a,b\n1,2\n")
    names = (folder / "rows.csv").read_text().splitlines()[0]
    (folder / "gap.csv").write_text(f"{names}\n1,2,3,4,\n")
    assert main(arguments.split()) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
