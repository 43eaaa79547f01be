"""How far a fit has come: a line on a terminal, and what Ctrl-C may do by then."""

import shutil
import sys
from typing import Self

from billhook.budget import Search
from billhook.cli import _interrupt


class FitProgress:
    """Shows how much of the time or the trials is gone, and the best model so far; nothing without a terminal."""

    def __init__(self, *, time_limit: float, n_trials: int | None) -> None:
        self.time_limit, self.n_trials = time_limit, n_trials
        self.out = sys.stderr
        self.width = 0

    def __call__(self, search: Search) -> None:
        if search.is_built:
            _interrupt.finish()
        elif search.best(search.budgets[-1]) is not None:
            # There is something to write: an interruption ends the search, not the command.
            _interrupt.can_stop()
        if not self.out.isatty():
            return
        clock, n_trials = search.clock, self.n_trials
        share = search.n_done / n_trials if n_trials else clock.seconds / self.time_limit
        full = int(24 * min(share, 1.0))
        best = search.best(search.budgets[-1])
        so_far = "" if best is None else f"; best so far {best.score:.4f} in {best.nbytes:,} bytes"
        done = (
            f"{search.n_done} of {n_trials} trials" if n_trials else f"{clock.seconds:.0f} s, {search.n_done} trials"
        )
        line = f"[{'#' * full}{'.' * (24 - full)}] {search.stage}: {done}{so_far}"
        line = line[: shutil.get_terminal_size().columns - 1]
        self.out.write("\r" + line + " " * (self.width - len(line)))
        self.out.flush()
        self.width = len(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.width:
            self.out.write("\r" + " " * self.width + "\r")
            self.out.flush()
