from typing import Any

from billhook.cli.options._command import Command
from billhook.cli.options._help import HelpFormatter, examples
from billhook.cli.options._model import add_out


def add_to(commands: Any) -> None:
    """Add `billhook convert`."""
    parser = commands.add_parser(
        "convert",
        allow_abbrev=False,
        help="turn a model of another library into a model file, or a model file into ONNX or treelite",
        description="Read a model file of any library that Billhook knows, and write it as a forest, or for ONNX or "
        "treelite. What a file is, is seen from what is in it. Pickles are never opened.",
        epilog=examples(
            "billhook convert lightgbm.txt --out forest.bhk",
            "billhook convert forest.bhk --to onnx --out forest.onnx",
        ),
        formatter_class=HelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help="a model file of Billhook or of another library")
    parser.add_argument(
        "--to", choices=("billhook", "onnx", "treelite"), default="billhook", help="what to write (default: billhook)"
    )
    parser.add_argument(
        "--output",
        type=int,
        metavar="K",
        help="which output of a model that predicts several at once, from 0: each is a forest of its own",
    )
    add_out(parser, "the model")
    parser.set_defaults(run=Command("convert"))
