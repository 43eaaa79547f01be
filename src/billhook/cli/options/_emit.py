import argparse
from typing import Any

from billhook.cli.options._command import Command
from billhook.cli.options._help import HelpFormatter, examples


def add_to(commands: Any) -> None:
    """Add `billhook emit`."""
    parser = commands.add_parser(
        "emit",
        allow_abbrev=False,
        help="write a model as a C project",
        description="Pack a saved forest into few bytes, and write it as a C project that tests itself.",
        epilog=examples(
            "billhook emit forest.bhk --out c",
            "billhook emit forest.bhk --out c --target arduino-uno --optimize speed",
            "billhook emit forest.bhk --out c --leaf-bits 6 --table test.csv --label kind",
        ),
        formatter_class=HelpFormatter,
    )
    parser.add_argument(
        "model", metavar="MODEL", help="a model file: a forest, a packed one, or one of another library"
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="the folder to write to")
    parser.add_argument("--target", default="generic", help="see `billhook targets` (default: %(default)s)")
    parser.add_argument("--name", default="model", help="prefix of all names in C (default: %(default)s)")
    add_packing(parser)
    layout = parser.add_mutually_exclusive_group()
    layout.add_argument("--layout", metavar="NAME", help="compact (few bytes, the default), balanced or fast")
    layout.add_argument(
        "--optimize", choices=("size", "speed"), help="size: compact; speed: the fastest that fits the target"
    )
    parser.add_argument(
        "--inputs",
        metavar="KINDS",
        help="types of the features: float, int16, uint8, or several, comma-separated (default: all; float if fast)",
    )
    parser.add_argument(
        "--table", metavar="TABLE", help="rows to round the leaf values with, and to compare predictions on"
    )
    parser.add_argument("--label", metavar="COLUMN", help="the column of TABLE to predict")
    parser.add_argument("--force", action="store_true", help="replace files in DIR")
    parser.set_defaults(run=Command("emit"))


def add_packing(parser: argparse.ArgumentParser) -> None:
    """Add the options of packing."""
    parser.add_argument("--threshold-bits", metavar="N", help="bits of a threshold, 2 to 16, or exact (default: 8)")
    parser.add_argument("--leaf-bits", type=int, metavar="N", help="bits of a leaf value, 2 to 16 (default: 8)")
    parser.add_argument(
        "--codebook", type=int, metavar="N", help="number of different leaves, for more than two classes"
    )
    parser.add_argument(
        "--scales", metavar="S", help="scales of leaf values: one (default), or class, one for each class"
    )
    parser.add_argument(
        "--no-missing-values", action="store_true", help="rows have no missing values: saves a bit a split"
    )
