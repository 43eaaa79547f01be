"""The page of a search is read back: its tags, its text, and the places of its dots."""

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from html import escape, unescape
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from billhook.budget._interval import Interval
from billhook.budget._stages import Stage
from billhook.budget.report._page import page
from billhook.budget.report._report import Point, TargetFit
from billhook.codegen import LayoutCost
from made_up_reports import TARGETS, made_up_points, made_up_report
from pages import HOSTILE, Reader, check_loads_nothing, percent


def dots(read):
    """Return the number of every candidate drawn, and where: from the left, and from below."""
    found = {}
    for circle in read.all("circle"):
        if circle.get("id", "").startswith("dot-"):
            found[int(circle["id"][4:])] = (percent(circle["cx"]), 100 - percent(circle["cy"]))
    return found


def flat(score, n_points=7):
    return tuple(replace(point, score=score) for point in made_up_points(n_points))


LAYOUTS = (
    LayoutCost("compact", 5_000, 40_000, True, False),
    LayoutCost("balanced", 5_600, 9_000, True, False),
    LayoutCost("fast", 40_000, 2_000, False, False),
)
EDGES = {
    "many classes": made_up_report(30, 60),
    "two classes": made_up_report(30, 2),
    "one candidate": made_up_report(1),
    "thousands of candidates": made_up_report(3000),
    "all the same score": made_up_report(points=flat(1.0)),
    "all scores zero": made_up_report(points=flat(0.0)),
    "negative scores": made_up_report(
        scoring="neg_log_loss", points=tuple(replace(point, score=point.score - 3) for point in made_up_points(40))
    ),
    "hardly different scores": made_up_report(
        points=tuple(replace(p, score=0.9 + p.nbytes * 1e-16) for p in flat(0.9))
    ),
    "layouts": made_up_report(20, layout="balanced", layouts=LAYOUTS),
    "layouts that are estimates": made_up_report(
        20, layout="fast", layouts=tuple(replace(cost, is_estimated=True) for cost in LAYOUTS)
    ),
    "no targets": made_up_report(20, targets=(), target=None),
    "no target": made_up_report(20, target=None),
    "a target that is not in the list": made_up_report(20, target="generic"),
    "regression": made_up_report(20, 0),
    "regression of one number": made_up_report(20, 0, errors=np.full((9, 2), 4.0)),
    "no rows held out": made_up_report(20, 0, errors=np.empty((0, 2))),
    "a class without rows": made_up_report(20, 3, confusion=np.array([[5, 1, 0], [0, 0, 0], [2, 0, 9]])),
    "no points, stages or notes": replace(made_up_report(), points=(), stages=(), notes=(), versions={}),
    "no finite score": made_up_report(points=flat(-np.inf), scores=(-np.inf,)),
    "large numbers": made_up_report(20, 0, errors=np.array([[1e9, -1e9], [3e9, 2e8]])),
}


@pytest.mark.parametrize("name", EDGES)
def test_every_tag_is_closed_and_headings_are_in_order(name):
    read = Reader(page(EDGES[name]))
    levels = [int(element["tag"][1]) for element in read.elements if re.fullmatch(r"h\d", element["tag"])]
    assert levels[0] == 1
    assert levels[1:] == [2] * (len(levels) - 1)
    ids = [element["id"] for element in read.elements if "id" in element]
    assert len(ids) == len(set(ids))
    assert {key for element in read.elements for key in element.get("aria-labelledby", "").split()} <= set(ids)
    assert all(head.get("scope") in ("row", "col") for head in read.all("th"))
    assert "nan" not in re.sub(r"<style>.*?</style>|<script>.*?</script>", "", page(EDGES[name]), flags=re.DOTALL)


@pytest.mark.parametrize("name", EDGES)
def test_all_numbers_that_place_something_lie_in_the_chart(name):
    read = Reader(page(EDGES[name]))
    places = [
        percent(element[key])
        for element in read.elements
        for key in ("cx", "cy", "x1", "x2", "y1", "y2", "x", "y")
        if element.get(key, "").endswith("%")
    ]
    assert all(0.0 <= place <= 100.0 for place in places)


def hostile(text):
    """Return a report with this text wherever text can come from outside."""
    points = [replace(point, settings={text: text, "family": text}) for point in made_up_points(3)]
    return made_up_report(
        title=text,
        scoring=text,
        target=text,
        points=tuple(points),
        stages=(Stage(text, 0.5, None, text),),
        targets=(TargetFit(text, 10, 10, 5, True),),
        classes=(text, text + "2"),
        confusion=np.array([[3, 1], [0, 2]]),
        notes=(text,),
        versions={text: text},
    )


def test_text_from_outside_is_text():
    html = page(hostile(HOSTILE))
    read = Reader(html)
    plain = Reader(page(hostile("letters")))
    assert [element["tag"] for element in read.elements] == [element["tag"] for element in plain.elements]
    assert [set(element) for element in read.elements] == [set(element) for element in plain.elements]
    assert read.all("h1")[0]["text"] == HOSTILE
    assert read.section("notes").strip() == f"Notes\n{HOSTILE}"
    assert html.count("<script>") == 1


@settings(max_examples=20)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_any_title_and_note_are_read_back(text):
    read = Reader(page(made_up_report(2, 2, title=text, notes=(text,))))
    assert read.all("h1")[0]["text"] == text
    assert read.all("li")[-1]["text"] == text


def test_nothing_is_loaded_from_elsewhere():
    read = Reader(page(hostile("https://example.org/x.js")))
    check_loads_nothing(read)


@pytest.mark.parametrize("name", ["thousands of candidates", "negative scores", "one candidate", "no targets"])
def test_dots_are_further_right_with_bytes_and_higher_with_score(name):
    report = EDGES[name]
    places = dots(Reader(page(report)))
    assert sorted(places) == list(range(len(report.points)))
    for values, axis in (([p.nbytes for p in report.points], 0), ([p.score for p in report.points], 1)):
        order = np.argsort(values, kind="stable")
        drawn = np.array([places[int(k)][axis] for k in order])
        assert (np.diff(drawn) >= 0.0).all()
        if min(values) < max(values):
            assert drawn[-1] - drawn[0] > 50.0


def test_bytes_are_on_a_logarithmic_scale_with_the_ticks_and_the_budget_on_it():
    report = made_up_report(points=tuple(Point(2**k, 0.5 + k / 100, {}, True, True, k == 12) for k in range(6, 13)))
    read = Reader(page(report))
    places = [place[0] for _, place in sorted(dots(read).items())]
    steps = np.diff(places)
    np.testing.assert_allclose(steps, steps[0], atol=0.02)
    [budget] = [line for line in read.all("line", class_="budget") if line["x1"].endswith("%")]
    assert percent(budget["x1"]) == pytest.approx(places[-1] + 2 * steps[0], abs=0.05)
    at = {text["text"]: percent(text["x"]) for text in read.all("text", class_="tick") if text.get("y") == "100%"}
    assert at["1 KB"] == pytest.approx(places[4], abs=0.02)


def test_ticks_of_the_score_are_where_dots_of_that_score_are():
    points = (Point(100, 0.8, {}, True, True, False), Point(1000, 0.9, {}, True, True, True))
    read = Reader(page(made_up_report(points=points)))
    at = {text["text"]: 100 - percent(text["y"]) for text in read.all("text", class_="tick") if text["x"] == "0%"}
    assert at["80%"] == pytest.approx(dots(read)[0][1], abs=0.02)
    assert at["90%"] == pytest.approx(dots(read)[1][1], abs=0.02)


def test_the_front_is_a_line_of_steps_from_its_first_dot_to_the_budget():
    report = made_up_report(50)
    read = Reader(page(report))
    places = dots(read)
    front = sorted(places[k] for k, point in enumerate(report.points) if point.is_on_front)
    lines = [
        (percent(line["x1"]), 100 - percent(line["y1"]), percent(line["x2"]), 100 - percent(line["y2"]))
        for line in read.all("line", class_="front")
    ]
    assert lines[0][:2] == pytest.approx(front[0])
    for before, after in pairwise(lines):
        assert after[:2] == pytest.approx(before[2:])
    assert [line[:2] for line in lines[::2]] == [pytest.approx(place) for place in front]
    assert lines[-1][2] > front[-1][0]


def test_a_few_hopeless_candidates_do_not_flatten_the_others():
    points = (*made_up_points(99), Point(900, -1000.0, {}, False, False, False))
    read = Reader(page(made_up_report(points=points)))
    heights = [height for _, height in dots(read).values()]
    assert dots(read)[99][1] == min(heights) == 0.0
    assert np.ptp(np.sort(heights)[1:]) > 20.0
    assert "1 configuration with a score below" in read.section("candidates")


def test_a_dot_says_size_score_and_settings_and_one_can_be_reached_with_the_tab_key():
    report = made_up_report(40)
    read = Reader(page(report))
    dots = [circle for circle in read.all("circle") if "data-settings" in circle]
    assert [dot["class"] for dot in dots if dot["tabindex"] == "0"] == ["dot chosen"]
    for dot in dots:
        point = report.points[int(dot["id"][4:])]
        assert dot["aria-label"].startswith(f"{point.nbytes:,} bytes, {point.score:.2%}, ")
        assert f"at most {point.settings['leaves']} leaves per tree" in dot["data-settings"]


def test_the_table_of_the_front_has_every_candidate_of_it_and_marks_the_chosen():
    report = made_up_report(60)
    read = Reader(page(report))
    wanted = sorted((point.nbytes for point in report.points if point.is_on_front), reverse=True)
    links = [link["text"] for link in read.all("a")]
    assert links == [f"{nbytes:,}" for nbytes in wanted]
    [chosen] = [row for row in read.all("tr", class_="chosen") if "leaves per tree" in row["text"]]
    point = next(point for point in report.points if point.is_chosen)
    assert chosen["text"].startswith(f"{point.nbytes:,}{point.score:.2%}chosen ")


def test_settings_that_all_of_the_front_share_are_said_once():
    read = Reader(page(made_up_report(60)))
    assert read.section("front").count("leaf values quantized to 4 bits") == 1


def test_a_chosen_model_that_is_not_on_the_front_is_in_the_table():
    points = (Point(100, 0.9, {"a": 1}, False, True, False), Point(200, 0.8, {"a": 2}, True, False, True))
    assert "200" in [link["text"] for link in Reader(page(made_up_report(points=points))).all("a")]


def test_confusion_cells_are_the_counts():
    report = made_up_report(5, 30)
    read = Reader(page(report))
    cells = [element for element in read.elements if element["tag"] == "td" and "--depth" in element.get("style", "")]
    counts = np.array([int(cell["text"].replace(",", "")) for cell in cells]).reshape(30, 30)
    np.testing.assert_array_equal(counts, report.confusion)
    depths = np.array([float(cell["style"].partition(":")[2]) for cell in cells]).reshape(30, 30)
    np.testing.assert_allclose(depths**2, counts / counts.sum(axis=1, keepdims=True), atol=2e-3)
    assert [cell["class"] for cell in cells[::31]] == ["right"] * 30


def test_of_many_classes_the_worst_pairs_are_listed():
    report = EDGES["many classes"]
    read = Reader(page(report))
    text = read.section("mistakes")
    off = report.confusion - np.diag(np.diag(report.confusion))
    true, said = np.unravel_index(np.argmax(off), off.shape)
    worst = np.sort(off, axis=None)[::-1][:15]
    assert f"class {true}class {said}{off.max()}" in text
    start = read.elements.index(read.all("table", class_="mistakes")[0])
    cells = [
        element for element in read.elements[start:] if element["tag"] == "td" and element.get("class") == "number"
    ]
    assert [int(cell["text"]) for cell in cells] == worst.tolist()


def test_numbers_predicted_are_drawn_over_the_true_ones():
    report = made_up_report(5, 0)
    read = Reader(page(report))
    drawn = np.array([(percent(dot["cx"]), 100 - percent(dot["cy"])) for dot in read.all("circle", class_="row")])
    assert len(drawn) == len(report.errors)
    low, high = report.errors.min(), report.errors.max()
    scaled = (report.errors - low) / (high - low)
    np.testing.assert_allclose(drawn / 100, (scaled + 0.05) / 1.1, atol=1e-4)
    off = report.errors[:, 1] - report.errors[:, 0]
    assert f"{np.sqrt(np.mean(off**2)):.4g}" in read.section("mistakes")


def test_thousands_of_rows_are_thinned_out():
    errors = np.random.default_rng(0).normal(size=(9000, 2))
    assert len(Reader(page(made_up_report(5, 0, errors=errors))).all("circle", class_="row")) == 2000


def test_targets_say_in_words_whether_the_model_fits():
    read = Reader(page(made_up_report(5)))
    rows = [row["text"] for row in read.all("tr")]
    assert [any(target.name in row and "does not fit" in row for row in rows) for target in TARGETS] == [
        not target.fits for target in TARGETS
    ]
    assert any(row == ("arduino-uno selectedfits54%17,32032,2562,048") for row in rows)
    assert any(row == "attiny85does not fit211%17,3208,192512" for row in rows)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "It fits arduino-uno."),
        ({"target": "attiny85"}, "It does not fit attiny85."),
        ({"target": None}, "It fits 3 of the 4 targets below."),
        ({"target": None, "targets": TARGETS[:2]}, "It fits all of the targets below."),
        ({"target": None, "targets": TARGETS[2:3]}, "It fits none of the targets below."),
        ({"target": None, "targets": ()}, "97.00%)."),
        ({"target": "generic"}, "Its target is generic."),
        ({"scores": (0.75,), "interval": None}, "Its accuracy on held-out rows is 75.00%. It fits"),
        (
            {"scores": (0.7, 0.8), "interval": Interval(0.684, 0.8129)},
            "Its accuracy on held-out rows is 75.00% (95% interval: 68.40% to 81.29%).",
        ),
        (
            {"scoring": "neg_log_loss", "scores": (-0.123456,), "interval": Interval(-0.2, -0.1)},
            "Its neg log loss on held-out rows is \N{MINUS SIGN}0.1235 (95% interval: \N{MINUS SIGN}0.2000 to "
            "\N{MINUS SIGN}0.1000).",
        ),
        ({"scoring": "balanced_accuracy", "scores": (0.5,)}, "balanced accuracy on held-out rows is 50.00%"),
        ({"task": "regression", "scoring": "r2", "scores": (0.5,)}, "A regression model of"),
    ],
)
def test_the_summary_says_what_was_found(changes, words):
    [summary] = Reader(page(made_up_report(9, **changes))).all("p", class_="summary")
    assert words in summary["text"]


def test_stages_say_what_they_gained_or_lost():
    stages = (Stage("grown", 0.95, None, ""), Stage("merged", 0.92, None, ""), Stage("packed", 0.935, 2000, "4 bits"))
    read = Reader(page(made_up_report(5, stages=stages)))
    rows = [row["text"] for row in read.all("tr")]
    assert "grown95.00%" in rows
    assert "merged92.00%\N{MINUS SIGN}3.00 points" in rows
    assert "packed93.50%+1.50 points2,0004 bits" in rows
    [loss] = read.all("span", class_="loss")
    [gain] = read.all("span", class_="gain")
    assert loss["style"] == "left:0.0%;width:50.0%"
    assert gain["style"] == "left:50.0%;width:25.0%"


def test_saving_replaces_the_file_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    report = made_up_report(5, title="a \N{SNOWMAN} and half a pair \ud83d")
    report.save(path)
    assert path.read_bytes() == page(report).encode("utf-8", "replace")
    assert os.listdir(tmp_path) == ["report.html"]


def test_a_page_cannot_be_saved_over_a_folder(tmp_path):
    with pytest.raises(IsADirectoryError, match="give the name of a file"):
        made_up_report(5).save(tmp_path)
    assert os.listdir(tmp_path) == []


# The page in a frame as wide as a phone; a dot is given the focus, a key pressed, another dot pointed at.
PROBE = """<!DOCTYPE html><meta charset="utf-8"><iframe width="390" height="800" srcdoc="{page}"></iframe>
<pre id="found"></pre><script>
const frame = document.querySelector("iframe");
frame.addEventListener("load", () => {{
  const inside = frame.contentDocument;
  const width = inside.documentElement.scrollWidth;
  const panel = () => inside.getElementById("panel").innerText;
  inside.getElementById("dot-0").focus();
  const first = panel();
  inside.activeElement.dispatchEvent(new KeyboardEvent("keydown", {{ key: "ArrowRight", bubbles: true }}));
  const second = panel();
  const dot = inside.getElementById("dot-3").getBoundingClientRect();
  const at = {{ clientX: dot.x + dot.width / 2, clientY: dot.y + dot.height / 2, bubbles: true }};
  inside.getElementById("candidates").dispatchEvent(new PointerEvent("pointermove", at));
  const found = [width, inside.body.scrollWidth, first, second, panel()];
  document.getElementById("found").textContent = JSON.stringify(found);
}});
</script>"""


@pytest.fixture(scope="module")
def browse(tmp_path_factory):
    """Return a function from HTML to what headless Chromium made of it, and what it had to say."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("chromium is not installed: make toolchains")
    folder = tmp_path_factory.mktemp("chromium")

    def browse(html):
        (folder / "probe.html").write_text(html, encoding="utf-8")
        options = ("--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom")
        command = [browser, *options, f"--user-data-dir={folder / 'profile'}", (folder / "probe.html").as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=True)
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]

    return browse


@pytest.mark.parametrize("n_classes", [10, 0])
def test_a_browser_shows_the_settings_of_a_dot_and_a_phone_is_wide_enough(browse, n_classes):
    long = "settings_of_a_name_without_a_space_" * 8
    points = tuple(replace(point, settings={"leaves": k, long: k}) for k, point in enumerate(made_up_points(30)))
    report = made_up_report(30, n_classes, points=points, title=long, notes=(long,))
    dom, said = browse(PROBE.format(page=escape(page(report))))
    assert said == []
    found = re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)
    width, body_width, *panels = json.loads(unescape(found[1]))
    assert width <= 390
    assert body_width <= 390
    for text, k in zip(panels, (0, 1, 3), strict=True):
        assert text.startswith(f"{points[k].nbytes:,} bytes, ")
        assert f"at most {k} leaves per tree" in text


def test_residuals_are_drawn_around_zero_and_told_in_numbers():
    report = made_up_report(20, 0)
    html = page(report)
    true, predicted = report.errors.T
    r2 = r2_score(true, predicted)
    assert f"R2 is {r2:.4g}, the mean absolute error is {mean_absolute_error(true, predicted):.4g}" in html
    assert report.error_measures.root_mean_squared_error == pytest.approx(root_mean_squared_error(true, predicted))
    drawn = Reader(html).all("circle", class_="residual")
    heights = np.array([percent(circle["cy"]) for circle in drawn])
    assert len(heights) == len(true)
    line = float(re.search(r'<line class="same" x1="0%" y1="([\d.]+)%" x2="100%" y2="\1%"', html)[1])
    is_above = heights < line
    assert (is_above == (true > predicted)).all()


def test_layouts_are_drawn_by_cycles_and_flash():
    html = page(EDGES["layouts"])
    chart = html[html.index('id="layouts-chart"') :]
    places = re.findall(r'cx="([^"]+)" cy="([^"]+)"/><text[^>]*>(\w+)<', chart[: chart.index("</svg>")])
    assert [name for _, _, name in places] == ["compact", "balanced", "fast"]
    across, down = ([percent(place[k]) for place in places] for k in (0, 1))
    assert across == sorted(across, reverse=True)
    assert down == sorted(down, reverse=True)
    said = Reader(html).section("layouts")
    assert "written" in said
    assert "estimated" not in said
    assert "estimated" in Reader(page(EDGES["layouts that are estimates"])).section("layouts")
