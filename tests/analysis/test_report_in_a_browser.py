"""The page of a study in Chromium: the slider is moved, methods are switched off, and the table is read."""

import re
import shutil

import numpy as np
import pandas as pd
import pytest

from billhook.analysis import best_below, configurations, pareto_front, write_report
from billhook.codegen import targets
from browser import Browser
from made_up_studies import PAPER, run, study
from pages import HOSTILE

RESULTS = study(("eeg", "chess", "magic", "mozilla"), trees=(2, 8, 32))
TABLE = configurations(RESULTS)

READ_TABLE = """(() => {
  const words = (cell) => cell.innerText.trim();
  const heads = [...document.querySelectorAll("#best-heads th")].filter((head) => !head.hidden).map(words);
  const lines = [...document.querySelectorAll("#best-body tr, #best-foot tr")];
  return [heads, lines.map((line) => [...line.children].map(words))];
})()"""
READ_MAP = """[...document.querySelectorAll("#map-rows .strip")].map((strip) => [
  strip.querySelector(".name").textContent, [...strip.querySelectorAll(".piece")].map((piece) => piece.title)])"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("browser")


@pytest.fixture(scope="module")
def browser(folder):
    if shutil.which("chromium") is None:
        pytest.skip("chromium is not installed: make toolchains")
    browser = Browser(folder / "profile")
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def path(folder):
    return write_report(RESULTS, folder / "report.html")


@pytest.fixture
def page(browser, path):
    """Return the browser with the page as it opens; at the end, nothing was said and nothing else was loaded."""
    browser.open(path)
    yield browser
    assert browser.said == []
    assert set(browser.requests) == {path.as_uri()}


def cap_of(page):
    return page.run(
        "JSON.parse(document.getElementById('study').textContent).stops[document.getElementById('cap').value]"
    )


def check_table(page, table=TABLE):
    """Compare the table with what is best below the cap that the slider stands at."""
    cap = cap_of(page)
    best = 100 * best_below(table, cap / 1024)
    heads, lines = page.run(READ_TABLE)
    assert heads[:3] == ["data set", "best", "model"]
    assert set(heads[3:]) == set(best.columns)
    body, (wins, ranks) = lines[: len(best)], lines[len(best) :]
    assert [line[0] for line in body] == sorted(best.index)
    for name, winner, model, *scores in body:
        row = best.loc[name, heads[3:]]
        np.testing.assert_allclose([float(s.replace("\N{EN DASH}", "nan")) for s in scores], row, atol=0.00501)
        if row.isna().all():
            assert (winner, model) == ("no model this small", "")
            continue
        method, accuracy = winner.rsplit(" ", 1)
        assert row[method] == row.max() == pytest.approx(float(accuracy), abs=0.00501)
        leaves, trees, size = re.fullmatch(
            r"(\d+) leaves \N{MULTIPLICATION SIGN} (\d+) trees, (?:rho [\d.]+, )?(.+)", model
        ).groups()
        own = table[(table["data"] == name) & (table["method"] == method)]
        own = own[(own["n_leaves"] == int(leaves)) & (own["n_trees"] == int(trees))]
        assert 100 * own["accuracy"].max() == pytest.approx(row.max())
        assert (own["nbytes"] <= cap).any()
        assert size.endswith((" B", " KB", " MB"))
    known = best.dropna(how="all")[heads[3:]]
    assert wins == ["best on", *(str(n) for n in known.eq(known.max(axis=1), axis=0).sum())]
    mean = known.fillna(-1).rank(axis=1, ascending=False).mean()
    assert ranks == ["mean rank", *("\N{EN DASH}" if known.empty else f"{rank:.2f}" for rank in mean)]
    return cap


def tab_to(page, script):
    """Press the tab key until what a script finds has the focus."""
    for _ in range(60):
        page.press("Tab")
        if page.run(f"document.activeElement === {script}"):
            return
    raise AssertionError(f"the tab key does not reach {script}")


def test_the_arrow_keys_move_the_cap_and_the_table_follows(page):
    tab_to(page, "document.getElementById('cap')")
    seen = [check_table(page)]
    assert seen == [65536]
    for key, times in (
        ("ArrowRight", 1),
        ("ArrowRight", 4),
        ("ArrowLeft", 9),
        ("End", 1),
        ("ArrowLeft", 3),
        ("Home", 1),
    ):
        page.press(key, times)
        seen.append(check_table(page))
        said = page.run(
            "[document.getElementById('cap').ariaValueText, document.getElementById('cap-said').innerText]"
        )
        assert said[0] == said[1]
    assert len(set(seen)) == len(seen)
    assert seen[-1] == min(seen) < TABLE["nbytes"].min()
    assert seen[4] == max(seen) >= TABLE.query("base == 'random_forest'")["nbytes"].max()
    assert "no method has a model this small" in page.run("document.getElementById('verdict').innerText")


def test_the_slider_is_dragged_and_the_lines_in_the_plots_go_along(page):
    x, y, width = page.run("""(() => { const box = document.getElementById("cap").getBoundingClientRect();
      return [box.x, box.y + box.height / 2, box.width]; })()""")
    value, top = page.run(
        "[Number(document.getElementById('cap').value), Number(document.getElementById('cap').max)]"
    )
    page.drag((x + 8 + (width - 16) * value / top, y), (x + 0.8 * width, y))
    cap = check_table(page)
    assert cap > 2**17
    lines = page.run(
        "[...document.querySelectorAll('line.cap')].map((line) => [line.getAttribute('x1'), line.getAttribute('x2')])"
    )
    low, high = page.run("JSON.parse(document.getElementById('study').textContent).span")
    place = 100 * (np.log2(cap) - low) / (high - low)
    assert len(lines) == 4
    assert [float(end.rstrip("%")) for line in lines for end in line] == [pytest.approx(place)] * 8


def test_the_verdict_names_methods_by_the_number_of_data_sets_on_which_they_are_best(page):
    tab_to(page, "document.getElementById('cap')")
    page.press("Home")
    n_unequal = 0
    for _ in range(24):
        page.press("ArrowRight")
        best = best_below(TABLE, cap_of(page) / 1024).dropna(how="all")
        counts = best.eq(best.max(axis=1), axis=0).sum()
        counts = counts[counts > 0]
        verdict = page.run("document.getElementById('verdict').innerText")
        if best.empty:
            assert verdict.endswith("no method has a model this small.")
            continue
        pattern = (
            r"Below \S+ [KM]?B: (.+) is the most accurate on (\d+) of (\d) data sets?(.*?)\."
            r"( No model is this small on \d data sets?\.)?"
        )
        first, n_best, n_data, others, rest = re.fullmatch(pattern, verdict).groups()
        said = [
            (first, int(n_best)),
            *((name, int(n)) for name, n in re.findall(r"(?:, then |, )(\S+) on (\d+)", others)),
        ]
        assert dict(said) == counts.to_dict()
        assert [n for _, n in said] == sorted(counts, reverse=True)
        assert int(n_data) == len(best)
        assert rest == (
            f" No model is this small on {4 - len(best)} data set{'s' * (len(best) < 3)}." if len(best) < 4 else None
        )
        n_unequal += counts.nunique() > 1
    assert n_unequal > 0


def test_space_switches_a_method_off_and_on_again(page):
    button = "document.querySelector('.method')"
    tab_to(page, button)
    name = page.run(f"{button}.innerText.trim()")
    hidden = "[...document.querySelectorAll('.curves .own-0')].map((drawn) => getComputedStyle(drawn).display)"
    before = page.run(READ_MAP)
    page.press(" ")
    assert page.run(f"{button}.ariaPressed") == "false"
    check_table(page, TABLE[TABLE["method"] != name])
    assert page.run(hidden) == ["none"] * 4
    assert not [title for _, pieces in page.run(READ_MAP) for title in pieces if f": {name} from" in title]
    page.press(" ")
    assert page.run(f"{button}.ariaPressed") == "true"
    check_table(page)
    assert "none" not in page.run(hidden)
    assert page.run(READ_MAP) == before


def test_with_all_methods_off_nothing_breaks(page):
    page.run("document.querySelectorAll('.method').forEach((button) => button.click())")
    heads, lines = page.run(READ_TABLE)
    assert heads == ["data set", "best", "model"]
    assert [line[1] for line in lines[:4]] == ["no model this small"] * 4


def test_the_map_has_the_winner_of_every_stop(page):
    stops = page.run("JSON.parse(document.getElementById('study').textContent).stops")
    strips = dict(page.run(READ_MAP))
    most = strips.pop("overall")
    assert sorted(strips) == sorted(TABLE["data"].unique())
    sizes = {text: stop for stop, text in zip(stops, page_sizes(page, stops), strict=True)}
    for stop in stops[:-1]:
        best = best_below(TABLE, stop / 1024)
        winners = {}
        for name, pieces in strips.items():
            row = best.loc[name].dropna()
            winners[name] = set(row.index[row == row.max()]) if len(row) else set()
            assert covering(pieces, stop, sizes) == winners[name], (name, stop)
        counts = pd.Series([m for names in winners.values() for m in names], dtype=object).value_counts()
        assert covering(most, stop, sizes) == set(counts.index[counts == counts.max()])


def page_sizes(page, stops):
    """Return what the page calls sizes: it says those of the slider's stops."""
    script = """(() => { const slider = document.getElementById("cap"); const found = [];
      for (slider.value = 0; found.length <= slider.max; slider.value++) {
        slider.dispatchEvent(new Event("input")); found.push(document.getElementById("cap-said").innerText);
      } return found; })()"""
    found = page.run(script)
    assert len(found) == len(set(found)) == len(stops)
    return found


def covering(pieces, stop, sizes):
    """Return the methods of the piece of a strip that is above a stop."""
    found = set()
    for title in pieces:
        names, start, end = re.fullmatch(r"[^:]*: (.+) from (.+? [KM]?B)(?: to (.+))?", title).groups()
        if sizes[start] <= stop and (end is None or stop < sizes[end]):
            found = set(names.split(" and "))
    return found


def test_equal_methods_share_the_first_place_and_a_model_as_large_as_the_cap_is_below_it(browser, folder):
    rows = [
        run(method=method, accuracy=accuracy, nbytes=65_536)
        for method, accuracy in (("A", 0.9), ("B", 0.9), ("C", 0.8))
    ]
    browser.open(write_report(pd.DataFrame(rows), folder / "tie.html"))
    _, (line, wins, ranks) = browser.run(READ_TABLE)
    assert line == ["eeg", "A B 90.00", "64 leaves \N{MULTIPLICATION SIGN} 8 trees, 64 KB", "90.00", "90.00", "80.00"]
    assert wins == ["best on", "1", "1", "0"]
    assert ranks == ["mean rank", "1.50", "1.50", "3.00"]
    assert browser.run(READ_MAP) == [["eeg", ["eeg: A and B from 64 KB"]]]
    tab_to(browser, "document.getElementById('cap')")
    browser.press("ArrowLeft")
    assert browser.run(READ_TABLE)[1][0][1] == "no model this small"


def test_targets_say_whether_they_are_large_enough_and_set_the_cap(page):
    read = "[...document.querySelectorAll('.target')].map((one) => [...one.children].map((part) => part.innerText))"
    flashes = {target.name: target.flash for target in targets() if target.flash}
    shown = page.run(read)
    assert {name: said for name, _, said in shown} == {
        name: "large enough" if flash >= 65536 else "too small" for name, flash in flashes.items()
    }
    tab_to(page, "document.querySelector('.target[data-flash=\"196608\"]')")
    page.press(" ")
    assert check_table(page) == 192 * 1024
    n_large = sum(flash >= 192 * 1024 for flash in flashes.values())
    said = f"smallest target with that much flash: stm32l0 ({n_large} of {len(flashes)} targets are large enough)"
    assert said in page.run("document.body.innerText")
    page.run("document.querySelector('.target').click()")
    assert check_table(page) == min(flashes.values())
    assert [said for _, _, said in page.run(read)] == ["large enough"] * len(flashes)


def test_pointing_at_a_dot_tells_its_configuration(page):
    page.run("document.querySelectorAll('.curves')[1].scrollIntoView({ block: 'center' })")
    x, y, width, height = (
        page.run("""(() => { const box = document.querySelectorAll(".curves")[1].getBoundingClientRect();
      return [box.x, box.y, box.width, box.height]; })()""")
    )
    low, high = page.run("JSON.parse(document.getElementById('study').textContent).span")
    bottom, top = map(float, page.run("document.querySelectorAll('.curves')[1].dataset.accuracy").split())
    own = TABLE[(TABLE["data"] == "eeg") & (TABLE["nbytes"] < 2**21)]
    chosen = own.loc[own["accuracy"].idxmax()]
    across = (np.log2(chosen["nbytes"]) - low) / (high - low)
    up = (chosen["accuracy"] - bottom) / (top - bottom)
    page.point(x + across * width, y + (1 - up) * height)
    told = page.run("document.getElementById('selected-1').innerText")
    assert told.startswith(f"{chosen['method']} {100 * chosen['accuracy']:.2f} ± {100 * chosen['spread']:.2f}%, ")
    assert f"{chosen['n_leaves']} leaves \N{MULTIPLICATION SIGN} {chosen['n_trees']} trees" in told
    assert told.endswith("2 folds")
    ring = page.run(
        "['cx', 'cy'].map((name) => parseFloat(document.querySelectorAll('.selected')[1].getAttribute(name)))"
    )
    assert ring == [pytest.approx(100 * across, abs=0.01), pytest.approx(100 * (1 - up), abs=0.01)]


def test_arrow_keys_go_along_the_fronts_of_a_plot(page):
    page.run("document.querySelectorAll('.curves')[0].focus()")
    told = []
    for _ in range(6):
        page.press("ArrowRight")
        told.append(page.run("document.getElementById('selected-0').innerText"))
    own = TABLE[TABLE["data"] == "chess"]
    fronts = [group.iloc[pareto_front(group["accuracy"], group["nbytes"])] for _, group in own.groupby("method")]
    wanted = pd.concat(fronts).sort_values(["nbytes", "accuracy"], kind="stable").head(6)
    assert [(words.split()[0], words.split()[1]) for words in told] == [
        (row.method, f"{100 * row.accuracy:.2f}") for row in wanted.itertuples()
    ]


@pytest.mark.parametrize("options", [{}, {"dark": True}, {"media": "print", "width": 794}])
def test_on_a_phone_or_paper_the_page_does_not_scroll_sideways(browser, folder, options):
    long = "a_name_without_a_space_" * 6
    results = RESULTS.replace({"data": {"eeg": long}, "method": {"RE": long}})
    results.loc[results["method"] == "IC", ["status", "reason"]] = ["failed", long * 3]
    path = write_report(results, folder / "long.html", about={"study": long, long: long})
    width = options.get("width", 390)
    browser.open(path, **{"width": width, "height": 844, **options})
    found = browser.run("[document.documentElement.scrollWidth, document.body.scrollWidth]")
    assert max(found) <= width
    assert browser.said == []


def test_paper_is_light_and_dark_as_asked_and_print_has_no_controls(browser, path):
    look = """[getComputedStyle(document.body).backgroundColor,
      getComputedStyle(document.querySelector(".methods")).display]"""
    own = "getComputedStyle(document.querySelector('.own-0')).getPropertyValue('--own')"
    browser.open(path)
    light = browser.run(look)
    browser.open(path, dark=True)
    dark = browser.run(look)
    assert light == ["rgb(253, 253, 251)", "flex"]
    assert dark == ["rgb(22, 25, 28)", "flex"]
    assert re.fullmatch("#[0-9a-f]{6}", browser.run(own).strip())
    browser.open(path, dark=True, media="print")
    assert browser.run(look) == ["rgba(0, 0, 0, 0)", "none"]
    assert browser.run("getComputedStyle(document.getElementById('cap')).display") == "none"


def test_hostile_names_are_shown_and_never_run(browser, folder):
    hostile = "<img src=x onerror=document.title='taken'></script><script>document.title='taken'</script>"
    results = RESULTS.replace({"data": {"eeg": hostile}, "method": {PAPER[1]: HOSTILE, "IC": hostile}})
    path = write_report(results, folder / "hostile.html", about={"study": "mine"})
    browser.open(path)
    check_rows = browser.run(READ_TABLE)[1]
    assert hostile in [line[0] for line in check_rows]
    buttons = browser.run("[...document.querySelectorAll('.method')].map((button) => button.textContent)")
    assert {hostile, HOSTILE} <= set(buttons)
    assert browser.run("document.title") == "mine"
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert browser.said == []
    assert set(browser.requests) == {path.as_uri()}


@pytest.mark.parametrize(
    "options", [{}, {"dark": True}, {"media": "print", "dark": True, "width": 794}, {"width": 390}]
)
def test_that_a_study_is_unfinished_is_read_on_any_paper(browser, folder, options):
    uneven = RESULTS.drop(RESULTS.index[0]).replace({"data": {"eeg": "a_name_without_a_space_" * 6}})
    browser.open(write_report(uneven, folder / "part.html", about={"runs": 2840}), **options)
    look = browser.run("""[...document.querySelectorAll(".banner")].map((banner) => {
      const box = banner.getBoundingClientRect(), style = getComputedStyle(banner);
      const title = document.querySelector("h1").getBoundingClientRect();
      return { words: banner.innerText, top: box.top - title.bottom, width: box.width, height: box.height,
        right: box.right, ink: style.color, paper: style.backgroundColor, seen: style.visibility, }; })""")
    unfinished, folds = look
    assert unfinished["words"].startswith(f"Unfinished: {len(RESULTS) - 1:,} of 2,840 runs have finished")
    assert folds["words"].startswith("1 configuration lacks folds")
    assert 0 <= unfinished["top"] < 40
    for banner in look:
        assert banner["seen"] == "visible"
        assert min(banner["width"], banner["height"]) > 20
        assert banner["right"] <= options.get("width", 1200)
        assert contrast(banner["ink"], banner["paper"]) > 7


def contrast(*colours):
    """Return how far apart two opaque colours are (WCAG 2)."""
    lights = []
    for colour in colours:
        shares = [int(part) / 255 for part in re.fullmatch(r"rgb\((\d+), (\d+), (\d+)\)", colour).groups()]
        linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
        lights.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05)
    return max(lights) / min(lights)


def test_other_caps_move_the_slider_and_the_table_follows(browser, folder):
    small = study(("eeg", "chess"), ("RF", "RE"), leaves=(4, 16), trees=(2, 8))
    browser.open(write_report(small, folder / "small.html", caps=(0.5, 2, 3.3)))
    table = configurations(small)
    assert check_table(browser, table) == 2048
    tab_to(browser, "document.getElementById('cap')")
    seen = []
    for key in ["Home"] + ["ArrowRight"] * 40:
        browser.press(key)
        cap = cap_of(browser)
        if cap in (512, int(3.3 * 1024)):
            seen.append(check_table(browser, table))
    assert seen == [512, 3379]
    assert browser.said == []
