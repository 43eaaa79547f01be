"""How methods are shown: colours and marks, the same as in figures, and on a dark background too."""

from colorsys import hls_to_rgb, rgb_to_hls
from typing import NamedTuple

from billhook.analysis._style import style_of

# Outlines of marks in a square from -5 to 5, by matplotlib's names for them.
MARKS = {
    "o": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "s": "M-3.5-3.5h7v7h-7z",
    "^": "M0-4.5L4.5 3.5h-9z",
    "v": "M0 4.5L4.5-3.5h-9z",
    "<": "M-4.5 0L3.5-4.5v9z",
    ">": "M4.5 0L-3.5-4.5v9z",
    "D": "M0-5L5 0L0 5L-5 0z",
    "d": "M0-5L3.4 0L0 5L-3.4 0z",
    "P": "M-1.6-4.5h3.2v2.9h2.9v3.2h-2.9v2.9h-3.2v-2.9h-2.9v-3.2h2.9z",
    "X": "M-2.2-4.5L0-2.3L2.2-4.5L4.5-2.2L2.3 0L4.5 2.2L2.2 4.5L0 2.3L-2.2 4.5L-4.5 2.2L-2.3 0L-4.5-2.2z",
    "p": "M0-4.6L4.4-1.4L2.7 3.7h-5.4L-4.4-1.4z",
    "h": "M0-4.6L4-2.3v4.6L0 4.6L-4 2.3v-4.6z",
    "8": "M-1.8-4.4h3.6L4.4-1.8v3.6L1.8 4.4h-3.6L-4.4 1.8v-3.6z",
    "*": "M0-5.5L1.3-1.7H5.2L2.1.7L3.2 4.4L0 2.2L-3.2 4.4L-2.1.7L-5.2-1.7H-1.3z",
}
# Relative luminances (WCAG 2): above the first dark letters are read more easily on a colour than light ones; below
# the second it is not seen on a dark background.
LIGHT, DARK = 0.179, 0.12


class Look(NamedTuple):
    """A method as it is drawn: its colour on light and dark, that of letters on it, its mark and its fill."""

    name: str
    colour: str
    letters: str
    colour_on_dark: str
    letters_on_dark: str
    mark: str
    fill: str


def look_of(method: str) -> Look:
    """Return how a method is drawn."""
    style = style_of(method)
    dark = on_dark(style.color)
    return Look(
        name=method,
        colour=style.color,
        letters=_letters_on(style.color),
        colour_on_dark=dark,
        letters_on_dark=_letters_on(dark),
        mark=MARKS[style.marker],
        fill=style.fillstyle,
    )


def on_dark(colour: str) -> str:
    """Return a colour that is seen on a dark background: itself, or one as light as it is dark.

    Examples
    --------
    >>> on_dark("#d55e00"), on_dark("#000000")
    ('#d55e00', '#ffffff')
    """
    if luminance(colour) >= DARK:
        return colour
    hue, lightness, saturation = rgb_to_hls(*_parts(colour))
    return "#" + "".join(f"{round(255 * part):02x}" for part in hls_to_rgb(hue, 1 - lightness, saturation))


def luminance(colour: str) -> float:
    """Return how light a colour is, from 0 to 1.

    Examples
    --------
    >>> luminance("#000000"), luminance("#ffffff")
    (0.0, 1.0)
    """
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in _parts(colour)
    )
    return round(0.2126 * red + 0.7152 * green + 0.0722 * blue, 12)


def _parts(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return red, green, blue


def _letters_on(colour: str) -> str:
    return "#000000" if luminance(colour) > LIGHT else "#ffffff"
