"""What a search found as one page that opens anywhere: nothing in it is loaded from elsewhere."""

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from billhook.budget.report._chart import candidates_chart, kind_of, label_of, legend, scatter_chart
from billhook.budget.report._words import difference_text, in_words, score_text, scoring_text, shared
from billhook.html import box, count_text, document, facts, head, number_head, section, size_text, table, time_text

if TYPE_CHECKING:
    from billhook.budget.report._report import Board, FitReport, Point, Step

# More classes than this have no room in a matrix; so many pairs of them are shown instead.
MOST_CLASSES, MOST_PAIRS = 30, 15
# Column headings longer than this are turned.
SHORT_NAME = 4


def page(report: "FitReport") -> str:
    """Return a page on what a search found: HTML in one piece.

    Parameters
    ----------
    report : FitReport
    """
    sections = (
        section("candidates", "Candidates", _candidates(report)),
        section("front", "The front", _front(report)),
        section("boards", "Boards", _boards(report)),
        section("steps", "Steps to the model", _steps(report)),
        section("mistakes", *_mistakes(report)),
        section("notes", "Notes", _notes(report.notes)),
        section("making", "How it was made", _making(report)),
    )
    header = f'<header>\n<h1>{escape(report.title)}</h1>\n<p class="summary">{_summary(report)}</p>\n</header>\n'
    return document(
        f"{report.title}: {size_text(report.nbytes)}",
        header + "".join(sections),
        styles=_part("page.css"),
        script=_part("page.js"),
    )


def _part(name: str) -> str:
    return files("billhook.budget.report").joinpath(name).read_text("utf-8")


def _summary(report: "FitReport") -> str:
    kind = "classifier" if report.task == "classification" else "regression model"
    rows = f"{count_text(report.n_rows, 'row')} of {count_text(report.n_features, 'feature')}"
    score = score_text(report.score, report.scoring)
    spread = ""
    if len(report.scores) > 1:
        least, most = (score_text(end, report.scoring) for end in (min(report.scores), max(report.scores)))
        spread = f" ({least} to {most} on {len(report.scores)} splits)"
    return (
        f"From {rows}, a {kind} of <strong>{report.nbytes:,} bytes</strong>, where {report.budget:,} are allowed, "
        f"with {escape(scoring_text(report.scoring))} <strong>{score}</strong>{spread} on rows it has not seen"
        f"{_whereabouts(report)}."
    )


def _whereabouts(report: "FitReport") -> str:
    """Return where the model fits: on the target if there is one, and on how many boards."""
    fitting = [board.name for board in report.boards if board.fits]
    target = next((board for board in report.boards if board.name == report.target), None)
    if target is not None:
        return f"; it {_fits(target)} <strong>{escape(target.name)}</strong>"
    if report.target is not None:
        return f", for {escape(report.target)}"
    if not report.boards:
        return ""
    if len(fitting) == len(report.boards):
        return "; it fits all boards below"
    return f"; it fits {len(fitting) or 'none'} of the {len(report.boards)} boards below"


def _candidates(report: "FitReport") -> str:
    told = next((point for point in report.points if point.is_chosen), None)
    label = label_of(told, report.scoring) if told else "Point at a dot, or go to it with the arrow keys."
    settings = in_words(told.settings) if told else ""
    return (
        f"{legend()}{candidates_chart(report)}"
        f'<p id="panel" aria-live="polite"><strong>{escape(label)}</strong><span>{escape(settings)}</span></p>'
    )


def _front(report: "FitReport") -> str:
    shown = [(k, point) for k, point in enumerate(report.points) if point.is_on_front or point.is_chosen]
    if not shown:
        return ""
    shown.sort(key=lambda numbered: (-numbered[1].nbytes, -numbered[1].score))
    same = shared([point.settings for _, point in shown])
    about = f"{count_text(len(shown), 'candidate')}, from the largest: no other is both smaller and better."
    if in_words(same):
        about += f" In all of them: {in_words(same)}."
    rows = [_front_row(k, point, same, report.scoring) for k, point in shown]
    heads = (number_head("bytes"), number_head(scoring_text(report.scoring)), head("settings"))
    return f'<p class="aside">{escape(about)}</p>{table("front", heads, rows)}'


def _front_row(number: int, point: "Point", same: dict[str, Any], scoring: str) -> str:
    """Return a line of the front, with the settings that are not the `same` in all lines."""
    own = {name: value for name, value in point.settings.items() if name not in same}
    mark = '<strong class="mark">chosen</strong> ' if point.is_chosen else ""
    return (
        f'<tr class="{kind_of(point)}">'
        f'<th scope="row" class="number"><a href="#dot-{number}">{point.nbytes:,}</a></th>'
        f'<td class="number">{score_text(point.score, scoring)}</td>'
        f'<td class="words">{mark}{escape(in_words(own))}</td></tr>'
    )


def _boards(report: "FitReport") -> str:
    rows = [_board_row(board, is_target=board.name == report.target) for board in report.boards]
    if not rows:
        return ""
    heads = (
        head("board"),
        head("fits"),
        head("of the flash"),
        number_head("taken"),
        number_head("flash"),
        number_head("RAM"),
    )
    about = '<p class="aside">Flash taken by the data and the program that reads them, in bytes.</p>'
    return about + table("boards", heads, rows)


def _board_row(board: "Board", *, is_target: bool) -> str:
    mark = ' <strong class="mark">target</strong>' if is_target else ""
    share = board.takes / board.flash if board.flash else None
    return (
        f'<tr class="{"chosen" if is_target else ""}"><th scope="row">{escape(board.name)}{mark}</th>'
        f'<td class="{"yes" if board.fits else "no"}">{_fits(board)}</td>{_bar_cell(share, is_good=board.fits)}'
        f'<td class="number">{board.takes:,}</td><td class="number">{_room(board.flash)}</td>'
        f'<td class="number">{_room(board.ram)}</td></tr>'
    )


def _fits(board: "Board") -> str:
    return "fits" if board.fits else "does not fit"


def _room(nbytes: int) -> str:
    return f"{nbytes:,}" if nbytes else "no limit"


def _bar_cell(share: float | None, *, is_good: bool) -> str:
    if share is None:
        return "<td></td>"
    kind = "" if is_good else " bad"
    bar = f'<span class="bar{kind}"><span style="width:{100 * min(share, 1.0):.1f}%"></span></span>'
    return f'<td class="measure">{bar}<small>{share:.0%}</small></td>'


def _steps(report: "FitReport") -> str:
    if not report.steps:
        return ""
    changes = [None, *(after.score - before.score for before, after in pairwise(report.steps))]
    largest = max((abs(change) for change in changes if change is not None and np.isfinite(change)), default=0.0)
    rows = [
        _step_row(step, change, largest, report.scoring) for step, change in zip(report.steps, changes, strict=True)
    ]
    heads = (
        head("step"),
        number_head(scoring_text(report.scoring)),
        number_head("difference"),
        head("loss or gain"),
        number_head("bytes"),
        head("how"),
    )
    return table("steps", heads, rows)


def _step_row(step: "Step", change: float | None, largest: float, scoring: str) -> str:
    return (
        f'<tr><th scope="row">{escape(step.name)}</th>'
        f'<td class="number">{score_text(step.score, scoring)}</td>'
        f'<td class="number">{"" if change is None else difference_text(change, scoring)}</td>'
        f"<td>{_signed_bar(change, largest)}</td>"
        f'<td class="number">{"" if step.nbytes is None else f"{step.nbytes:,}"}</td>'
        f'<td class="words">{escape(step.detail)}</td></tr>'
    )


def _signed_bar(change: float | None, largest: float) -> str:
    """Return a bar to the right of the middle for a gain, to the left for a loss."""
    if change is None or not largest or not np.isfinite(change):
        return ""
    width = 50 * abs(change) / largest
    left, kind = (50.0, "gain") if change >= 0 else (50 - width, "loss")
    return f'<span class="signed"><span class="{kind}" style="left:{left:.1f}%;width:{width:.1f}%"></span></span>'


def _mistakes(report: "FitReport") -> tuple[str, str]:
    """Return a heading and what is below it."""
    if report.confusion is not None:
        return "Classes taken for others", _confusion(report.confusion, report.classes)
    if report.errors is not None and len(report.errors):
        return "Predicted and true numbers", _errors(report.errors)
    return "", ""


def _confusion(counts: NDArray[np.int64], classes: Sequence[str]) -> str:
    right, all_rows = int(np.trace(counts)), int(counts.sum())
    about = f'<p class="aside">{right:,} of {count_text(all_rows, "row")} held out are given the right class. '
    if len(classes) > MOST_CLASSES:
        return f"{about}</p>{_worst_pairs(counts, classes)}"
    about += (
        "A line for each true class, a column for what its rows were taken for; the stronger the shade, the more.</p>"
    )
    is_turned = any(len(name) > SHORT_NAME for name in classes)
    heads = "".join(_class_head(name, is_turned=is_turned) for name in classes)
    body = "".join(_confusion_row(k, row, classes) for k, row in enumerate(counts))
    table = (
        f'<table class="confusion"><thead><tr><th scope="col">true</th>{heads}<th scope="col">right</th></tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )
    return about + box("mistakes", table)


def _class_head(name: str, *, is_turned: bool) -> str:
    kind = ' class="turned"' if is_turned else ""
    return f'<th scope="col"{kind} title="{escape(name)}"><span>{escape(name)}</span></th>'


def _confusion_row(true: int, row: NDArray[np.int64], classes: Sequence[str]) -> str:
    """Return a line of the matrix; shades are roots of shares, as a few mistakes would not be seen."""
    total = max(int(row.sum()), 1)
    kinds = ("right" if k == true else "wrong" if n else "none" for k, n in enumerate(row))
    cells = "".join(
        f'<td class="{kind}" style="--depth:{(n / total) ** 0.5:.3f}">{n:,}</td>'
        for kind, n in zip(kinds, row.tolist(), strict=True)
    )
    name = escape(classes[true])
    share = f"{row[true] / total:.1%}" if row.sum() else ""
    return f'<tr><th scope="row" title="{name}"><span>{name}</span></th>{cells}<td class="number">{share}</td></tr>'


def _worst_pairs(counts: NDArray[np.int64], classes: Sequence[str]) -> str:
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    worst = np.argsort(-wrong, axis=None, kind="stable")[:MOST_PAIRS]
    rows = [
        f'<tr><th scope="row">{escape(classes[true])}</th><td class="words">{escape(classes[said])}</td>'
        f'<td class="number">{wrong[true, said]:,}</td>'
        f"{_bar_cell(float(wrong[true, said] / counts[true].sum()), is_good=False)}</tr>"
        for true, said in (divmod(int(k), len(classes)) for k in worst)
        if wrong[true, said]
    ]
    heads = (head("true class"), head("taken for"), number_head("rows"), head("of the true class"))
    return table("mistakes", heads, rows) if rows else ""


def _errors(errors: NDArray[np.float64]) -> str:
    off = errors[:, 1] - errors[:, 0]
    about = (
        f"On {count_text(len(errors), 'row')} held out, predictions are off by {np.abs(off).mean():.4g} on average; "
        f"the root of the mean squared error is {np.sqrt((off**2).mean()):.4g}."
    )
    return f'<p class="aside">{about}</p>{scatter_chart(errors)}'


def _notes(notes: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f"<ul>{items}</ul>" if items else ""


def _making(report: "FitReport") -> str:
    return facts(
        {
            "Trials": f"{report.n_trials:,}",
            "Time": time_text(report.seconds),
            "Seed": str(report.seed),
            "Versions": ", ".join(f"{name} {version}" for name, version in report.versions.items()),
        }
    )
