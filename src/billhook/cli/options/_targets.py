from typing import Any

from billhook.cli.options._command import Command
from billhook.cli.options._help import HelpFormatter, examples


def add_to(commands: Any) -> None:
    """Add `billhook targets`."""
    parser = commands.add_parser(
        "targets",
        allow_abbrev=False,
        help="list the targets that a model can be written for",
        description="List the targets that a model can be written for, or show one of them.",
        epilog=examples("billhook targets", "billhook targets 'blue pill'"),
        formatter_class=HelpFormatter,
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="a target to show, by any of its names")
    parser.set_defaults(run=Command("targets"))
