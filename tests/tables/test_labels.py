import numpy as np
import pandas as pd
import pytest

from billhook.tables import read_table


@pytest.fixture
def read(tmp_path):
    def read(labels, task=None):
        frame = pd.DataFrame({"a": np.arange(len(labels)) * 0.5, "quality": labels})
        frame.to_csv(tmp_path / "rows.csv", index=False)
        return read_table(tmp_path / "rows.csv", "quality", task=task)

    return read


@pytest.mark.parametrize(
    ("labels", "task", "dtype", "note"),
    [
        (
            [3, 4, 5, 6, 7, 8, 9] * 3,
            "classification",
            "i",
            "'quality' has 7 different whole numbers: classification;",
        ),
        ([1.0, 2.0] * 3, "classification", "i", "task='regression' overrides"),
        ([0.5, 1.5] * 3, "regression", "f", "'quality' has 2 different numbers: regression; task='classification'"),
        (list(range(40)) * 9, "regression", "f", "'quality' has 40 different whole numbers: regression"),
        ([1, 2, 3, 4, 5], "regression", "f", "5 different whole numbers: regression"),
        (["b", "a", "b", "b"], "classification", "U", "'quality' holds text with 2 different values: classification"),
        (["none", "some"] * 2, "classification", "U", "text with 2 different values"),
        (["01", "02"] * 2, "classification", "U", "text with 2 different values"),
        ([True, False] * 2, "classification", "U", "text with 2 different values"),
    ],
)
def test_the_task_is_guessed_and_the_reason_given(read, labels, task, dtype, note):
    table = read(labels)
    assert (table.task, table.y.dtype.kind) == (task, dtype)
    assert note in " ".join(table.notes)
    assert table.y.tolist() == (labels if dtype != "U" else [str(label) for label in labels])


def test_a_task_that_is_asked_for_is_done_without_a_note(read):
    assert read([3, 4, 3, 4, 3], "regression").y.dtype == np.float64
    table = read([0.5, 1.5] * 3, "classification")
    assert (table.task, table.notes) == ("classification", ())
    assert table.y.tolist() == [0.5, 1.5] * 3


@pytest.mark.parametrize(
    ("labels", "task", "message"),
    [
        (["a", "b", "a"], "regression", "holds 'a' in row 1, not a number: use task='classification'"),
        ([1, 2, "inf"], "regression", "infinite number in row 3"),
        ([1, 2, "NA", "none"], None, "has 2 empty cells among 4, the first in row 3"),
        (["a", "b", "?"], None, "has 1 empty cell among 3"),
        ([1, 2, 3] * 2, "regresion", "no task 'regresion'; did you mean 'regression'"),
        (
            range(10),
            "classification",
            "has 10 classes in 10 rows; it looks like a number to predict or an identifier",
        ),
        (list(range(1001)) * 3, "classification", "1,001 classes in 3,003 rows; .* task='regression'"),
        ([f"w{k}" for k in range(9)], None, "9 classes in 9 rows; it looks like an identifier or free text"),
    ],
)
def test_labels_that_cannot_be_learned_are_refused(read, labels, task, message):
    with pytest.raises(ValueError, match=message):
        read(labels, task)
