from typing import Any

from billhook.cli.options._command import Command
from billhook.cli.options._help import HelpFormatter, examples
from billhook.cli.options._model import ANY_MODEL, add_fill_missing


def add_to(commands: Any) -> None:
    """Add `billhook predict`."""
    parser = commands.add_parser(
        "predict",
        allow_abbrev=False,
        help="predict the rows of a table",
        description="Predict each row of a table, however large it is, and write the predictions as a table: to the "
        "terminal, or to a file.",
        epilog=examples(
            "billhook predict model new.csv",
            "billhook predict model new.csv --proba --out predictions.csv",
            "billhook predict model.bhk new.parquet --out predictions.parquet",
        ),
        formatter_class=HelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help=ANY_MODEL)
    parser.add_argument("table", metavar="TABLE", help="rows to predict: CSV, Parquet or ARFF")
    parser.add_argument("--proba", action="store_true", help="write the probability of each class too")
    parser.add_argument(
        "--out", default="-", metavar="FILE", help="a .csv or .parquet file to write (default: -, the terminal)"
    )
    parser.add_argument("--force", action="store_true", help="replace FILE if it is there")
    parser.add_argument(
        "--label", metavar="COLUMN", help="a column to leave out, for models that know no names of columns"
    )
    add_fill_missing(parser)
    parser.set_defaults(run=Command("predict"))
