from typing import Any

from billhook.cli.options._command import Command
from billhook.cli.options._emit import add_packing
from billhook.cli.options._help import HelpFormatter, examples


def add_to(commands: Any) -> None:
    """Add `billhook measure`."""
    parser = commands.add_parser(
        "measure",
        allow_abbrev=False,
        help="compile a model for a target and run it in its emulator",
        description="Compile a model for a target, run rows of a table in its emulator, and print what that took.",
        epilog=examples(
            "billhook measure model.bhk test.csv --target arduino-uno",
            "billhook measure model.bhk test.csv --target all --layout compact --rows 10",
        ),
        formatter_class=HelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help="a model file: packed, or a forest, which is packed")
    parser.add_argument(
        "table", metavar="TABLE", help="rows to run: CSV, Parquet or ARFF; other columns do not matter"
    )
    parser.add_argument("--target", required=True, help="see `billhook targets`; or all")
    parser.add_argument("--label", metavar="COLUMN", help="a column to leave out")
    parser.add_argument("--layout", default="all", metavar="NAME", help="compact, balanced, fast or all (default)")
    parser.add_argument("--inputs", default="float", metavar="KIND", help="float (default), int16 or uint8")
    add_packing(parser)
    parser.add_argument(
        "--rows", type=int, default=50, metavar="N", help="most rows to run in an emulator (default: %(default)s)"
    )
    parser.set_defaults(run=Command("measure"))
