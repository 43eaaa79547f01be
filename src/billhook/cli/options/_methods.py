from typing import Any

from billhook.cli.options._command import Command


def add_to(commands: Any) -> None:
    """Add `billhook methods`."""
    parser = commands.add_parser(
        "methods",
        help="list the pruning methods",
        description="List the pruning methods of `billhook prune`, with their options and defaults.",
    )
    parser.set_defaults(run=Command("methods"))
