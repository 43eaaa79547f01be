"""The description of a model as a page, and as a piece of a notebook."""

from typing import TYPE_CHECKING, NamedTuple

from billhook.html import Head, render

if TYPE_CHECKING:
    from billhook.inspection._describe import ModelDescription

PACKAGE = "billhook.inspection"
MOST_COLUMNS, MOST_IN_NOTEBOOK = 100, 10
GAIN_FROM = {
    "rows": "Gain: the share of a column in what the splits tell apart on these rows.",
    "training rows": "Gain: the share of a column in what the splits told apart on the training rows.",
    "halves": "Gain: the share of a column in what the splits tell apart, if each side of a split has half of its "
    "rows; with a table of rows it counts these.",
}


ABOUT_PROJECTIONS = "Splits ask for weighted sums of the codes of features, counted from 0, as for a feature."


class BarRow(NamedTuple):
    """A line of a table with a bar: its name, its words, and how long the bar is, from 0 to 1."""

    name: str
    cells: tuple[str, ...]
    share: float


def page(description: "ModelDescription", title: str) -> str:
    """Return the description of a model as an HTML page."""
    return render(
        PACKAGE,
        "describe.html",
        title=title,
        description=description,
        facts=description.facts | _measures(description),
        parts=_parts(description),
        part_heads=(Head("part"), Head("bytes", is_number=True), Head("share"), Head("what it holds")),
        columns=_columns(description, MOST_COLUMNS),
        column_heads=_column_heads(description),
        n_more=max(len(description.columns) - MOST_COLUMNS, 0),
        about_columns=_about_columns(description),
        projections=_projections(description, MOST_COLUMNS),
        projection_heads=(Head("projection"), Head("gain"), Head("splits", is_number=True), Head("the sum of")),
        about_projections=ABOUT_PROJECTIONS,
        n_more_projections=max(len(description.projections) - MOST_COLUMNS, 0),
        target_heads=(
            Head("target"),
            Head("fits"),
            Head("share of flash"),
            Head("used", is_number=True),
            Head("flash", is_number=True),
        ),
        fitting=fitting_text(description),
    )


def notebook_text(description: "ModelDescription") -> str:
    """Return the description of a model as a small table with bars, which needs no style sheet."""
    return render(
        PACKAGE,
        "notebook.html",
        description=description,
        facts=description.facts | _measures(description) | {"Fits": fitting_text(description)},
        parts=_parts(description),
        columns=_columns(description, MOST_IN_NOTEBOOK),
        n_more=max(len(description.columns) - MOST_IN_NOTEBOOK, 0),
    ).rstrip("\n")


def fitting_text(description: "ModelDescription") -> str:
    """Return which targets hold the model, in a sentence without its subject."""
    n_targets, fitting = len(description.targets), [target for target in description.targets if target.fits]
    if not n_targets:
        return ""
    if len(fitting) == n_targets:
        smallest = min(fitting, key=lambda target: target.flash)
        return f"all {n_targets} targets with a known flash size, from {smallest.name} up"
    if not fitting:
        largest = max(description.targets, key=lambda target: target.flash)
        return f"none of the {n_targets} targets; {largest.name} has {largest.flash:,} bytes of flash"
    without = [target.name for target in description.targets if not target.fits]
    others = ", ".join(without[:6]) + (f" and {len(without) - 6} more" if len(without) > 6 else "")
    return f"{len(fitting)} of {n_targets} targets, not {others}"


def measure_text(name: str, value: float) -> str:
    """Return a measure as it is printed: shares in percent."""
    return f"{value:.2%}" if "accuracy" in name else f"{value:.4g}"


def _measures(description: "ModelDescription") -> dict[str, str]:
    return {
        f"{name[0].upper()}{name[1:]} on these rows": measure_text(name, value)
        for name, value in description.measures.items()
    }


def _parts(description: "ModelDescription") -> list[BarRow]:
    total = max(sum(part.nbytes for part in description.parts), 1)
    return [BarRow(part.name, (f"{part.nbytes:,}", part.about), part.nbytes / total) for part in description.parts]


def _column_heads(description: "ModelDescription") -> list[Head]:
    heads = [Head("column"), Head("gain"), Head("splits", is_number=True)]
    return [*heads, Head("permutation", is_number=True)] if description.measures else heads


def _columns(description: "ModelDescription", most: int) -> list[BarRow]:
    return [
        BarRow(
            use.name,
            (f"{use.n_splits:,}", *(() if use.permutation is None else (f"{use.permutation:+.4f}",))),
            use.gain,
        )
        for use in description.columns[:most]
    ]


def _projections(description: "ModelDescription", most: int) -> list[BarRow]:
    return [BarRow(use.name, (f"{use.n_splits:,}", str(use)), use.gain) for use in description.projections[:most]]


def _about_columns(description: "ModelDescription") -> str:
    score = "R2" if "R2" in description.measures else "accuracy"
    lost = f" Permutation: how much {score} is lost when its cells change places." if description.measures else ""
    n_used, n_columns = len(description.columns), description.n_columns
    return f"{n_used:,} of {n_columns:,} columns are in use. {GAIN_FROM[description.gain_from]}{lost}"
