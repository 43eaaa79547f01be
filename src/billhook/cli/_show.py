import argparse
import sys
from pathlib import Path

from billhook.cli import _interrupt
from billhook.cli._messages import as_options
from billhook.cli._progress import ProgressDisplay
from billhook.cli._tables import bar_text, print_fields, print_table
from billhook.forest import count_of
from billhook.inspection import ModelDescription, ProjectionUse, describe, fitting_text, measure_text

WIDTH = 20


def run(arguments: argparse.Namespace) -> None:
    """Print what a model is, or write a page."""
    _check(arguments)
    with ProgressDisplay("permuting", unit="columns") as display:
        description = describe(
            arguments.model,
            arguments.table,
            arguments.label,
            trees=tuple(arguments.tree),
            max_depth=arguments.depth,
            progress=display,
        )
    if arguments.html is not None:
        _interrupt.finish()
        description.save(arguments.html, title=Path(arguments.model).name)
        print(f"Wrote {arguments.html}.")
        return
    for note in description.notes:
        print(as_options(note), file=sys.stderr)
    if description.trees:
        _print_trees(description)
    else:
        _print_all(description, arguments)


def _check(arguments: argparse.Namespace) -> None:
    """Refuse options that do not go together, before anything is read."""
    if arguments.label is not None and arguments.table is None:
        raise ValueError("--label is a column of a table: `billhook show MODEL TABLE --label COLUMN`")
    if arguments.depth is not None and not arguments.tree:
        raise ValueError("--depth says how deep to draw a tree: name one with --tree N")
    if arguments.columns < 1:
        raise ValueError(f"--columns must be at least 1, not {arguments.columns}")
    if arguments.html is None and arguments.force:
        raise ValueError("--force replaces the file of --html: name one")
    if arguments.html is not None and Path(arguments.html).exists() and not arguments.force:
        raise FileExistsError(f"{arguments.html} is there already; --force replaces it")


def _print_trees(description: ModelDescription) -> None:
    for place, (number, drawing) in enumerate(description.trees.items()):
        if len(description.trees) > 1:
            print(f"{'' if place == 0 else chr(10)}tree {number}:")
        print(drawing)
    asked = [
        use for use in description.projections if any(_asks(drawing, use) for drawing in description.trees.values())
    ]
    if asked:
        print()
        _print_sums(asked)


def _print_all(description: ModelDescription, arguments: argparse.Namespace) -> None:
    fields = [(f"{name[0].lower()}{name[1:]}", text) for name, text in description.facts.items()]
    fields += [(name, measure_text(name, value)) for name, value in description.measures.items()]
    fields.append(("fits", fitting_text(description)))
    print_fields([field for field in fields if field[1]])
    if description.nbytes is not None:
        print(f"\n{description.nbytes:,} bytes by part:")
        rows = [
            (part.name, bar_text(part.nbytes / max(description.nbytes, 1), WIDTH), f"{part.nbytes:,}", part.about)
            for part in description.parts
        ]
        print_table(("part", "", "bytes", "what it holds"), rows, numbers=("bytes",))
    if description.columns:
        _print_columns(description, arguments.columns)
    if description.projections:
        _print_projections(description, arguments.columns)
    print(f"\n`billhook show {arguments.model} --tree 0` draws its first tree.")


def _asks(drawing: str, use: ProjectionUse) -> bool:
    """Whether a split of a drawn tree asks for a projection."""
    return f": {use.name} <=" in drawing or drawing.startswith(f"{use.name} <=")


def _print_projections(description: ModelDescription, most: int) -> None:
    """Print the projections that matter most."""
    projections = sorted(description.projections, key=lambda use: -use.gain)
    print(f"\n{count_of(len(projections), 'projection')}, each the sum of how often the codes of features count:")
    rows = [(use.name, f"{use.gain:.1%}", f"{use.n_splits:,}", str(use)) for use in projections[:most]]
    print_table(("projection", "gain", "splits", "sum of"), rows, numbers=("gain", "splits"))
    if len(projections) > most:
        print(f"... and {len(projections) - most:,} more: --columns {len(projections)} prints all.")


def _print_sums(projections: list[ProjectionUse]) -> None:
    """Print what projections that a tree asks for are sums of."""
    rows = [(use.name, str(use)) for use in projections]
    print_table(("projection", "sum of the codes of"), rows, numbers=())


def _print_columns(description: ModelDescription, most: int) -> None:
    """Print the columns that matter most."""
    print(f"\n{len(description.columns):,} of {description.n_columns:,} columns are in use:")
    losses = "R2 lost" if "R2" in description.measures else "accuracy lost"
    headings = ("column", "", "gain", "splits", losses)
    rows = [
        (
            use.name,
            bar_text(use.gain, WIDTH),
            f"{use.gain:.1%}",
            f"{use.n_splits:,}",
            "" if use.permutation is None else f"{use.permutation:+.4f}",
        )
        for use in description.columns[:most]
    ]
    print_table(headings, rows, numbers=headings[2:])
    n_more = len(description.columns) - most
    if n_more > 0:
        print(f"... and {n_more:,} more: --columns {len(description.columns)} prints all.")
    if description.gain_from == "halves":
        print("The gain takes each side of a split to have half of its rows; with TABLE it counts the rows of it.")
    if description.measures:
        print(f"{losses}: how much is lost when the cells of the column change places.")
