from typing import Any

from billhook.cli.options._command import Command
from billhook.cli.options._help import HelpFormatter, examples
from billhook.cli.options._model import add_model_and_table, add_out


def add_to(commands: Any) -> None:
    """Add `billhook refine`."""
    parser = commands.add_parser(
        "refine",
        allow_abbrev=False,
        help="learn the leaf values of a forest again, together",
        description="Learn the leaf values of a saved forest again so that their sum fits the labels of a table. "
        "The size stays. Without a gain on held-out rows, the forest is written as it was.",
        epilog=examples(
            "billhook refine forest.bhk train.csv --label y --out better.bhk",
            "billhook refine forest.bhk train.csv --label y --validation others.csv --out better.bhk",
        ),
        formatter_class=HelpFormatter,
    )
    add_model_and_table(parser, "rows to learn from")
    parser.add_argument(
        "--loss",
        help="cross_entropy, mse or squared_hinge for classification; mse, huber, absolute or quantile_0.9 for "
        "regression; poisson for counts; or auto",
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
    parser.set_defaults(run=Command("refine"))
