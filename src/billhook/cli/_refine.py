import argparse
import sys
import time
from typing import Any

from billhook.cli import _interrupt
from billhook.cli._model import add_model_and_table, add_out, compare, option, read, read_rows
from billhook.cli._progress import ProgressBar
from billhook.refinement import RefinementOptions, refine

# Options that have an argument of their own.
OWN = {"loss", "solver", "epochs", "l2", "step_size", "batch_size", "validation", "validation_fraction"}


def add_to(commands: Any) -> None:
    """Add `billhook refine`."""
    parser = commands.add_parser(
        "refine",
        allow_abbrev=False,
        help="learn the leaf values of a forest again, together",
        description="Learn the leaf values of a saved forest again so that their sum fits the labels of a table. "
        "The size stays. Without a gain on held-out rows, the forest is written as it was.",
    )
    add_model_and_table(parser, "rows to learn from")
    parser.add_argument(
        "--loss",
        help="cross_entropy, mse or squared_hinge for classification; mse, huber or absolute for regression; poisson "
        "for counts; or auto",
    )
    parser.add_argument("--solver", default="bcd", help="bcd or sgd (default: %(default)s)")
    parser.add_argument("--epochs", type=int, help="most passes over the rows (default: 20 for bcd, 50 for sgd)")
    parser.add_argument(
        "--l2", type=float, help="L2 penalty on the leaf values, in rows (default: the best of several)"
    )
    parser.add_argument("--step-size", type=float, default=0.1, help="of sgd (default: %(default)s)")
    parser.add_argument("--batch-size", type=int, default=128, help="of sgd (default: %(default)s)")
    validation = parser.add_mutually_exclusive_group()
    validation.add_argument("--validation", metavar="TABLE", help="validation rows, to see whether refinement helps")
    validation.add_argument(
        "--validation-fraction",
        type=float,
        default=0.15,
        metavar="SHARE",
        help="else the share of the rows to hold out; 0 refines in any case (default: %(default)s)",
    )
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="other options of refine")
    parser.add_argument("--seed", type=int, default=0, help="seed of the held-out rows (default: %(default)s)")
    parser.add_argument("--threads", type=int, metavar="N", help="threads that look up leaves (default: 1)")
    add_out(parser, "the refined forest")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Refine a saved forest, write the result, and print what it gained."""
    options = dict(option(text) for text in arguments.option)
    for name in set(options) & OWN:
        raise ValueError(f"use --{name.replace('_', '-')} for {name}, not --option")
    RefinementOptions.check_names(options, ["refit"])
    if arguments.threads is not None and arguments.threads < 1:
        raise ValueError(f"--threads must be at least 1, not {arguments.threads}")
    forest, X, y = read(arguments)
    tables = [(arguments.table, X, y)]
    if arguments.validation is not None:
        tables.append((arguments.validation, *read_rows(arguments.validation, arguments.label, forest)))
    bar = ProgressBar(sys.stderr)
    start = time.perf_counter()
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
    compare(forest, refined, tables)
    if report.validation is not None:
        name = "error" if forest.classes is not None else "loss"
        best = report.validation[report.n_passes]
        print(f"{name + ' held out':18}{report.validation[0]:>14.4g}{best:>14.4g}")
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
