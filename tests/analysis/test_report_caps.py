"""The page of a study for other memory caps than the paper's."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from billhook.analysis import best_below, configurations, write_report
from billhook.analysis.report._payload import stops_of, targets_by_flash
from made_up_studies import run, study
from pages import Reader

SMALL = study(methods=("RF", "RE", "GB"), leaves=(4, 16), trees=(1, 2, 8))
TABLE = configurations(SMALL)


@pytest.fixture
def page(tmp_path):
    def page(results, **options):
        return Reader(write_report(results, tmp_path / "report.html", **options).read_text("utf-8"))

    return page


def table_of(read, name):
    """Return the numbers of a table by data set and method."""
    [table] = read.all("table", class_=name)
    lines = []
    for element in read.elements[read.elements.index(table) + 1 :]:
        if element["tag"] in ("table", "h2", "h3"):
            break
        if element["tag"] == "tr":
            lines.append([])
        elif element["tag"] in ("th", "td"):
            lines[-1].append(element["text"].replace("\N{EN DASH}", "nan"))
    heads, *rows = lines
    found = pd.DataFrame([row[1:] for row in rows], index=[row[0] for row in rows], columns=heads[1:])
    return found.drop(index="best on").astype(float)


@pytest.mark.parametrize("caps", [(4, 8, 16, 32), (0.5, 2), (20.0,), (0.5, 1, 2, 3, 5, 8, 13, 21)])
def test_the_tables_and_the_winners_are_those_below_the_caps_that_are_given(caps, page):
    read = page(SMALL, caps=caps)
    names = [table["class"] for table in read.all("table") if table["class"].startswith("below-")]
    assert names == [f"below-{cap:g}" for cap in caps]
    tiles = [tile["text"] for tile in read.all("li") if tile["text"].startswith("below ")]
    for cap, name, tile in zip(caps, names, tiles, strict=True):
        best = best_below(TABLE, cap)
        found = table_of(read, name)
        np.testing.assert_allclose(found, 100 * best.loc[found.index, found.columns], atol=0.00501)
        assert read.all("h3", id=f"{name}-heading")[0]["text"] == f"Best accuracy below {cap:g} KB"
        counts = best.eq(best.max(axis=1), axis=0).sum()
        n_data = best.notna().any(axis=1).sum()
        method, n_best = re.match(rf"below {cap:g} KB(.+?)best on (\d) of {n_data}", tile).groups()
        assert counts[method] == counts.max() == int(n_best)


@pytest.mark.parametrize(
    ("caps", "first"),
    [
        ((32, 64, 128, 256), 64 * 1024),
        ((4, 8, 16, 32), 8 * 1024),
        ((0.5, 2), 512),
        ((3, 5, 7), 5 * 1024),
        ((0.3,), 307),  # of 307.2 bytes no model has the last part
        ((1 / 1024,), 1),
        ((5000,), 5000 * 1024),
    ],
)
def test_the_slider_stops_at_every_cap_and_starts_at_the_middle_one(caps, first, page):
    read = page(SMALL, caps=caps)
    [script] = read.all("script", id="study")
    stops = json.loads(script["text"])["stops"]
    assert {int(cap * 1024) for cap in caps} <= set(stops)
    assert stops == sorted(set(stops))
    assert stops[0] <= min(TABLE["nbytes"].min(), caps[0] * 1024)
    assert stops[-1] >= max(TABLE.loc[TABLE["method"] != "GB", "nbytes"].max(), caps[-1] * 1024)
    [slider] = read.all("input", id="cap")
    assert stops[int(slider["value"])] == first
    assert int(slider["max"]) == len(stops) - 1


def test_the_slider_goes_no_further_than_caps_models_and_boards_between_them():
    assert stops_of(5_000, 6_000, (5,))[0] == 4096
    assert stops_of(5_000, 6_000, (5,))[-1] == 8192
    assert stops_of(5_000, 6_000, (0.5, 2))[0] == 512
    flash = {target.flash for target in targets_by_flash()}
    assert 8192 in flash
    assert not flash & set(stops_of(2_500, 3_000, (3,)))


def test_caps_below_all_models_and_above_them_make_a_page(page):
    large = pd.DataFrame([run(method=name, nbytes=10**7 + k) for k, name in enumerate("AB")])
    tiles = [tile["text"] for tile in page(large, caps=(0.5, 10**6)).all("li") if tile["text"].startswith("below ")]
    assert tiles == ["below 0.5 KBno model this small", "below 1000000 KBAbest on 1 of 1, as is B"]
