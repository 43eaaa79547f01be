import argparse
import sys
import time
from typing import Any

from billhook.cli import _interrupt
from billhook.cli._model import add_model_and_table, add_out, compare, option, read, read_rows
from billhook.cli._progress import ProgressBar
from billhook.refinement import refinement_report

# What has an argument of its own.
OWN = {"loss", "solver", "epochs", "l2", "step_size", "batch_size", "validation", "validation_fraction"}


def add_to(commands: Any) -> None:
    """Add `billhook refine`."""
    parser = commands.add_parser(
        "refine",
        allow_abbrev=False,
        help="learn the leaf values of a forest again, together",
        description="Learn the leaf values of a saved forest again so that their sum fits the labels of a table. "
        "The size stays. Without a gain on the validation rows, the forest is written as it was.",
    )
    add_model_and_table(parser, "rows to learn from")
    parser.add_argument("--loss", help="cross_entropy, mse, squared_hinge; mse, huber, absolute; poisson; or auto")
    parser.add_argument("--solver", default="bcd", help="bcd or sgd (default: %(default)s)")
    parser.add_argument("--epochs", type=int, help="most passes over the rows (default: 20 for bcd, 50 for sgd)")
    parser.add_argument("--l2", type=float, help="pull on the leaf values, in rows (default: tried out)")
    parser.add_argument("--step-size", type=float, default=0.1, help="of sgd (default: %(default)s)")
    parser.add_argument("--batch-size", type=int, default=128, help="of sgd (default: %(default)s)")
    judged = parser.add_mutually_exclusive_group()
    judged.add_argument("--validation", metavar="TABLE", help="other rows that decide whether refinement helps")
    judged.add_argument(
        "--validation-fraction",
        type=float,
        default=0.15,
        metavar="SHARE",
        help="else this share of the rows decides; 0 refines without asking (default: %(default)s)",
    )
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="another of refine's")
    parser.add_argument("--seed", type=int, default=0, help="for the rows held out (default: %(default)s)")
    parser.add_argument("--threads", type=int, metavar="N", help="that look up leaves (default: 1)")
    add_out(parser, "the refined forest")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Read, refine, write, and say what it brought."""
    options = dict(option(text) for text in given.option)
    for name in set(options) & OWN:
        raise ValueError(f"use --{name.replace('_', '-')} for {name}, not --option")
    if given.threads is not None and given.threads < 1:
        raise ValueError(f"--threads must be at least 1, not {given.threads}")
    forest, X, y = read(given)
    tables = [(given.table, X, y)]
    if given.validation is not None:
        tables.append((given.validation, *read_rows(given.validation, given.label, forest)))
    bar = ProgressBar(sys.stderr)
    start = time.perf_counter()
    report = refinement_report(
        forest,
        X,
        y,
        loss=given.loss,
        solver=given.solver,
        epochs=given.epochs,
        l2=given.l2,
        step_size=given.step_size,
        batch_size=given.batch_size,
        validation=tables[1][1:] if given.validation is not None else None,
        validation_fraction=given.validation_fraction,
        random_state=given.seed,
        n_jobs=given.threads,
        progress=lambda done, steps, loss: bar(done, steps, f"loss {loss:.4g}"),
        **options,
    )
    seconds = time.perf_counter() - start
    compare(forest, report.forest, tables)
    if report.validation is not None:
        name = "error" if forest.classes is not None else "loss"
        best = report.validation[report.n_passes]
        print(f"{name + ' held out':18}{report.validation[0]:>14.4g}{best:>14.4g}")
    if report.n_passes == 0:
        print("No pass was surely better on the validation rows: the forest is as it was.")
    if report.judged_by == "rows it was grown on":
        print("The rows look like those the forest was grown on, which flatter it: only strong l2 were tried.")
        print("Other rows to judge by (--validation) may allow for more.")
    strength = f", l2 {report.l2:g}" if given.solver == "bcd" else ""
    passes = "1 pass" if report.n_passes == 1 else f"{report.n_passes} passes"
    how = f"{report.loss}, {given.solver}, {passes}{strength}, {seconds:.1f} s"
    _interrupt.finish()
    report.forest.save(given.out)
    print(f"Wrote {given.out} ({how}).")
