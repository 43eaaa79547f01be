from typing import Any

from billhook.cli.options._command import Command
from billhook.cli.options._help import HelpFormatter

SHELLS = ("bash", "zsh", "fish")
INSTALL = """examples:
  bash   eval "$(billhook completion bash)"          in ~/.bashrc
  zsh    eval "$(billhook completion zsh)"           in ~/.zshrc, after compinit
  fish   billhook completion fish | source           in ~/.config/fish/config.fish"""


def add_to(commands: Any) -> None:
    """Add `billhook completion`."""
    parser = commands.add_parser(
        "completion",
        allow_abbrev=False,
        help="make the shell complete commands and options",
        description="Print a script that makes a shell complete commands, options, their values and files.",
        epilog=INSTALL,
        formatter_class=HelpFormatter,
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")
    parser.set_defaults(run=Command("completion"))
