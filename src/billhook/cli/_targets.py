import argparse
from typing import Any

from billhook.codegen import targets


def add_to(commands: Any) -> None:
    """Add `billhook targets`."""
    parser = commands.add_parser("targets", help="list the targets that a model can be written for")
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> None:
    """Print a table of the targets."""
    print(f"{'target':20}{'processor':12}{'flash':>12}{'RAM':>10}{'MHz':>6}")
    for target in targets():
        flash, ram, clock = (f"{number:,}" if number else "" for number in (target.flash, target.ram, target.clock))
        print(f"{target.name:20}{target.family:12}{flash:>12}{ram:>10}{clock:>6}".rstrip())
