"""How the help of a command is laid out."""

import argparse

EXAMPLES = "examples:\n"


class HelpFormatter(argparse.HelpFormatter):
    """Fills paragraphs, and leaves examples as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith(EXAMPLES) else super()._fill_text(text, width, indent)


def examples(*commands: str) -> str:
    """Return the end of a command's help."""
    return EXAMPLES + "\n".join(f"  {command}" for command in commands)
