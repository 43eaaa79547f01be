from typing import Any

from billhook.cli.options._command import Command
from billhook.cli.options._help import HelpFormatter, examples


def add_to(commands: Any) -> None:
    """Add `billhook compare`."""
    parser = commands.add_parser(
        "compare",
        allow_abbrev=False,
        help="two models or more on the same rows",
        description="Print for each model how good it is on the rows of a table, how large, how often it predicts "
        "the same as the first one, and on a target how many cycles a row takes.",
        epilog=examples(
            "billhook compare forest.bhk small.bhk test.csv --label kind",
            "billhook compare model1 model2 test.csv --label kind --target arduino-uno",
        ),
        formatter_class=HelpFormatter,
    )
    parser.add_argument(
        "models", nargs="+", metavar="MODEL", help="model files of any kind, or folders of fits; two at least"
    )
    parser.add_argument("table", metavar="TABLE", help="rows to predict: CSV, Parquet or ARFF")
    parser.add_argument("--label", metavar="COLUMN", help="the column to predict; without it they are not scored")
    parser.add_argument("--target", metavar="NAME", help="compile and run them for this one: see `billhook targets`")
    parser.set_defaults(run=Command("compare"))
