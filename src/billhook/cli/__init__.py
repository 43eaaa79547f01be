"""The command line: one module per sub-command.

Nothing is imported here, and little by `billhook` itself: Ctrl-C is Python's own, with its traceback, only until
`start` is called.
"""

TYPE_CHECKING = False  # as in typing, which takes longer to import than all that comes before Ctrl-C is ours
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main", "start"]


def start() -> int:
    """Run the command of the process; return its exit status. Ctrl-C ends it at any moment, with 130."""
    import os

    def leave(*_: object) -> None:
        os.write(2, b"billhook: interrupted; nothing was written\n")
        os._exit(130)

    try:
        # What Python has loaded already: of an interruption while a module is imported, it may only tell, and go on.
        import _signal  # type: ignore[import-not-found]  # of C, without types

        if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
            _signal.signal(_signal.SIGINT, leave)
        from billhook.cli import _interrupt

        _interrupt.install(leave)
    except KeyboardInterrupt:
        leave()
    from billhook.cli._main import run_process

    return run_process()


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Run a command; return 0, or after saying what is wrong 2, or 3 if a tool has to be installed."""
    from billhook.cli._main import run_command

    return run_command(arguments)
