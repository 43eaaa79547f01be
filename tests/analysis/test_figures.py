import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex

import billhook as bh
from made_up_studies import BEYOND, PAPER, run, study

MANY = (*PAPER, *BEYOND)


def many_scores(n_methods=14, prefix=""):
    rng = np.random.default_rng(0)
    names = [prefix + name for name in MANY[:n_methods]]
    return pd.DataFrame(rng.normal(size=(16, n_methods)) + np.arange(n_methods) / 3, columns=names)


def boxes(figure):
    """Return where the texts of a figure are, in dots, after it was drawn."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    texts = [text for axes in figure.axes for text in axes.texts]
    texts += [text for legend in figure.legends for text in legend.get_texts()]
    for axis in (axis for axes in figure.axes if axes.axison for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
        texts += [label for tick in ticks for label in (tick.label1, tick.label2)]
    shown = [text for text in texts if text.get_visible() and text.get_text()]
    return {(text.get_text(), k): text.get_window_extent(canvas.get_renderer()) for k, text in enumerate(shown)}


def overlaps(figure):
    found = boxes(figure)
    return [(a, b) for (a, p), (b, q) in itertools.combinations(found.items(), 2) if p.overlaps(q)]


def outside(figure):
    width, height = figure.bbox.width, figure.bbox.height
    return [
        name
        for name, box in boxes(figure).items()
        if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1
    ]


@pytest.mark.parametrize("prefix", ["", "random_forest ", "a method with quite a long name, "])
@pytest.mark.parametrize("n_methods", [2, 3, 10, 14])
def test_the_labels_of_a_critical_difference_diagram_do_not_overlap(n_methods, prefix):
    figure = bh.analysis.critical_difference_diagram(bh.analysis.compare(many_scores(n_methods, prefix)))
    assert not overlaps(figure)
    assert not outside(figure)


def test_the_overlap_of_labels_would_be_noticed():
    figure = bh.analysis.critical_difference_diagram(bh.analysis.compare(many_scores()))
    for text in figure.axes[0].texts:
        text.set_fontsize(3 * text.get_fontsize())
    assert overlaps(figure)
    assert outside(figure)


def test_a_critical_difference_diagram_has_a_bar_for_each_clique_and_the_best_on_the_left():
    compared = bh.analysis.compare(bh.analysis.published("area_under_pareto_front"))
    axes = bh.analysis.critical_difference_diagram(compared).axes[0]
    bars = [line for line in axes.lines if line.get_linewidth() == 4]
    assert len(bars) == len(compared.cliques) == 3
    labels = {text.get_text(): text.get_position() for text in axes.texts}
    assert labels["1"][0] < labels["10"][0]
    assert labels["RF-LR  1.53"][0] < labels["CA  9.75"][0]
    # A bar goes from the first to the last rank of its clique, and a little beyond.
    per_rank = labels["2"][0] - labels["1"][0]
    for bar, clique in zip(bars, compared.cliques, strict=True):
        left, right = bar.get_xdata()
        ranks = compared.mean_ranks[list(clique)]
        assert right - left == pytest.approx((ranks.max() - ranks.min()) * per_rank + 0.1)
        assert left + 0.05 == pytest.approx(labels["1"][0] + (ranks.min() - 1) * per_rank)


def test_every_method_has_its_colour_and_marker_in_every_figure():
    table = bh.analysis.configurations(study(methods=MANY))
    area = bh.analysis.areas(table)
    figures = [
        bh.analysis.accuracy_over_memory(table, "eeg"),
        bh.analysis.accuracy_by_shape(table, "eeg"),
    ]
    for figure in figures:
        drawn = {
            line.get_label(): line
            for axes in figure.axes
            for line in axes.lines
            if not line.get_label().startswith("_")
        }
        assert set(drawn) == set(MANY) - ({"budget search"} if figure is figures[1] else set())
        for method, line in drawn.items():
            assert to_hex(line.get_color()) == bh.analysis.colour_of(method)
            assert line.get_marker() == bh.analysis.marker_of(method)
    diagram = bh.analysis.critical_difference_diagram(bh.analysis.compare(area)).axes[0]
    markers = {(to_hex(line.get_color()), line.get_marker()) for line in diagram.lines}
    assert {(bh.analysis.colour_of(method), bh.analysis.marker_of(method)) for method in MANY} <= markers


def test_a_front_is_drawn_through_its_models_in_kilobytes_and_percent():
    table = bh.analysis.configurations(study())
    fronts = bh.analysis.pareto_fronts(table)
    axes = bh.analysis.accuracy_over_memory(table, "chess").axes[0]
    (line,) = (line for line in axes.lines if line.get_label() == "IC")
    front = fronts[(fronts["data"] == "chess") & (fronts["method"] == "IC")]
    assert np.allclose(line.get_xdata(), front["nbytes"] / 1024)
    assert np.allclose(line.get_ydata(), 100 * front["accuracy"])
    assert axes.get_xscale() == "log"


@pytest.mark.parametrize("draw", [bh.analysis.accuracy_over_memory, bh.analysis.accuracy_by_shape])
def test_the_labels_of_figures_do_not_overlap(draw):
    results = study(methods=MANY, leaves=(64, 128, 256, 512, 1024), trees=(2, 4, 8, 16, 32, 64, 128, 256), folds=1)
    figure = draw(bh.analysis.configurations(results), "eeg")
    assert not overlaps(figure)
    assert not outside(figure)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((3000, 3000), ["2.93 KB", "2.93 KB"]),
        ((1025, 2047), ["1.001 KB", "1.999 KB"]),
        ((512, 4096), ["512 B", "1 KB", "2 KB", "4 KB"]),
        ((2**13, 2**32), ["8 KB", "64 KB", "512 KB", "4 MB", "32 MB", "256 MB", "2 GB"]),
    ],
)
def test_sizes_are_marked_at_powers_of_two(sizes, expected):
    rows = [run(accuracy=0.5 + k / 10, nbytes=size, n_trees=k + 1) for k, size in enumerate(sizes)]
    axes = bh.analysis.accuracy_over_memory(bh.analysis.configurations(pd.DataFrame(rows)), "eeg").axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == expected


def test_panels_span_the_same_number_of_points():
    table = bh.analysis.configurations(study(leaves=(64, 256, 1024)))
    panels = bh.analysis.accuracy_by_shape(table, "eeg", methods=["RF", "RE"]).axes
    assert [panel.get_title() for panel in panels] == [f"at most {n} leaves" for n in (64, 256, 1024)]
    assert np.ptp([np.ptp(panel.get_ylim()) for panel in panels]) < 1e-9
    for panel in panels:
        low, high = panel.get_ylim()
        drawn = np.concatenate([line.get_ydata() for line in panel.lines])
        assert len(panel.lines) == 2
        assert low < drawn.min() <= drawn.max() < high


def test_a_method_that_is_not_there_cannot_be_drawn():
    table = bh.analysis.configurations(study())
    with pytest.raises(ValueError, match="on 'eeg' there is no method 'RFLR'; did you mean 'RF-LR'"):
        bh.analysis.accuracy_by_shape(table, "eeg", methods=["RFLR"])


def test_maps_print_every_number_and_bold_the_best():
    table = pd.DataFrame({"A": [0.5, np.nan], "B": [0.25, 0.75]}, index=["x", "y"])
    texts = bh.analysis.score_map(table, digits=2).axes[0].texts
    assert [text.get_text() for text in texts] == ["0.50", "0.25", "", "0.75"]
    assert [text.get_fontweight() for text in texts] == ["bold", "normal", "normal", "bold"]
    texts = bh.analysis.win_map(table).axes[0].texts
    assert [text.get_text() for text in texts] == ["", "1/0/0", "0/0/1", ""]


@pytest.mark.parametrize("draw", [bh.analysis.score_map, bh.analysis.win_map])
@pytest.mark.parametrize("prefix", ["", "random_forest "])
def test_the_numbers_of_maps_do_not_overlap(draw, prefix):
    figure = draw(many_scores(prefix=prefix).abs())
    numbers = {text.get_text() for text in figure.axes[0].texts}
    assert not [pair for pair in overlaps(figure) if pair[0][0] in numbers or pair[1][0] in numbers]
    assert not outside(figure)
