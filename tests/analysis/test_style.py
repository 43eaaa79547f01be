import itertools
import re

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import billhook as bh
from billhook.analysis._style import COLOURS, LINES, MARKERS, style_of

# Machado, Oliveira and Fernandes 2009, severity 1.0, in linear RGB.
VISION = {
    "full": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def linear(colour):
    channels = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(colour, vision):
    seen = XYZ @ np.clip(np.asarray(VISION[vision]) @ linear(colour), 0, 1) / [0.95047, 1.0, 1.08883]
    x, y, z = np.where(seen > 0.008856, np.cbrt(seen), 7.787 * seen + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_the_measure_of_distance_knows_red_from_green_only_with_full_vision():
    red, green = "#c85000", "#7a7a00"
    assert np.linalg.norm(lab(red, "full") - lab(green, "full")) > 40
    assert np.linalg.norm(lab(red, "deuteranopia") - lab(green, "deuteranopia")) < 20


@pytest.mark.parametrize("vision", VISION)
def test_no_two_methods_have_colours_that_look_alike(vision):
    places = {method: lab(bh.analysis.colour_of(method), vision) for method in COLOURS}
    near = {(a, b): np.linalg.norm(places[a] - places[b]) for a, b in itertools.combinations(places, 2)}
    assert min(near.values()) > 15, min(near, key=near.get)


def test_every_colour_stands_out_from_paper():
    for method in COLOURS:
        assert 1.05 / (0.05 + (XYZ @ linear(bh.analysis.colour_of(method)))[1]) > 2.2, method


def test_every_method_of_the_paper_has_a_marker_of_its_own():
    assert len({bh.analysis.marker_of(method) for method in MARKERS}) == len(MARKERS)


@given(st.text())
def test_no_other_name_looks_like_a_method_of_the_paper(name):
    assume(name not in COLOURS and name.partition(" ")[2] not in COLOURS)
    assert re.fullmatch("#[0-9a-f]{6}", bh.analysis.colour_of(name))
    known = {(COLOURS[method], MARKERS[method]) for method in COLOURS}
    assert (bh.analysis.colour_of(name), bh.analysis.marker_of(name)) not in known


def test_a_look_never_changes():
    assert style_of("my method") == ("#aa4499", "p", LINES[2], "full")


def test_a_method_keeps_its_colour_whatever_the_forest():
    alone, *others = (style_of(f"{base}RE") for base in ("", "random_forest ", "extra_trees ", "bagging "))
    assert {style.color for style in others} == {alone.color}
    assert {style.marker for style in others} == {alone.marker}
    assert len({style.fillstyle for style in others}) == len({style.linestyle for style in others}) == 3


def test_a_name_with_a_space_is_not_taken_for_a_forest():
    assert style_of("budget search").color == COLOURS["budget search"]
