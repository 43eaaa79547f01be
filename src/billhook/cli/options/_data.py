from typing import Any

from billhook.cli.options._command import Command


def add_to(commands: Any) -> None:
    """Add `billhook data`."""
    parser = commands.add_parser(
        "data",
        help="list and download the data sets of the paper",
        description="List and download the data sets of the paper.",
    )
    parser.set_defaults(run=lambda _: parser.print_help())
    actions = parser.add_subparsers(title="actions", metavar="ACTION")
    listing = actions.add_parser("list", help="list the data sets, and where they are")
    listing.set_defaults(run=Command("data", "run_list"))
    fetching = actions.add_parser(
        "fetch",
        allow_abbrev=False,
        help="download data sets",
        description="Download data sets from OpenML and UCI to the user's cache. Those that are here are left alone.",
    )
    fetching.add_argument("names", nargs="*", metavar="NAME", help="see `billhook data list`")
    fetching.add_argument("--all", action="store_true", help="all data sets")
    fetching.add_argument("--force", action="store_true", help="download again what is here")
    fetching.add_argument(
        "--timeout", type=float, default=30.0, metavar="S", help="seconds to wait for a server (default: %(default)g)"
    )
    fetching.set_defaults(run=Command("data", "run_fetch"))
