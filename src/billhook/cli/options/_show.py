from typing import Any

from billhook.cli.options._command import Command
from billhook.cli.options._help import HelpFormatter, examples
from billhook.cli.options._model import ANY_MODEL


def add_to(commands: Any) -> None:
    """Add `billhook show`."""
    parser = commands.add_parser(
        "show",
        allow_abbrev=False,
        help="what is in a model: its bytes, its columns, its trees",
        description="Print what a model is, where its bytes go, which columns it looks at and how much they matter, "
        "and which targets hold it.",
        epilog=examples(
            "billhook show model",
            "billhook show model.bhk --tree 0",
            "billhook show model test.csv --label kind --html model.html",
        ),
        formatter_class=HelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help=ANY_MODEL)
    parser.add_argument("table", nargs="?", metavar="TABLE", help="rows on which to see how much each column matters")
    parser.add_argument("--label", metavar="COLUMN", help="the column of TABLE to predict; -1 is the last one")
    parser.add_argument(
        "--tree", type=int, action="append", default=[], metavar="N", help="draw tree N, from 0; -1 is the last one"
    )
    parser.add_argument("--depth", type=int, metavar="D", help="how deep to draw it")
    parser.add_argument("--columns", type=int, default=15, metavar="N", help="how many to print (default: 15)")
    parser.add_argument("--html", metavar="FILE", help="write a page instead")
    parser.add_argument("--force", action="store_true", help="replace FILE if it is there")
    parser.set_defaults(run=Command("show"))
