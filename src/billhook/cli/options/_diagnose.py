from typing import Any

from billhook.cli.options._command import Command
from billhook.cli.options._help import HelpFormatter, examples


def add_to(commands: Any) -> None:
    """Add `billhook diagnose`."""
    parser = commands.add_parser(
        "diagnose",
        allow_abbrev=False,
        help="whether pruning can help a forest, and what makes it smaller best",
        description="Test every tree of a forest: is the mean of the others any worse? Then truncate, prune, refine "
        "and merge on half of the rows, print the accuracy of each on the other half over its bytes, and which "
        "command to type next.",
        epilog=examples("billhook diagnose forest.bhk held_out.csv --label kind"),
        formatter_class=HelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help="a saved forest, or a model file of another library")
    parser.add_argument(
        "table", metavar="TABLE", help="rows that the forest was not trained on: CSV, Parquet or ARFF"
    )
    parser.add_argument("--label", required=True, metavar="COLUMN", help="the column to predict; -1 is the last one")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the halves of the rows (default: 0)")
    parser.set_defaults(run=Command("diagnose"))
