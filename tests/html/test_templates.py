"""Templates escape what is put into them, and find each other whatever package they are in."""

import json

import pytest
from jinja2 import UndefinedError

from billhook.html import Cell, Head, PageTable, TableRow, notebook_table, number_heads
from billhook.html._templates import SHARED, _environment, render
from pages import HOSTILE, Reader


def filled(text, **values):
    """Return a template of this text, filled in."""
    return _environment(SHARED).from_string(text).render(values)


def test_a_table_for_notebooks_has_its_facts_as_text():
    read = Reader(notebook_table(HOSTILE, {HOSTILE: HOSTILE, "b": "c"}))
    assert [element["text"] for element in read.all("td")] == [HOSTILE, "c"]
    assert [element["text"] for element in read.all("th")] == [HOSTILE, "b"]
    assert read.all("caption")[0]["text"] == HOSTILE


def test_cells_heads_and_classes_of_a_table_are_text():
    rows = [TableRow([Head(HOSTILE)], [Cell(HOSTILE, HOSTILE, 0.25, HOSTILE), Cell("x")], HOSTILE)]
    table = PageTable("name", [Head("a"), *number_heads([HOSTILE])], rows)
    template = '{% from "html/tables.html" import page_table %}{{ page_table(table) }}'
    read = Reader(filled(template, table=table))
    assert [element["text"] for element in read.all("td")] == [HOSTILE * 2, "x"]
    [cell] = read.all("td", class_=HOSTILE)
    assert cell["style"] == "--depth:0.25"
    assert [element["text"] for element in read.all("th", scope="col")] == ["a", HOSTILE]
    assert not read.all("script")


def test_data_for_a_script_cannot_end_it():
    content = {HOSTILE: [HOSTILE, "\u2028", "\ud83d", 0.5, None]}
    html = filled('<script type="application/json">{{ content | tojson }}</script>', content=content)
    assert html.count("<") == 2
    [script] = Reader(html).all("script")
    assert json.loads(script["text"]) == content


def test_a_name_that_is_missing_is_an_error():
    with pytest.raises(UndefinedError, match="'caption' is undefined"):
        render(SHARED, "notebook.html", facts={})


def test_a_number_that_is_none_does_not_get_into_a_script():
    with pytest.raises(ValueError, match="not JSON compliant"):
        filled("{{ content | tojson }}", content=float("nan"))
