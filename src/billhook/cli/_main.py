import argparse
import sys
from collections.abc import Sequence
from subprocess import SubprocessError

from billhook.cli import _data, _emit, _fit, _measure, _merge, _methods, _prune, _refine, _study, _targets
from billhook.cli._messages import as_options
from billhook.codegen import MissingToolError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 0, or after saying what is wrong 2, or 3 if a tool has to be installed."""
    parser = argparse.ArgumentParser(prog="billhook", description="Shrinks tree ensembles to fit.")
    parser.add_argument("--version", action="version", version=f"billhook {_version()}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in (_fit, _prune, _refine, _merge, _emit, _measure, _methods, _targets, _data, _study):
        command.add_to(commands)
    given = parser.parse_args(arguments)
    if not hasattr(given, "run"):
        parser.print_help()
        return 0
    try:
        given.run(given)
    except MissingToolError as error:
        print(f"billhook: {error}", file=sys.stderr)
        return 3
    except (OSError, ValueError, TypeError, ImportError, RuntimeError, SubprocessError) as error:
        print(f"billhook: {as_options(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("billhook: interrupted; nothing was written", file=sys.stderr)
        return 130
    return 0


def _version() -> str:
    from billhook import __version__

    return __version__
