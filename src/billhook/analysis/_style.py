"""How a method looks, in every figure: a colour, a marker, a kind of line, all by its name alone."""

from typing import Any, NamedTuple
from zlib import crc32

# Any two are told apart with full colour vision and with any one of the three cones missing
# (a distance of at least 15 in CIELAB; tests/analysis/test_style.py works it out).
COLOURS = {
    "RF": "#a6a6a6",
    "RE": "#332288",
    "IC": "#118877",
    "IE": "#33bbee",
    "COMP": "#e69f00",
    "DREP": "#aa4499",
    "LMD": "#661100",
    "CA": "#aa7744",
    "GB": "#000000",
    "RF-LR": "#d55e00",
    "BCD": "#ee3377",
    "RE+BCD": "#785ef0",
    "merged": "#004949",
    "budget search": "#924900",
}
MARKERS = dict(zip(COLOURS, ("o", "s", "D", "^", "v", "<", ">", "X", "P", "*", "p", "h", "8", "d"), strict=True))
# As in the paper, RF is dashed and RE is not.
LINES = ((0, (5, 1.5)), "-", (0, (1, 1)), (0, (5, 1.5, 1, 1.5)))
# In a table of several kinds of forests a method keeps its colour and marker, which is filled in another way.
FILLS = {"random_forest": "full", "extra_trees": "none", "bagging": "left"}
# Markers that look smaller than others of the same size.
SMALL = {"*": 1.6, "P": 1.2, "X": 1.2}


class Style(NamedTuple):
    """What matplotlib needs to draw a method."""

    color: str
    marker: str
    linestyle: str | tuple[float, tuple[float, ...]]
    fillstyle: str


def colour_of(method: str) -> str:
    """Return the colour of a method, as "#rrggbb".

    It depends on the name alone, so that it is the same in all figures. The paper's methods, and the four beyond it
    that a study of all stages has, differ from one another for the colour-blind too. Of any other two methods the
    colours may be the same; then the markers or the lines are likely to differ.

    >>> from billhook.analysis import colour_of
    >>> colour_of("RF-LR")
    '#d55e00'
    >>> colour_of("extra_trees RF-LR")
    '#d55e00'
    """
    return style_of(method).color


def marker_of(method: str) -> str:
    """Return the marker of a method, one of matplotlib's; like the colour, by its name alone."""
    return style_of(method).marker


def style_of(method: str) -> Style:
    """Return how a method is drawn, by its name alone."""
    base, _, rest = method.partition(" ")
    is_of_base = bool(rest) and base in FILLS
    name = rest if is_of_base else method
    fill = FILLS[base] if is_of_base else "full"
    shift = list(FILLS).index(base) if is_of_base else 0
    known = list(COLOURS)
    if name in COLOURS:
        return Style(COLOURS[name], MARKERS[name], LINES[(known.index(name) + shift) % len(LINES)], fill)
    code = crc32(name.encode())
    place = code % len(known)
    # Never the marker that goes with the colour: the two together are one of the methods above.
    other = (place + 1 + code // 16 % (len(known) - 1)) % len(known)
    return Style(COLOURS[known[place]], MARKERS[known[other]], LINES[(code // 256 + shift) % len(LINES)], fill)


def marker_style(method: str, size: float) -> dict[str, Any]:
    """Return what matplotlib's `plot` takes to draw the marker of a method, of about the same size for all."""
    style = style_of(method)
    return {
        "color": style.color,
        "marker": style.marker,
        "markersize": size * SMALL.get(style.marker, 1.0),
        "fillstyle": style.fillstyle,
        "markeredgewidth": 0.0 if style.fillstyle == "full" else 0.8,
    }
