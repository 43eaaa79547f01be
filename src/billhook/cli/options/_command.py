import argparse
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple


class Command(NamedTuple):
    """What a command does: a function of `cli`, imported when the command runs, with all that it needs."""

    module: str
    function: str = "run"

    def load(self) -> Callable[[argparse.Namespace], Any]:
        """Import the module and return the function."""
        function: Callable[[argparse.Namespace], Any] = getattr(
            import_module(f"billhook.cli._{self.module}"), self.function
        )
        return function

    def __call__(self, arguments: argparse.Namespace) -> None:
        """Run the command; its time begins before it is imported."""
        arguments.started = time.perf_counter()
        self.load()(arguments)
