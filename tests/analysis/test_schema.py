import sqlite3
from dataclasses import fields

from billhook.analysis import RUN_COLUMNS, SIZES, STATUSES
from billhook.study._store import TABLES, RunRecord
from made_up_studies import study


def test_a_study_writes_the_columns_that_are_analysed():
    assert {field.name for field in fields(RunRecord)} == set(RUN_COLUMNS)
    with sqlite3.connect(":memory:") as connection:
        connection.executescript(TABLES)
        columns = connection.execute("SELECT name FROM pragma_table_info('runs')").fetchall()
    connection.close()
    assert {name for (name,) in columns} == set(RUN_COLUMNS)
    assert set(study().columns) == set(RUN_COLUMNS)


def test_every_size_has_a_column_of_its_own():
    columns = [size.column for size in SIZES.values()]
    assert len(set(columns)) == len(columns)
    assert set(columns) <= set(RUN_COLUMNS)
    assert "done" in STATUSES
