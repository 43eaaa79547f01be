from typing import Any

from billhook.cli.options._command import Command


def add_to(commands: Any) -> None:
    """Add `billhook targets`."""
    parser = commands.add_parser(
        "targets",
        help="list the targets that a model can be written for",
        description="List the targets that a model can be written for, with the bytes of their memory.",
    )
    parser.set_defaults(run=Command("targets"))
