import argparse
import time

from billhook.cli import _interrupt
from billhook.cli._model import check_seed, compare, option, read, read_rows
from billhook.cli._progress import ProgressDisplay
from billhook.forest import Forest
from billhook.refinement import RefinementOptions, RefinementReport, refine

# Options that have an argument of their own.
OWN = {"loss", "solver", "epochs", "l2", "step_size", "batch_size", "validation", "validation_fraction"}


def run(arguments: argparse.Namespace) -> None:
    """Refine a saved forest, write the result, and print what it gained."""
    options = dict(option(text) for text in arguments.option)
    for name in set(options) & OWN:
        raise ValueError(f"use --{name.replace('_', '-')} for {name}, not --option")
    RefinementOptions.check_names(options, ["refit"])
    if arguments.threads is not None and arguments.threads < 1:
        raise ValueError(f"--threads must be at least 1, not {arguments.threads}")
    check_seed(arguments.seed)
    forest, X, y = read(arguments)
    tables = [(arguments.table, X, y)]
    if arguments.validation is not None:
        tables.append((arguments.validation, *read_rows(arguments.validation, arguments.label, forest)))
    start = time.perf_counter()
    with ProgressDisplay("refining", unit="passes") as bar:
        refined, report = refine(
            forest,
            X,
            y,
            loss=arguments.loss,
            solver=arguments.solver,
            epochs=arguments.epochs,
            l2=arguments.l2,
            step_size=arguments.step_size,
            batch_size=arguments.batch_size,
            validation=tables[1][1:] if arguments.validation is not None else None,
            validation_fraction=arguments.validation_fraction,
            random_state=arguments.seed,
            n_jobs=arguments.threads,
            progress=lambda done, steps, loss: bar(done, steps, f"loss {loss:.4g}"),
            return_report=True,
            **options,
        )
    seconds = time.perf_counter() - start
    compare(forest, refined, tables, _held_out(forest, report))
    if report.n_passes == 0:
        print("No pass was clearly better on the held-out rows: the forest is as it was.")
    if report.validated_on == "training rows":
        print("The rows look like those the forest was trained on, on which it does better than on new ones:")
        print("only strong L2 penalties were tried. Other rows (--validation) may allow for more.")
    strength = f", l2 {report.l2:g}" if arguments.solver == "bcd" else ""
    passes = "1 pass" if report.n_passes == 1 else f"{report.n_passes} passes"
    summary = f"{report.loss}, {arguments.solver}, {passes}{strength}, {seconds:.1f} s"
    _interrupt.finish()
    refined.save(arguments.out)
    print(f"Wrote {arguments.out} ({summary}).")


def _held_out(forest: Forest, report: RefinementReport) -> list[tuple[str, str, str, str]]:
    """Return the line on the held-out rows, if there are any."""
    if report.validation is None:
        return []
    name = "held-out error" if forest.classes is not None else "held-out loss"
    return [(name, f"{report.validation[0]:.4g}", f"{report.validation[report.n_passes]:.4g}", "")]
