from pathlib import Path

import numpy as np

from billhook.budget import choose_encoding, rows_of
from billhook.datasets import Table
from billhook.packing import Nominal


def table_of(columns, y):
    names = tuple(f"c{k}" for k in range(len(columns)))
    return Table(Path("made-up.csv"), names, tuple(columns), y, "classification")


def test_an_order_wins_where_there_are_many_names():
    rng = np.random.default_rng(0)
    n_rows, n_names = 4000, 60
    names = tuple(f"n{k:02}" for k in range(n_names))
    codes = rng.integers(0, n_names, n_rows).astype(np.int32)
    column = Nominal(codes, names)
    # A chance of its own for each of many names: an order of them says nearly all, single ones little.
    chance = rng.uniform(0.05, 0.95, n_names)
    many = table_of([column], (rng.random(n_rows) < chance[codes]).astype(int))
    assert choose_encoding(many, 120, 0) == "ordered"


def test_numbers_and_pairs_need_no_choice():
    table = table_of([np.arange(5, dtype=np.float32), Nominal(np.zeros(5, np.int32), ("a", "b"))], np.arange(5) % 2)
    assert choose_encoding(table, 100, 0) == "ordered"


def test_rows_of_a_table():
    table = table_of([np.arange(4, dtype=np.float32)], np.array(["b", "a", "b", "c"]))
    rows = rows_of(table, table.columns[0][:, None])
    assert rows.classes.tolist() == ["a", "b", "c"]
    assert rows.labels.tolist() == ["b", "a", "b", "c"]
