from typing import Any

from billhook.cli.options._command import Command
from billhook.cli.options._help import HelpFormatter, examples
from billhook.cli.options._model import add_model_and_table, add_out


def add_to(commands: Any) -> None:
    """Add `billhook merge`."""
    parser = commands.add_parser(
        "merge",
        allow_abbrev=False,
        help="shrink a forest to a size by merging leaves",
        description="Merge the sibling leaves of a saved forest that matter least, over all trees together, and "
        "refine the values of the others, until the forest fits.",
        epilog=examples("billhook merge forest.bhk train.csv --label kind --size 64KB --out small.bhk"),
        formatter_class=HelpFormatter,
    )
    add_model_and_table(parser, "rows to learn from")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--leaves", type=int, metavar="N", help="how many leaves the forest may have in all")
    target.add_argument("--size", metavar="SIZE", help="or how large it may be as the paper counts, as 64KB")
    parser.add_argument(
        "--loss",
        help="cross_entropy, mse or squared_hinge for classification; mse, huber, absolute or quantile_0.9 for "
        "regression; poisson for counts",
    )
    parser.add_argument("--l2", type=float, help="L2 penalty on the leaf values, in rows (default: 1 or 5)")
    add_out(parser, "the merged forest")
    parser.set_defaults(run=Command("merge"))
