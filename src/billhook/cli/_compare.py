import argparse
import sys

from billhook.cli import _interrupt
from billhook.cli._messages import as_options
from billhook.cli._progress import ProgressDisplay
from billhook.cli._tables import print_table
from billhook.inspection import ComparedModel, ModelComparison, compare, measure_text


def run(arguments: argparse.Namespace) -> None:
    """Print a table with a line for each model."""
    if len(arguments.models) < 2:
        raise ValueError(
            f"two models or more are compared, and a table comes last: `billhook compare {arguments.models[0]} OTHER "
            f"{arguments.table}`"
        )
    with _interrupt.stoppable(), ProgressDisplay("comparing", unit="models") as display:
        found = compare(arguments.models, arguments.table, arguments.label, target=arguments.target, progress=display)
    for note in found.notes:
        print(as_options(note), file=sys.stderr)
    names = list(dict.fromkeys(name for model in found.models for name in model.measures))
    agreement = "agrees" if found.task == "classification" else "differs by"
    headings = ("model", "bytes", "trees", "leaves", *names, agreement, "flash", "cycles", "instructions")
    print_table(headings, [_cells(model, names, found) for model in found.models], numbers=headings[1:])
    if found.task == "classification":
        print(f"agrees: the share of the {found.n_rows:,} rows that get the class that {found.models[0].name} says.")
    else:
        print(f"differs by: root mean squared difference from what {found.models[0].name} says.")


def _cells(model: ComparedModel, names: list[str], found: ModelComparison) -> tuple[str, ...]:
    def count(number: int | None) -> str:
        return "" if number is None else f"{number:,}"

    return (
        model.name,
        count(model.nbytes),
        count(model.n_trees),
        count(model.n_leaves),
        *(measure_text(name, model.measures[name]) if name in model.measures else "" for name in names),
        f"{model.agreement:.2%}" if found.task == "classification" else f"{model.agreement:.4g}",
        count(model.flash),
        count(model.cycles),
        count(model.instructions),
    )
