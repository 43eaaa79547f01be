import argparse

from billhook.cli._tables import print_table
from billhook.codegen import targets


def run(_: argparse.Namespace) -> None:
    """Print a table of the targets."""
    headings = ("target", "processor", "flash", "RAM", "MHz")
    rows = []
    for target in targets():
        sizes = (f"{number:,}" if number else "" for number in (target.flash, target.ram, target.clock))
        rows.append((target.name, target.family, *sizes))
    print_table(headings, rows, numbers=headings[2:])
