"""Commands on a model with an encoding and the table as its user has it."""

import subprocess

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import billhook as bh
from billhook.cli import main
from billhook.tables import encode, read_table


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 90, 120), "job": rng.choice(["cook", "clerk", "?", "nurse"], 120)})
    frame["kind"] = np.where((frame["age"] > 50) ^ (frame["job"] == "cook"), "yes", "no")
    frame.to_csv("rows.csv", index=False)
    frame[["kind", "job", "age"]].to_parquet("rows.parquet")
    for categorical in ("one_hot", "ordered"):
        table = read_table("rows.csv", "kind")
        X, encoding = encode(table, categorical)
        forest = RandomForestClassifier(6, max_leaf_nodes=12, random_state=0).fit(X, table.y)
        bh.pack(forest).with_encoding(encoding).save(f"{categorical}.bhk")
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("categorical", ["one_hot", "ordered"])
@pytest.mark.parametrize("table", ["rows.csv", "rows.parquet"])
@pytest.mark.parametrize("label", [[], ["--label", "kind"]])
def test_measure_takes_the_raw_table(categorical, table, label, capsys):
    assert main(["measure", f"{categorical}.bhk", table, "--target", "linux-x86_64", *label]) == 0
    assert "120  100.0%" in capsys.readouterr().out


@pytest.mark.parametrize("categorical", ["one_hot", "ordered"])
def test_emit_takes_the_raw_table(folder, categorical, capsys):
    assert main(["emit", f"{categorical}.bhk", "--out", "c", "--table", "rows.csv", "--label", "kind"]) == 0
    assert "Wrote" in capsys.readouterr().out
    header = (folder / "c" / "model.h").read_text()
    assert "MODEL_JOB_COOK" in header
    accuracy = float(header.split("Accuracy ")[1].split("%")[0])
    assert accuracy > 85.0
    subprocess.run(["make", "-C", "c", "test"], check=True, capture_output=True)


def test_a_table_without_a_column_of_the_model_is_refused(folder, capsys):
    (folder / "few.csv").write_text("age,kind\n20,yes\n")
    assert main(["measure", "one_hot.bhk", "few.csv", "--target", "generic"]) == 2
    assert "lacks the column 'job'" in capsys.readouterr().err
