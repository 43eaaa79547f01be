"""The page of a study is read back: its tags, its tables, its drawings and the data for its script."""

import json
import os
import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from billhook.analysis import areas, best_below, compare, configurations, published, rank, wins, write_report
from billhook.analysis.report._methods import look_of, luminance
from billhook.analysis.report._payload import stops_of, targets_by_flash
from made_up_studies import BEYOND, PAPER, run, study
from pages import HOSTILE, Reader, check_loads_nothing, percent

MINUS = "\N{MINUS SIGN}"
DATA = ("adult", "chess", "eeg", "magic", "mozilla", "satimage", "nomao", "elec")
RESULTS = study(DATA, trees=(2, 8, 32))


def only(**chosen):
    """Return the results of some methods or data sets."""
    rows = np.ones(len(RESULTS), bool)
    for column, names in chosen.items():
        rows &= RESULTS[column].isin(names).to_numpy()
    return RESULTS[rows].reset_index(drop=True)


def undone(table, chosen, status, reason):
    """Return a table in which some runs are not done."""
    table = table.astype({"size_paper": float, "size_published": float})
    table.loc[chosen, ["status", "reason"]] = [status, reason]
    table.loc[chosen, ["accuracy", "size_paper", "size_published"]] = np.nan
    return table


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Return a function from results to the page, read back; the page is in `html` of what it returns."""
    path = tmp_path_factory.mktemp("report") / "report.html"

    def report(results, **options):
        html = write_report(results, path, **options).read_text("utf-8")
        read = Reader(html)
        read.html = html
        return read

    return report


@pytest.fixture(scope="module")
def whole(report):
    """Return the page of all results, read back."""
    return report(RESULTS)


def payload(read):
    [script] = read.all("script", id="study")
    return json.loads(script["text"])


def cells(read, name):
    """Return the lines of a table: their heads and their cells."""
    [table] = read.all("table", class_=name)
    start = read.elements.index(table)
    lines = []
    for element in read.elements[start + 1 :]:
        if element["tag"] == "table":
            break
        if element["tag"] == "tr":
            lines.append([])
        elif element["tag"] in ("th", "td"):
            lines[-1].append(element)
        elif element["tag"] in ("h2", "h3"):
            break
    return lines


def frame(read, name):
    """Return the numbers of a table, with missing ones where there is a dash."""
    heads, *lines = cells(read, name)
    rows = {line[0]["text"]: [number(cell["text"]) for cell in line[1:]] for line in lines}
    return pd.DataFrame.from_dict(rows, orient="index", columns=[head["text"] for head in heads[1:]])


def number(text):
    """Return the number of a cell, without the difference that may follow it."""
    return np.nan if text == "\N{EN DASH}" else float(re.match(r"[\d.]+", text)[0])


EDGES = {
    "the paper's methods": RESULTS,
    "methods beyond the paper": study(DATA[:3], (*PAPER, *BEYOND)),
    "one data set": only(data=["eeg"]),
    "one method": only(method=["RE"]),
    "one run": pd.DataFrame([run()]),
    "only boosting": only(method=["GB"]),
    "two kinds of forests": study(DATA[:6], ("RF", "RE", "GB"), bases=("random_forest", "extra_trees", "bagging")),
    "no leaves and trees": study(("eeg", "magic"), ("budget search",)),
    "a method on some data sets only": RESULTS.drop(
        RESULTS[(RESULTS["method"] == "RE") & (RESULTS["data"] != "eeg")].index
    ),
    "boosting alone on a data set": RESULTS.drop(
        RESULTS[(RESULTS["method"] != "GB") & (RESULTS["data"] == "eeg")].index
    ),
    "one accuracy for all": RESULTS.assign(accuracy=0.5),
    "every run right": RESULTS.assign(accuracy=1.0),
    "models of gigabytes": RESULTS.assign(size_paper=RESULTS["size_paper"] * 1e5),
    "models of a few bytes": RESULTS.assign(size_paper=1.0),
    "no reasons and times": RESULTS.drop(columns=["reason", "seconds"]),
    "failures without reasons": undone(RESULTS, RESULTS.index[:9], "failed", None).drop(columns=["reason"]),
    "only the columns that count": RESULTS[
        ["data", "fold", "base", "method", "options", "n_leaves", "n_trees", "status", "accuracy", "size_paper"]
    ],
    "no published sizes": RESULTS.assign(size_published=np.nan),
    "data sets nobody knows": study(("mine", "yours", "theirs"), ("A", "B", "C")),
}


@pytest.mark.parametrize("name", EDGES)
def test_every_tag_is_closed_and_headings_are_in_order(name, report):
    read = report(EDGES[name])
    levels = [int(element["tag"][1]) for element in read.elements if re.fullmatch(r"h\d", element["tag"])]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert (np.diff(levels) <= 1).all()
    names = [element["id"] for element in read.elements if "id" in element]
    assert len(names) == len(set(names))
    for element in read.elements:
        for wanted in element.get("aria-labelledby", "").split():
            assert wanted in names
        if element.get("href", "").startswith("#"):
            assert element["href"][1:] in names
    assert "nan" not in re.sub("<script.*", "", read.html, flags=re.DOTALL).lower().replace("nano", "")


def test_names_and_reasons_are_text_whatever_they_are(report):
    hostile, tame = ({name: f"{word} {name}" for name in ("eeg", "magic", "RE")} for word in (HOSTILE, "tame"))
    changed, plain = (
        only(data=["eeg", "magic", "chess"]).replace({"data": names, "method": names}) for names in (hostile, tame)
    )
    changed.loc[changed["method"] == "GB", "options"] = json.dumps({HOSTILE: HOSTILE})
    is_lost = (changed["method"] == hostile["RE"]) & (changed["n_trees"] == 2)
    plain.loc[plain["method"] == "GB", "options"] = '{"a": "b"}'
    about = {"study": HOSTILE, HOSTILE: {HOSTILE: HOSTILE}}
    read = report(undone(changed, is_lost, "failed", HOSTILE), about=about)
    same = report(undone(plain, is_lost, "failed", "why"), about={"study": "plain", "a": {"b": "c"}})
    # Another name has another colour, mark and place; the tags are the same.
    kinds = [sorted((e["tag"], *sorted(set(e) - {"text"})) for e in one.elements) for one in (read, same)]
    assert kinds[0] == kinds[1]
    assert read.html.count("</script>") == read.html.count("<script") == 2
    assert read.all("h1")[0]["text"] == HOSTILE
    assert HOSTILE in read.section("unfinished")
    assert set(payload(read)["data"]) == {"chess", hostile["eeg"], hostile["magic"]}
    assert hostile["RE"] in [method["name"] for method in payload(read)["methods"]]
    assert hostile["RE"] in [button["text"] for button in read.all("button")]
    assert f"{HOSTILE} {HOSTILE}" in payload(read)["options"]


def test_nothing_is_loaded_from_elsewhere(report):
    read = report(RESULTS, about={"study": "https://example.org/x.js"})
    check_loads_nothing(read)


def test_the_data_for_the_script_give_the_best_below_any_cap(whole):
    table = configurations(RESULTS)
    content = payload(whole)
    methods = [method["name"] for method in content["methods"]]
    for cap in (20_000, 32 * 1024, 77_777, 256 * 1024, 10**9):
        found = pd.DataFrame(np.nan, index=content["data"], columns=methods)
        for data, runs in zip(content["data"], content["runs"], strict=True):
            assert runs["bytes"] == sorted(runs["bytes"])
            for m, nbytes, accuracy in zip(runs["method"], runs["bytes"], runs["accuracy"], strict=True):
                if nbytes <= cap:
                    found.loc[data, methods[m]] = np.fmax(found.loc[data, methods[m]], accuracy / 1e6)
        wanted = best_below(table, cap / 1024)[methods]
        np.testing.assert_allclose(found, wanted.loc[content["data"]], atol=6e-7)


def test_a_mean_a_fraction_of_a_byte_above_the_cap_is_above_it(report):
    sizes = [32768, 32768, 32769]  # their mean is not a whole number
    content = payload(report(pd.DataFrame([run(nbytes=size, fold=fold) for fold, size in enumerate(sizes)])))
    assert content["runs"][0]["bytes"] == [32769]


def test_the_slider_stops_at_every_power_of_two_and_at_the_flash_of_every_target():
    stops = stops_of(5_000, 9 << 20, (32, 64, 128, 256))
    assert {2**k for k in range(12, 25)} <= set(stops)
    assert {target.flash for target in targets_by_flash()} <= set(stops)
    assert stops[0] == 4096
    assert stops[-1] == 16 << 20
    assert max(after / before for before, after in pairwise(stops)) < 1.2
    assert {32 << 10, 256 << 10} <= set(stops_of(100_000, 110_000, (32, 256)))


def test_thousands_of_runs_make_a_small_file(report):
    results = study(
        [f"set {k}" for k in range(14)],
        PAPER[:9],
        folds=1,
        leaves=(64, 128, 256, 512, 1024),
        trees=(2, 4, 8, 16, 32, 64, 128),
    )
    results = pd.concat([results.assign(fold=fold) for fold in range(2)])
    assert len(results) > 9_000
    assert len(report(results).html) < 1_000_000


@pytest.mark.parametrize("cap", [32, 64, 128, 256])
def test_tables_below_a_cap_are_those_of_the_results(cap, whole):
    found = frame(whole, f"below-{cap}").iloc[:-1]
    wanted = 100 * best_below(configurations(RESULTS), cap)
    np.testing.assert_allclose(found, wanted.loc[found.index, found.columns], atol=0.00501)
    lines = cells(whole, f"below-{cap}")[1:-1]
    best = [{found.columns[k] for k, cell in enumerate(line[1:]) if "best" in cell["class"]} for line in lines]
    assert best == [set(row.index[row == row.max()]) for _, row in wanted.loc[found.index].iterrows()]


def test_the_tiles_name_the_method_that_is_best_on_most_data_sets(whole):
    tiles = [tile["text"] for tile in whole.all("li") if tile["text"].startswith("below ")]
    for cap, tile in zip((32, 64, 128, 256), tiles, strict=True):
        best = best_below(configurations(RESULTS), cap)
        counts = best.eq(best.max(axis=1), axis=0).sum()
        n_data = best.notna().any(axis=1).sum()
        first, n_best, then = re.fullmatch(rf"below {cap} KB(.+)best on (\d+) of {n_data}(?:, (.+))?", tile).groups()
        assert counts[first] == counts.max() == int(n_best)
        others = counts.drop(first)
        seconds = others.index[others == others.max()]
        as_good = {f"as is {name}" for name in seconds}
        fewer = {f"then {name} on {others.max()}" for name in seconds}
        assert then in (as_good if others.max() == counts.max() else fewer if others.max() else {None})


def test_a_tile_names_two_methods_that_are_best_on_as_many_data_sets(report):
    rows = [run(data, method, 0.9 + 0.01 * (data == method)) for data in ("A", "B") for method in ("A", "B")]
    tiles = [tile["text"] for tile in report(pd.DataFrame(rows)).all("li") if tile["text"].startswith("below ")]
    assert tiles == [f"below {cap} KBAbest on 1 of 2, as is B" for cap in (32, 64, 128, 256)]


def test_areas_ranks_wins_and_pairs_are_those_of_the_results(whole):
    scores = areas(configurations(RESULTS))
    compared = compare(scores)
    order = list(compared.mean_ranks.index)
    assert list(frame(whole, "areas").columns) == order
    np.testing.assert_allclose(frame(whole, "areas").iloc[:-1], scores.loc[sorted(DATA), order], atol=0.0000501)
    np.testing.assert_allclose(frame(whole, "ranks").iloc[:-1], rank(scores)[order], atol=0.0501)
    np.testing.assert_allclose(frame(whole, "ranks").loc["mean"], compared.mean_ranks, atol=0.00501)
    found = [[cell["text"] for cell in line] for line in cells(whole, "wins")]
    assert found[0][1:] == order
    assert [line[1:] for line in found[1:]] == wins(scores).loc[order, order].to_numpy().tolist()
    pairs = {(line[0]["text"], line[1]["text"]): line[4]["text"] for line in cells(whole, "pairs")[1:]}
    assert pairs == {
        (first, second): "yes" if differs else "no"
        for first, second, differs in compared.pairs[["first", "second", "differs"]].itertuples(index=False)
    }


def test_where_methods_cannot_be_compared_the_page_says_why(report):
    assert "No statistical test: a comparison needs at least two data sets" in report(EDGES["one data set"]).section(
        "together"
    )


def test_accuracies_by_leaves_and_trees_are_there_for_every_data_set(whole):
    names = [summary["text"] for summary in whole.all("summary")]
    assert names == sorted(DATA)
    heads, *lines = cells(whole, f"shape-{names.index('eeg')}")
    column = [head["text"] for head in heads].index("RE")
    table = configurations(RESULTS).query("data == 'eeg' and method == 'RE'")
    wanted = [f"{100 * row.accuracy:.2f}" for row in table.sort_values(["n_leaves", "n_trees"]).itertuples()]
    assert [line[column]["text"] for line in lines] == wanted


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("paper-64", "accuracy_below_64KB"),
        ("paper-256", "accuracy_below_256KB"),
        ("paper-areas", "area_under_pareto_front"),
    ],
)
def test_numbers_are_beside_those_of_the_paper(name, table, whole):
    sizes = configurations(RESULTS, size="as_published")
    ours = areas(sizes) if name == "paper-areas" else best_below(sizes, int(name[6:]))
    theirs = published(table)
    heads, *lines = cells(whole, name)
    assert {line[0]["text"] for line in lines} == set(ours.index) & set(theirs.index)
    n_compared = 0
    for line in lines:
        for head, cell in zip(heads[1:], line[1:], strict=True):
            mine, printed = ours.loc[line[0]["text"], head["text"]], theirs.loc[line[0]["text"], head["text"]]
            if np.isnan(mine):
                assert cell["text"] == "\N{EN DASH}"
                continue
            n_compared += 1
            gap = round(100 * (mine - printed), 2)
            assert cell["text"] == f"{100 * mine:.2f}{gap + 0.0:+.2f}".replace("-", MINUS)
            assert ("gain" in cell["class"], "loss" in cell["class"]) == (gap > 0, gap < 0)
    assert n_compared > 20


def test_beside_the_paper_are_random_forests_alone(report):
    both = study(DATA[:6], ("RF", "RE", "GB"), bases=("random_forest", "extra_trees"))
    alone = both[both["base"] != "extra_trees"]
    found = [{(k, *line) for k, *line in frame(report(table), "paper-64").T.itertuples()} for table in (both, alone)]
    assert found[0] == found[1] != set()
    assert not report(both[both["base"] == "extra_trees"]).all("h2", id="paper-heading")


def test_beside_the_paper_are_only_data_sets_that_it_has(report):
    assert not report(EDGES["data sets nobody knows"]).all("h2", id="paper-heading")


def test_runs_that_are_not_done_are_listed_with_their_reasons(report, whole):
    table = undone(RESULTS, (RESULTS["method"] == "RE") & (RESULTS["n_trees"] == 2), "failed", "ValueError: no trees")
    table = undone(table, (table["data"] == "eeg") & (table["method"] == "IC"), "skipped", None)
    lines = [[cell["text"] for cell in line] for line in cells(report(table), "unfinished")[1:]]
    n_failed = 2 * 3  # folds and numbers of leaves
    assert [
        "chess",
        "RE",
        "failed",
        f"{n_failed}",
        "ValueError: no trees",
        "leaves 64, 256, 1024, trees 2, folds 0, 1",
    ] in lines
    assert [line[2:5] for line in lines if line[:2] == ["eeg", "IC"]] == [["skipped", "18", ""]]
    assert len(lines) == len(DATA) + 1
    assert not whole.all("table", class_="unfinished")


def test_the_overview_counts_runs_and_times_and_tells_what_it_is_given(report):
    table = undone(RESULTS, RESULTS.index[:4], "timed_out", "too long")
    about = {
        "study": "Mine",
        "machine": "a small one",
        "versions": {"billhook": "0.1.0", "python": "3.11"},
        "jobs": 2,
    }
    read = report(table, about=about)
    facts = dict(zip((t["text"] for t in read.all("dt")), (d["text"] for d in read.all("dd")), strict=True))
    assert facts["Runs"] == f"{len(table):,}: {len(table) - 4:,} done, 4 timed out"
    assert facts["Machine"] == "a small one"
    assert facts["Versions"] == "billhook 0.1.0, python 3.11"
    assert facts["Jobs"] == "2"
    assert facts["Trees"] == "2, 8, 32"
    assert read.all("title")[0]["text"] == "Mine"
    n_runs = len(table[(table["data"] == "eeg") & (table["method"] == "RE")])
    times = {line[0]["text"]: line for line in cells(read, "times")}
    heads = [head["text"] for head in times["data set"]]
    assert times["eeg"][heads.index("RE")]["text"] == f"{n_runs:.1f} s"
    given = report(table, about={"seconds": {"eeg": {"RE": 5400.0}}, "counts": {"done": 7}})
    assert [cell["text"] for cell in cells(given, "times")[1]] == ["eeg", "1.5 h", "1.5 h"]
    assert "7: 7 done" in given.section("making")


def test_steps_of_a_method_go_through_its_front_and_no_dot_is_above_them(report):
    read = report(only(data=["eeg"]))
    groups = [element for element in read.elements if element["tag"] == "g" and element["class"].startswith("own-")]
    table = configurations(only(data=["eeg"]))
    for m, method in enumerate(payload(read)["methods"]):
        start = read.elements.index(next(g for g in groups if g["class"].split()[0] == f"own-{m}"))
        dots, steps = (e for e in read.elements[start : start + 4] if e["tag"] == "path")
        places = np.array(re.findall(r"M([\d.]+) ([\d.]+)h0", dots["d"]), float)
        own = table[table["method"] == method["name"]]
        assert len(places) == len(own)
        order = np.argsort(own["nbytes"].to_numpy(), kind="stable")
        assert (np.diff(places[order, 0]) >= 0).all()
        x, y = (float(place) for place in re.match(r"M([\d.]+) ([\d.]+)", steps["d"]).groups())
        corners = [(x, y)] + [tuple(map(float, corner)) for corner in re.findall(r"H([\d.]+)V([\d.]+)", steps["d"])]
        marks = [(percent(u["x"]), percent(u["y"])) for u in read.all("use", href=f"#mark-{m}") if "x" in u]
        assert marks == corners
        for across, down in places:
            assert down >= min(level for at, level in corners if at <= across + 1e-9) - 1e-9


def test_the_diagram_has_methods_at_their_ranks_and_bars_over_their_cliques(whole):
    compared = compare(areas(configurations(RESULTS)))
    [svg] = whole.all("svg", id="diagram")
    start = whole.elements.index(svg)
    drawn = whole.elements[start : start + 200]
    n = len(compared.mean_ranks)

    def at(rank):
        return pytest.approx(100 * (rank - 1) / (n - 1), abs=0.01)

    dots = [percent(e["cx"]) for e in drawn if e["tag"] == "circle" and e.get("r") == "4.5"]
    names = [e["text"] for e in drawn if e["tag"] == "text" and e.get("class") == "name"]
    assert names == [f"{name} {rank:.2f}" for name, rank in compared.mean_ranks.items()]
    assert dots == [at(rank) for rank in compared.mean_ranks]
    bars = [(percent(e["x1"]), percent(e["x2"])) for e in drawn if e.get("class") == "clique"]
    ranks = compared.mean_ranks
    assert bars == [(at(ranks[clique[0]]), at(ranks[clique[-1]])) for clique in compared.cliques]
    [said] = whole.all("desc", id="diagram-desc")
    assert all(f"{name} {rank:.2f}" in said["text"] for name, rank in compared.mean_ranks.items())


def contrast(first, second):
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("method", [*PAPER, *BEYOND, "extra_trees RE", "something else"])
def test_letters_are_read_on_the_colour_of_a_method_and_it_is_seen_on_dark_paper(method, report):
    read = report(study(("eeg", "magic"), (method, "other")))
    number = [one["name"] for one in payload(read)["methods"]].index(method)
    [style] = read.all("style")
    rules = re.findall(rf"\.own-{number} {{ --own: (#\w+); --on: (#\w+); }}", style["text"])
    assert len(rules) == 2
    for own, letters in rules:
        assert contrast(own, letters) >= 4.5
    assert rules[0][0] == look_of(method).colour
    assert contrast(rules[1][0], "#16191c") >= 2.5


def test_the_summary_says_which_method_is_best_over_all_sizes(whole):
    [summary] = whole.all("p", class_="summary")
    compared = compare(areas(configurations(RESULTS)))
    assert f"{compared.mean_ranks.index[0]} is best: mean rank {compared.mean_ranks.iloc[0]:.2f}" in summary["text"]


def test_other_sizes_are_counted_where_asked(report):
    table = RESULTS.assign(size_packed=np.linspace(1_000, 9_000, len(RESULTS)))
    assert max(max(runs["bytes"]) for runs in payload(report(table, size="packed"))["runs"]) <= 9_000


def test_saving_replaces_the_file_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    assert write_report(RESULTS, str(path), about={"study": "half a pair \ud83d"}) == path
    assert "half a pair ?" in path.read_text("utf-8")
    assert os.listdir(tmp_path) == ["report.html"]


def test_bad_input_is_said_and_leaves_no_file(tmp_path):
    path = tmp_path / "report.html"
    with pytest.raises(TypeError, match="about must be a mapping, not str"):
        write_report(RESULTS, path, about="mine")
    with pytest.raises(ValueError, match=r"there is no size 'pape'.*paper"):
        write_report(RESULTS, path, size="pape")
    with pytest.raises(ValueError, match="none of the 6 runs is done"):
        write_report(undone(RESULTS[:6], slice(None), "failed", "x"), path)
    with pytest.raises(IsADirectoryError, match="give the name of a file"):
        write_report(RESULTS, tmp_path)
    assert os.listdir(tmp_path) == []
