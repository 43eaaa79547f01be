import time
from typing import TextIO


class ProgressBar:
    """A bar on a terminal for work that takes longer than a moment; nothing where the output is not a terminal."""

    def __init__(self, out: TextIO, patience: float = 0.5) -> None:
        self.out = out
        self.patience = patience
        self.start = time.monotonic()
        self.shown = False

    def __call__(self, done: int, steps: int, note: str = "") -> None:
        elapsed = time.monotonic() - self.start
        if not self.out.isatty() or (elapsed < self.patience and not self.shown):
            return
        self.shown = True
        left = elapsed / done * (steps - done)
        full = 30 * done // steps
        self.out.write(f"\r[{'#' * full}{'.' * (30 - full)}] {done:,} of {steps:,}, {left:.0f} s left  {note:24.24}")
        if done == steps:
            self.out.write("\r" + " " * 100 + "\r")
        self.out.flush()
