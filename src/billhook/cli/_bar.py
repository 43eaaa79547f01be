"""The bar that a terminal shows; apart from the rest, so that rich is imported only when there is one."""

import time
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

from billhook.cli._progress import duration

BAR_WIDTH = 12
# Back to the start of the line, nothing in it, and a cursor to be seen.
CLEAN_LINE = "\r\x1b[K\x1b[?25h"


class _TimeLeft(ProgressColumn):
    """Counts down to the end that was foreseen last."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        left = -1.0 if task.fields["end"] is None else task.fields["end"] - time.monotonic()
        return Text("" if left < 0.0 else f"{duration(left)} left")


class Bar:
    """A line at the bottom of a terminal, drawn by a thread: the one that works is not kept from working."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        shrinking = Column(no_wrap=True, overflow="ellipsis", ratio=1)
        self.progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(BAR_WIDTH),
            TextColumn("{task.percentage:>3.0f}%", markup=False),
            _TimeLeft(Column(no_wrap=True)),
            TextColumn("{task.fields[text]}", markup=False, table_column=shrinking),
            console=Console(file=out, highlight=False, markup=False, emoji=False),
            transient=True,
            redirect_stdout=False,
            expand=True,
        )
        self.task = self.progress.add_task("", total=1.0, end=None, text="")

    def show(self, doing: str, share: float, amount: str, left: float | None, note: str) -> None:
        """Show how far the work has come."""
        end = None if left is None or share >= 1.0 else time.monotonic() + left
        text = "; ".join(part for part in (note, amount) if part)
        self.progress.update(self.task, completed=share, description=doing, end=end, text=text)
        if not self.progress.live.is_started:
            self.progress.start()

    def end(self) -> None:
        """Leave an empty line and the cursor as they were, whatever comes in between."""
        try:
            self.progress.stop()
        finally:
            self.out.write(CLEAN_LINE)
            self.out.flush()
