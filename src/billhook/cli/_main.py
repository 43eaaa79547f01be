import io
import os
import sys
from collections.abc import Sequence

from billhook._out_of_memory import is_out_of_memory
from billhook.cli import _interrupt

# That of a program ended by SIGPIPE.
PIPE_STATUS = 141
OUT_OF_MEMORY = "memory ran out: fewer jobs, rows or columns need less, and `ulimit -v` says whether there is a limit"


def run_process() -> int:
    """Run the command of the process; return its exit status."""
    for stream in (sys.stdout, sys.stderr):  # a pipe on Windows does not take every letter of a label
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() != "utf-8":
            stream.reconfigure(errors="backslashreplace")
    try:
        status = run_command()
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads what is printed has read enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_STATUS
    finally:
        _interrupt.finish()
    return status


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status, after saying what is wrong if something is."""
    from billhook.cli.options import parser_of_all

    parser = parser_of_all()
    parsed = parser.parse_args(arguments)
    if not hasattr(parsed, "run"):
        parser.print_help()
        return 0
    try:
        parsed.run(parsed)
    except (Exception, KeyboardInterrupt) as error:
        return _say(error)
    return 0


def _say(error: BaseException) -> int:
    """Say what is wrong, and return the exit status; an error that should not be is raised."""
    if not isinstance(error, KeyboardInterrupt) and is_out_of_memory(error):  # then nothing more can be imported
        print(f"billhook: {OUT_OF_MEMORY} ({_text(error) or type(error).__name__})", file=sys.stderr)
        return 2
    from subprocess import SubprocessError

    from billhook._interruption import is_interruption
    from billhook.cli._messages import as_options
    from billhook.codegen import MissingToolError

    if is_interruption(error):
        print(_interrupt.NOTHING_WRITTEN, file=sys.stderr)
        return _interrupt.STATUS
    if isinstance(error, BrokenPipeError):
        raise error
    if not isinstance(error, OSError | ValueError | TypeError | ImportError | RuntimeError | SubprocessError):
        raise error
    print(f"billhook: {as_options(_text(error))}", file=sys.stderr)
    return 3 if isinstance(error, MissingToolError) else 2


def _text(error: BaseException) -> str:
    """Return what an error says; of the system's errors, the file and the reason, without their number."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)
