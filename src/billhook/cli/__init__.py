"""The command line: one module per sub-command."""

from billhook.cli._main import main, start

__all__ = ["main", "start"]
