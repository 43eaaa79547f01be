from typing import Any

from billhook.cli.options._command import Command
from billhook.cli.options._help import HelpFormatter, examples

# The names of `analysis.SIZES`, which takes long to import.
SIZES = ("paper", "as_published", "packed")


def add_to(commands: Any) -> None:
    """Add `billhook study`."""
    parser = commands.add_parser(
        "study",
        help="run the paper's experiments, or your own, and compare methods",
        description="Run the paper's experiments, or your own, and compare methods.",
        epilog=examples(
            "billhook study list",
            "billhook study run paper --data magic --folds 2 --out results",
            "billhook study run paper --data magic --folds 2 --out results --resume",
            "billhook study status results",
            "billhook study report results --out report.html",
        ),
        formatter_class=HelpFormatter,
    )
    parser.set_defaults(run=lambda _: parser.print_help())
    actions = parser.add_subparsers(title="actions", metavar="ACTION")
    listing = actions.add_parser("list", help="list the studies that come with Billhook")
    listing.set_defaults(run=Command("study", "run_list"))
    _add_run(actions)
    state = actions.add_parser("status", help="show how far a study has come, and where its time went")
    state.add_argument("folder", metavar="DIR", help="the folder that it runs in")
    state.set_defaults(run=Command("study", "run_status"))
    for name, what, made in (
        ("report", "write a page to look at: which method is best at each model size", "the page, as report.html"),
        ("tables", "write all tables (CSV, LaTeX) and figures (PNG, PDF)", "the folder to write to"),
    ):
        writing = actions.add_parser(name, allow_abbrev=False, help=what)
        writing.add_argument("folder", metavar="DIR", help="the folder that the study ran in")
        writing.add_argument("--out", required=True, metavar="PATH", help=made)
        writing.add_argument("--size", choices=SIZES, default="paper", help="how bytes are counted (default: paper)")
        writing.set_defaults(run=Command("study", f"run_{name}"))


def _add_run(actions: Any) -> None:
    parser = actions.add_parser(
        "run",
        allow_abbrev=False,
        help="run a study; if it was interrupted, go on",
        description="Run a study. Runs are written as they finish: interrupted, even killed, it then goes on.",
        epilog=examples(
            "billhook study run paper --out results",
            "billhook study run own.toml --methods RF RE --jobs 4 --out results",
            "billhook study run own.toml --out results --resume",
        ),
        formatter_class=HelpFormatter,
    )
    parser.add_argument("study", metavar="STUDY", help="a TOML file, or a name of `billhook study list`")
    parser.add_argument("--out", required=True, metavar="DIR", help="the folder for the results")
    parser.add_argument("--data", nargs="+", metavar="NAME", help="only these data sets of the study")
    parser.add_argument("--methods", nargs="+", metavar="LABEL", help="only these methods of the study")
    parser.add_argument("--folds", type=int, metavar="N", help="other than in the file")
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="processes (default: one a core)")
    parser.add_argument("--backend", choices=("local", "dask"), help="processes here (default), or a Dask cluster")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of the Dask cluster, as tcp://10.0.0.1:8786")
    parser.add_argument(
        "--worker-timeout", type=float, metavar="S", help="seconds to wait where there is no worker (default: 600)"
    )
    parser.add_argument("--memory-limit", metavar="SIZE", help="for all processes together, as 8GB")
    parser.add_argument("--time-limit", type=float, metavar="S", help="seconds that a single run may take")
    parser.add_argument("--resume", action="store_true", help="go on; an error if there is nothing to go on with")
    parser.add_argument("--retry", action="store_true", help="make runs again that failed or took too long")
    parser.add_argument("--skip-missing", action="store_true", help="leave out data sets that cannot be found")
    parser.add_argument("--any-version", action="store_true", help="go on with results of other versions")
    parser.set_defaults(run=Command("study", "run_run"))
