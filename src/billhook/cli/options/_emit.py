import argparse
from typing import Any

from billhook.cli.options._command import Command
from billhook.cli.options._help import HelpFormatter, examples


def add_to(commands: Any) -> None:
    """Add `billhook emit`."""
    parser = commands.add_parser(
        "emit",
        allow_abbrev=False,
        help="write a model as a C project, or for another runtime",
        description="Pack a saved forest into few bytes, and write it as a C project that tests itself, as a blob, "
        "or as a project around a program that reads blobs.",
        epilog=examples(
            "billhook emit forest.bhk --out c",
            "billhook emit forest.bhk --out c --target arduino-uno --optimize speed",
            "billhook emit forest.bhk --out c --target 'blue pill' --package platformio,zephyr",
            "billhook emit forest.bhk --out c --leaf-bits 6 --table test.csv --label kind",
            "billhook emit forest.bhk --out web --runtime web",
            "billhook emit forest.bhk --blob model.bhm",
            "billhook emit targets.json --outputs all --out c",
            "billhook emit height.bhk width.bhk --out c",
        ),
        formatter_class=HelpFormatter,
    )
    parser.add_argument(
        "models",
        metavar="MODEL",
        nargs="+",
        help="a model file: a forest, a packed one, or one of another library; several are outputs of one project",
    )
    parser.add_argument(
        "--outputs",
        choices=("all",),
        help="all: write every output of a model that predicts several at once, in one project",
    )
    parser.add_argument("--out", metavar="DIR", help="the folder to write a project to")
    parser.add_argument(
        "--runtime",
        metavar="NAME",
        help="write a project around a program that reads any blob: c, micropython, rust or web",
    )
    parser.add_argument("--blob", metavar="FILE", help="write the model as a blob, which such programs read")
    parser.add_argument("--target", help="see `billhook targets` (default: generic)")
    parser.add_argument("--name", help="prefix of all names in C (default: model)")
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
    parser.add_argument("--no-names", action="store_true", help="leave names of classes and features out")
    parser.add_argument(
        "--package",
        metavar="KINDS",
        help="make the project a package for cmake, esp-idf, platformio, zephyr, or several, comma-separated",
    )
    parser.add_argument(
        "--table", metavar="TABLE", help="rows to round the leaf values with, and to compare predictions on"
    )
    parser.add_argument("--label", metavar="COLUMN", help="the column of TABLE to predict")
    parser.add_argument("--force", action="store_true", help="replace files")
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
