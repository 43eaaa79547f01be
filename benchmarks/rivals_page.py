"""What came of `rivals.py`: tables, where a rival is better, and a page of pictures."""

from html import escape
from math import floor, log2, sqrt
from typing import NamedTuple

from accuracy_picture import FAINT, FONT, INK, PAPER
from fit_true_bytes import BY_PAPER, DATA, KB, SEARCH

XGBOOST, LIGHTGBM, PENALISED, EMLEARN = "XGBoost by hand", "LightGBM by hand", "LightGBM, cegb", "emlearn"
NETS = {"net, 8 bits": 8, "net, 4 bits": 4}
MNIST = "mnist, official"
MNIST_WANTED = {4 * KB: 97.0, 12 * KB: 98.0}
COLOURS = {
    SEARCH: "#1f6f8b",
    XGBOOST: "#b86a16",
    LIGHTGBM: "#d9a400",
    PENALISED: "#8a7a2a",
    "net, 8 bits": "#b5413b",
    "net, 4 bits": "#e08a84",
    EMLEARN: "#6b4e9b",
    BY_PAPER: "#3a7d44",
}
PANEL_WIDTH, PANEL_HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 400, 300, 52, 14, 44, 40
LEGEND = 60
# What is so many points below the best at the largest size is cut off.
MOST_BELOW = 30.0


class Printed(NamedTuple):
    """What others print of a data set: KB, percent, and where."""

    who: str
    data: str
    kilobytes: float
    accuracy: float
    where: str


PRINTED = (
    Printed("BTHOWeN", "satimage", 9.0, 88.0, "Susskind and others 2022"),
    Printed("ProtoNN", MNIST, 63.4, 95.88, "Gupta and others 2017; EdgeML"),
    Printed("Bonsai", MNIST, 84.0, 97.01, "Kumar, Goyal and Varma 2017; EdgeML"),
    Printed("low-bit net", MNIST, 1.1, 94.2, "BitNetMCU: 16 x 16 pixels, augmented"),
    Printed("low-bit net", MNIST, 12.3, 99.0, "BitNetMCU: 16 x 16 pixels, augmented"),
)


class Results:
    """Accuracies in percent by data set, who, bytes and fold, and the number of test rows of each fold."""

    def __init__(self, rows: list[dict]) -> None:
        self.accuracy: dict[tuple, dict[int, float]] = {}
        self.n_test: dict[str, int] = {}
        for row in rows:
            self.accuracy.setdefault((row["data"], row["who"], row["budget"]), {})[row["fold"]] = (
                100.0 * row["accuracy"]
            )
            self.n_test[row["data"]] = row["n_test"]
        self.data = [name for name in (*DATA, MNIST) if name in self.n_test]

    def budgets(self, name: str) -> list[int]:
        """Return the sizes that there are models of."""
        return sorted({budget for data, _, budget in self.accuracy if data == name})

    def who(self, name: str) -> list[str]:
        """Return whose models there are."""
        known = {who for data, who, _ in self.accuracy if data == name}
        return [who for who in COLOURS if who in known]

    def mean(self, name: str, who: str, budget: int) -> float | None:
        """Return the mean of the folds that there are."""
        folds = self.accuracy.get((name, who, budget))
        return sum(folds.values()) / len(folds) if folds else None

    def lead(self, name: str, who: str, budget: int) -> float | None:
        """Return by how much a rival is better, in the mean of the folds that both have."""
        ours, theirs = (self.accuracy.get((name, one, budget), {}) for one in (SEARCH, who))
        both = ours.keys() & theirs.keys()
        return sum(theirs[fold] - ours[fold] for fold in both) / len(both) if both else None

    def error(self, name: str, budget: int) -> float:
        """Return the standard error of our accuracy, in points, if test rows are drawn at random."""
        folds = self.accuracy[name, SEARCH, budget]
        share = sum(folds.values()) / len(folds) / 100.0
        return 100.0 * sqrt(share * (1.0 - share) / (self.n_test[name] * len(folds)))


def show(rows: list[dict], *, is_markdown: bool) -> None:
    results = Results(rows)
    for name in results.data:
        budgets = results.budgets(name)
        folds = ", ".join(map(str, sorted({row["fold"] for row in rows if row["data"] == name})))
        title = f"{name}, {'test rows of its own' if name == MNIST else f'fold {folds}'}"
        header = [title, *(f"{budget / KB:g} KB" for budget in budgets)]
        lines = [header]
        if is_markdown:
            lines.append(["---", *["---:"] * len(budgets)])
        for who in results.who(name):
            cells = []
            for budget in budgets:
                mean, lead = results.mean(name, who, budget), results.lead(name, who, budget)
                cell = "-" if mean is None else f"{mean:.2f}"
                cells.append(f"**{cell}**" if is_markdown and who != SEARCH and (lead or 0.0) > 0.0 else cell)
            lines.append([who, *cells])
        for line in lines:
            print(
                f"| {' | '.join(line)} |" if is_markdown else f"{line[0]:35}" + "".join(f"{c:>9}" for c in line[1:])
            )
        for one in PRINTED:
            if one.data == name:
                print(f"\nPrinted: {one.who} {one.accuracy:g} in {one.kilobytes:g} KB ({one.where}).", end="")
        print("\n")
    show_wins(results)
    for budget, wanted in MNIST_WANTED.items():
        reached = results.mean(MNIST, SEARCH, budget)
        if reached is not None:
            said = "reached" if reached >= wanted else "not reached"
            print(f"{MNIST}: {reached:.2f} in {budget / KB:g} KB, wanted {wanted:g}: {said}.")


def show_wins(results: Results) -> None:
    """Say where a rival is better, and of that what is more than chance might make."""
    wins, clear, n_compared, n_best = [], [], 0, 0
    for name in results.data:
        for budget in results.budgets(name):
            leads = {
                who: lead
                for who in results.who(name)
                if who != SEARCH and (lead := results.lead(name, who, budget)) is not None
            }
            if not leads:
                continue
            n_compared += 1
            best = max(leads, key=lambda who: leads[who])
            if leads[best] <= 0.0:
                n_best += 1
                continue
            words = f"{name} at {budget / KB:g} KB ({best}, {leads[best]:+.2f})"
            wins.append(words)
            if leads[best] > 2.0 * results.error(name, budget):
                clear.append(words)
    for who in COLOURS:
        leads = [
            lead
            for name in results.data
            for budget in results.budgets(name)
            if who != SEARCH and (lead := results.lead(name, who, budget)) is not None
        ]
        if leads:
            n_better = sum(lead <= 0.0 for lead in leads)
            more = -sum(leads) / len(leads)
            print(f"{who}: no better at {n_better} of {len(leads)} sizes of sets; Billhook {more:+.2f} in the mean.")
    print(f"Billhook is best of all, or as good, at {n_best} of {n_compared}.")
    print(f"A rival is better: {'; '.join(wins) or 'nowhere'}.")
    print(f"By more than two standard errors of our accuracy: {'; '.join(clear) or 'nowhere'}.")


def picture_of(rows: list[dict]) -> str:
    """Return a page with accuracy over bytes, a picture for each data set."""
    results = Results(rows)
    n_across = 2
    n_down = -(-len(results.data) // n_across)
    width, height = n_across * PANEL_WIDTH, n_down * PANEL_HEIGHT + LEGEND
    out = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}'"
        f" role='img' {FONT} font-size='13' fill='{INK}'>",
        "<title>Test accuracy over the kilobytes of a model: Billhook and its rivals</title>",
        f"<rect width='{width}' height='{height}' rx='8' fill='{PAPER}'/>",
    ]
    for number, name in enumerate(results.data):
        x, y = PANEL_WIDTH * (number % n_across), PANEL_HEIGHT * (number // n_across)
        out += [f"<g transform='translate({x} {y})'>", *_panel(results, name), "</g>"]
    known = {who for name in results.data for who in results.who(name)}
    for number, who in enumerate(who for who in COLOURS if who in known):
        x, y = 30 + number % 4 * (width - 40) // 4, height - LEGEND + 18 + 22 * (number // 4)
        line = 3 if who == SEARCH else 2
        out.append(f"<path d='M{x} {y - 4}h22' stroke='{COLOURS[who]}' stroke-width='{line}'/>")
        out.append(f"<text x='{x + 28}' y='{y}'>{escape(who)}</text>")
    return "\n".join([*out, "</svg>", ""])


def _panel(results: Results, name: str) -> list[str]:
    budgets = results.budgets(name)
    printed = [one for one in PRINTED if one.data == name]
    curves = {
        who: [(budget / KB, mean) for budget in budgets if (mean := results.mean(name, who, budget)) is not None]
        for who in results.who(name)
    }
    sizes = [*(budget / KB for budget in budgets), *(one.kilobytes for one in printed)]
    left, right = floor(log2(min(sizes))), log2(max(sizes))
    ticks = sorted({*(budget / KB for budget in budgets), *(size for size in (1, 4, 16, 64) if size <= max(sizes))})
    values = [value for curve in curves.values() for _, value in curve] + [one.accuracy for one in printed]
    high = max(values)
    kept = [value for value in values if value >= high - MOST_BELOW]
    step = next(step for step in (1, 2, 5, 10) if (high - min(kept)) / step <= 7)
    low, high = int(min(kept) // step * step), int(-(-high // step) * step)

    def x(kilobytes: float) -> float:
        return round(LEFT + (PANEL_WIDTH - LEFT - RIGHT) * (log2(kilobytes) - left) / (right - left), 1)

    def y(value: float) -> float:
        return round(PANEL_HEIGHT - BOTTOM - (PANEL_HEIGHT - BOTTOM - TOP) * (value - low) / (high - low), 1)

    out = [f"<text x='{LEFT}' y='26' font-size='15' font-weight='600'>{escape(name)}</text>"]
    for value in range(low, high + 1, step):
        out.append(f"<path d='M{LEFT} {y(value)}H{PANEL_WIDTH - RIGHT}' stroke='{FAINT}'/>")
        out.append(f"<text x='{LEFT - 8}' y='{y(value) + 4.5}' text-anchor='end'>{value} %</text>")
    for size in ticks:
        at = PANEL_HEIGHT - BOTTOM + 18
        out.append(f"<text x='{x(size)}' y='{at}' text-anchor='middle'>{size:g}</text>")
    out.append(f"<text x='{PANEL_WIDTH - RIGHT}' y='{PANEL_HEIGHT - 6}' text-anchor='end'>KB of the model</text>")
    # Ours last, above the others.
    for who, curve in sorted(curves.items(), key=lambda one: one[0] == SEARCH):
        places = [(x(kilobytes), y(value)) for kilobytes, value in curve if value >= low]
        path = "L".join(f"{a} {b}" for a, b in places)
        size, line = (4.5, 3) if who == SEARCH else (3, 1.8)
        out.append(f"<path d='M{path}' fill='none' stroke='{COLOURS[who]}' stroke-width='{line}'/>")
        out += [f"<circle cx='{a}' cy='{b}' r='{size}' fill='{COLOURS[who]}'/>" for a, b in places]
    for one in printed:
        a, b = x(one.kilobytes), y(one.accuracy)
        out.append(f"<path d='M{a - 5} {b}h10m-5 -5v10' stroke='{INK}' stroke-width='2'/>")
        anchor, to = ("end", -8) if a > PANEL_WIDTH * 0.7 else ("start", 8)
        out.append(
            f"<text x='{a + to}' y='{b + 14}' text-anchor='{anchor}' stroke='{PAPER}' stroke-width='3'"
            f" paint-order='stroke'>{escape(one.who)}, printed</text>"
        )
    return out
