"""Draw accuracy over bytes, as the README and the site show it, from the tables in docs/results.

    python benchmarks/accuracy_picture.py

Nothing is measured here: the numbers are those of docs/results/accuracy.md and docs/results/other_tools.md. The
pictures are written by hand, line by line, so that they stay small and a change of a number can be read in review.
"""

import re
from html import escape
from math import log2
from pathlib import Path
from statistics import mean
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
PICTURES = ROOT / "docs" / "_static"

WIDTH, HEIGHT = 440, 330
LEFT, RIGHT, TOP, BOTTOM = 52, 18, 52, 44
KILOBYTES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
OURS = KILOBYTES[:5]
FONT = "font-family='-apple-system,Segoe UI,Helvetica,Arial,sans-serif'"
INK, FAINT, PAPER = "#24292f", "#d7dce1", "#ffffff"


class Line(NamedTuple):
    """What one method reaches: (KB, percent) pairs, and where its name stands, as seen from one of them."""

    name: str
    colour: str
    points: list[tuple[float, float]]
    at: int
    shift: tuple[int, int]
    anchor: str = "start"
    is_joined: bool = True


def accuracy_table() -> dict[str, list[float]]:
    """Return the numbers of each data set: Billhook's five, the paper's two, XGBoost's two and RF-LR's two."""
    ours, others = numbers_below("| 16 KB: 0.1.0 | now |"), numbers_below("| paper 64 / 256 KB |")
    return {name: [*ours[name][1::2], *others[name][4:]] for name in ours}


def numbers_below(heading: str) -> dict[str, list[float]]:
    """Return the numbers of each data set in the table of accuracy.md whose heading ends like this."""
    text = (RESULTS / "accuracy.md").read_text().split(heading)[1].split("\n\n")[0]
    rows = re.findall(r"^\| ([\w-]+) \([\d, ]+\) \|(.*)\|$", text, re.MULTILINE)
    return {name: [float(number) for number in re.findall(r"[\d.]+", cells)] for name, cells in rows}


def emlearn_points() -> list[tuple[float, float]]:
    """Return KB of flash on a Cortex-M4 and accuracy of what emlearn makes of a forest of 16 trees on eeg."""
    text = (RESULTS / "other_tools.md").read_text().split("## eeg 16 x 128")[1].split("\n## ")[0]
    head = next(line for line in text.splitlines() if line.startswith("| tool"))
    names = [cell.strip() for cell in head.split("|")]
    flash, accuracy = names.index("M4 flash"), names.index("accuracy")
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| emlearn ") and "Error" not in line]
    return sorted((int(row[flash].replace(",", "")) / 1024, float(row[accuracy])) for row in rows)


def lines_of(numbers: list[float]) -> list[Line]:
    """Return the lines of one panel."""
    ours, paper, by_hand, refined = numbers[:5], numbers[5:7], numbers[7:9], numbers[9:11]
    return [
        Line("RF-LR, packed", "#3a7d44", list(zip((2, 16), refined, strict=True)), 1, (8, 14)),
        Line("XGBoost by hand", "#b86a16", list(zip((2, 16), by_hand, strict=True)), 1, (8, 5)),
        Line("best of the paper", "#b5413b", list(zip((64, 256), paper, strict=True)), 1, (4, -12), "end"),
        Line("Billhook", "#1f6f8b", list(zip(OURS, ours, strict=True)), 4, (8, 5)),
    ]


def panel(title: str, lines: list[Line]) -> list[str]:
    """Return the elements of a panel."""
    values = [value for line in lines for _, value in line.points]
    step = 5 if max(values) - min(values) > 12 else 2
    low, high = int(min(values) // step * step), int(-(-max(values) // step) * step)

    def x(kilobytes: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * log2(kilobytes) / 8, 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * (value - low) / (high - low), 1)

    out = [f"<text x='{LEFT}' y='26' font-size='16' font-weight='600'>{escape(title)}</text>"]
    for value in range(low, high + 1, step):
        out.append(f"<path d='M{LEFT} {y(value)}H{WIDTH - RIGHT}' stroke='{FAINT}'/>")
        out.append(f"<text x='{LEFT - 8}' y='{y(value) + 4.5}' text-anchor='end'>{value} %</text>")
    out += [
        f"<text x='{x(kilobytes)}' y='{HEIGHT - BOTTOM + 20}' text-anchor='middle'>{kilobytes}</text>"
        for kilobytes in KILOBYTES
    ]
    out.append(f"<text x='{WIDTH - RIGHT}' y='{HEIGHT - 8}' text-anchor='end'>KB of the model</text>")
    for line in lines:
        places = [(x(kilobytes), y(value)) for kilobytes, value in line.points]
        is_ours = line.name == "Billhook"
        path = "L".join(f"{a} {b}" for a, b in places)
        if line.is_joined:
            out.append(f"<path d='M{path}' fill='none' stroke='{line.colour}' stroke-width='{3 if is_ours else 2}'/>")
        out += [f"<circle cx='{a}' cy='{b}' r='{5 if is_ours else 4}' fill='{line.colour}'/>" for a, b in places]
        a, b = places[line.at]
        weight = " font-weight='600'" if is_ours else ""
        out.append(
            f"<text x='{round(a + line.shift[0], 1)}' y='{round(b + line.shift[1], 1)}' text-anchor='{line.anchor}'"
            f" fill='{line.colour}'{weight}>{line.name}</text>"
        )
    return out


def picture(panels: list[list[str]], description: str) -> str:
    """Return panels side by side as one picture, on paper of its own so that it can be read on a dark page."""
    width = WIDTH * len(panels)
    out = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {HEIGHT}' width='{width}' height='{HEIGHT}'"
        f" role='img' {FONT} font-size='14' fill='{INK}'>",
        f"<title>{escape(description)}</title>",
        f"<rect width='{width}' height='{HEIGHT}' rx='8' fill='{PAPER}'/>",
    ]
    for number, elements in enumerate(panels):
        out += [f"<g transform='translate({WIDTH * number} 0)'>", *elements, "</g>"]
    return "\n".join([*out, "</svg>", ""])


def pictures() -> dict[str, str]:
    """Return the three pictures by the names of their files."""
    table = accuracy_table()
    means = [mean(numbers) for numbers in zip(*table.values(), strict=True)]
    eeg = lines_of(table["eeg"])
    eeg.insert(0, Line("emlearn, 16 trees", "#6b4e9b", emlearn_points(), -1, (8, 5), is_joined=False))
    left, right = (
        panel(f"Test accuracy, mean of {len(table)} data sets", lines_of(means)),
        panel("Test accuracy on eeg", eeg),
    )
    told = (
        "Test accuracy over the kilobytes of a model. Billhook is above XGBoost by hand and the refined random forest"
    )
    return {
        "accuracy.svg": picture([left, right], f"{told}, on the mean of {len(table)} data sets and on eeg."),
        "accuracy_mean.svg": picture([left], f"{told}, on the mean of {len(table)} data sets."),
        "accuracy_eeg.svg": picture([right], f"{told}, and above emlearn, on the data set eeg."),
    }


if __name__ == "__main__":
    for name, text in pictures().items():
        (PICTURES / name).write_text(text)
        print(f"{len(text):6,} bytes  docs/_static/{name}")
