"""Columns that say how rows are held out: which cells are the same group, and the order of times."""

import datetime

import numpy as np
import pandas as pd
import pytest

from billhook.tables import read_table, table_of_frame


def read(tmp_path, cells, **asked):
    rows = "".join(f"{cell},{k % 5},{k % 2}\n" for k, cell in enumerate(cells))
    (tmp_path / "rows.csv").write_text(f"when,a,y\n{rows}")
    return read_table(tmp_path / "rows.csv", "y", **asked)


@pytest.mark.parametrize(
    ("cells", "groups"),
    [
        (["7", "7.0", "8", "007", "7e0"], [0, 0, 1, 0, 0]),
        (["7", "7.0", "east", "007", "7"], [0, 1, 2, 3, 0]),
        # As float64 these two are one number.
        (["9007199254740992", "9007199254740993", "1", "1.0"], [0, 1, 2, 2]),
    ],
)
def test_rows_of_one_number_are_one_group(cells, groups, tmp_path):
    _, expected = np.unique(groups, return_inverse=True)
    _, numbers = np.unique(read(tmp_path, cells, group="when").groups, return_inverse=True)
    np.testing.assert_array_equal(numbers, expected)


@pytest.mark.parametrize(
    "cells",
    [
        ["20240102", "20231231", "20240101"],
        ["2024-01-02", "2023-12-31", "2024-01-01T23:59"],
        ["2024-01-02T00:00+00:00", "2023-12-31", "2024-01-02T00:30+01:00"],
    ],
)
def test_times_in_one_notation_are_in_order(cells, tmp_path):
    assert np.argsort(read(tmp_path, cells * 3, split="time:when").times[:3]).tolist() == [1, 2, 0]


def test_days_and_moments_of_a_frame_are_in_order():
    cells = [datetime.datetime(2024, 1, 2, 5), datetime.date(2024, 1, 3), datetime.date(2024, 1, 1)]
    frame = pd.DataFrame({"when": pd.Series(cells, dtype=object), "a": [1.0, 2.0, 3.0], "y": ["u", "v", "u"]})
    assert np.argsort(table_of_frame(frame, "y", split="time:when").times).tolist() == [2, 0, 1]


def test_times_in_two_notations_are_refused(tmp_path):
    message = (
        "holds a date, '2024-01-01', in row 1 and a number, '20240102', in row 3, whose order is not known: write all"
    )
    with pytest.raises(ValueError, match=message):
        read(tmp_path, ["2024-01-01", "2024-01-01", "20240102"], split="time:when")


def test_periods_are_no_times():
    frame = pd.DataFrame({"when": pd.period_range("2024-01-01", periods=4), "a": range(4), "y": list("uvuv")})
    with pytest.raises(ValueError, match="column 'when' of the data frame holds '2024-01-01' in row 1, which is no"):
        table_of_frame(frame, "y", split="time:when")
