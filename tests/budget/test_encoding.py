from dataclasses import replace

import numpy as np

from billhook.budget import choose_encoding, encode_table, fit
from billhook.tables import Categorical, Table


def table_of(columns, y):
    names = tuple(f"c{k}" for k in range(len(columns)))
    return Table("made-up.csv", names, tuple(columns), y, "classification")


def test_an_order_wins_where_there_are_many_names():
    rng = np.random.default_rng(0)
    n_rows, n_names = 4000, 60
    names = tuple(f"n{k:02}" for k in range(n_names))
    codes = rng.integers(0, n_names, n_rows).astype(np.int32)
    column = Categorical(codes, names)
    # A chance of its own for each of many names: an order of them says nearly all, single ones little.
    chance = rng.uniform(0.05, 0.95, n_names)
    many = table_of([column], (rng.random(n_rows) < chance[codes]).astype(int))
    assert choose_encoding(many, 120, 0) == "ordered"


def test_names_that_say_nothing_do_not_look_as_if_they_did():
    rng = np.random.default_rng(0)
    names = tuple(f"n{k:03}" for k in range(200))
    columns = [Categorical(rng.integers(0, 200, 1000).astype(np.int32), names) for _ in range(3)]
    table = table_of(columns, rng.integers(0, 2, 1000))
    rows = encode_table(table, 1000, categorical="ordered").rows
    leaking = fit(replace(rows, recode=None), 1000, n_trials=3).report.score
    honest = fit(rows, 1000, n_trials=3).report.score
    assert leaking > 0.65
    assert honest < 0.58


def test_numbers_and_pairs_need_no_choice():
    table = table_of(
        [np.arange(5, dtype=np.float32), Categorical(np.zeros(5, np.int32), ("a", "b"))], np.arange(5) % 2
    )
    assert choose_encoding(table, 100, 0) == "ordered"


def test_rows_of_a_table():
    table = table_of([np.arange(4, dtype=np.float32)], np.array(["b", "a", "b", "c"]))
    rows = encode_table(table, 100).rows
    assert rows.X.tolist() == [[0.0], [1.0], [2.0], [3.0]]
    assert rows.classes.tolist() == ["a", "b", "c"]
    assert rows.labels.tolist() == ["b", "a", "b", "c"]
