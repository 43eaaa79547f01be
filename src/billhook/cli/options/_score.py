from typing import Any

from billhook.cli.options._command import Command
from billhook.cli.options._help import HelpFormatter, examples
from billhook.cli.options._model import ANY_MODEL, add_fill_missing


def add_to(commands: Any) -> None:
    """Add `billhook score`."""
    parser = commands.add_parser(
        "score",
        allow_abbrev=False,
        help="how well a model does on rows whose answers are known",
        description="Print how well a model does on the rows of a table: accuracy, balanced accuracy, log loss and "
        "the confusion matrix; or R2 and errors.",
        epilog=examples("billhook score model test.csv --label kind"),
        formatter_class=HelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help=ANY_MODEL)
    parser.add_argument("table", metavar="TABLE", help="rows to predict: CSV, Parquet or ARFF")
    parser.add_argument("--label", required=True, metavar="COLUMN", help="the column to predict; -1 is the last one")
    add_fill_missing(parser)
    parser.set_defaults(run=Command("score"))
