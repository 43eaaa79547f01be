from typing import Any

from billhook.cli.options._command import Command
from billhook.cli.options._help import HelpFormatter, examples
from billhook.cli.options._model import add_model_and_table, add_out


def add_to(commands: Any) -> None:
    """Add `billhook prune`."""
    parser = commands.add_parser(
        "prune",
        allow_abbrev=False,
        help="keep the best trees of a forest",
        description="Keep the trees of a saved forest that a pruning method selects on the rows of a table.",
        epilog=examples(
            "billhook prune forest.bhk rows.csv --label y --trees 16 --out small.bhk",
            "billhook prune forest.bhk rows.csv --label y --trees 16 --method drep --option rho=0.3 --out small.bhk",
        ),
        formatter_class=HelpFormatter,
    )
    add_model_and_table(parser, "rows to evaluate the trees on")
    parser.add_argument("--trees", required=True, type=int, metavar="K", help="how many trees to keep")
    parser.add_argument("--method", default="reduced_error", help="see `billhook methods` (default: %(default)s)")
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="one of the method's own options"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of methods that draw (default: %(default)s)")
    add_out(parser, "the pruned forest")
    parser.set_defaults(run=Command("prune"))
