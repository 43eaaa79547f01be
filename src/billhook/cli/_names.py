"""The name that files and functions of C begin with."""

import sys

from billhook.codegen import check_name, identifier


def check_and_say_name(name: str) -> None:
    """Refuse a name that is none, and say what C has instead of one that it cannot have."""
    check_name(name)
    if identifier(name) != name:
        print(
            f"--name {name!r} is no name in C: files and functions are called {identifier(name)!r}", file=sys.stderr
        )
