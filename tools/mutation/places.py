"""One small change of the source that can be made."""

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """What can be changed, and where it stands; `key` stays the same when other parts of the file change."""

    folder: str
    file: str
    index: int
    kind: str
    key: str
    lines: tuple[int, ...]
    statement: tuple[int, ...]
    function: int | None = None

    def rank(self, seed):
        """Return a random number that is the same for the same seed."""
        return hashlib.sha256(f"{seed} {self.key}".encode()).digest()
