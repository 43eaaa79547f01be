"""Where the files of data sets are."""

import os
import sys
from pathlib import Path
from typing import Literal, NamedTuple

FOLDER = "BILLHOOK_DATA"


class Place(NamedTuple):
    """Where a data set is: its file, and whether that lies in $BILLHOOK_DATA or in the cache."""

    path: Path
    kind: Literal["$BILLHOOK_DATA", "cache"]


def cache_folder() -> Path:
    """Return the folder of downloaded data sets, which may not be there yet."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "billhook" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "billhook"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "billhook"


def find(name: str) -> Place | None:
    """Return where the file of a data set is; None if it is neither in $BILLHOOK_DATA nor in the cache."""
    given = os.environ.get(FOLDER)
    if given and (path := Path(given) / f"{name}.parquet").is_file():
        return Place(path, "$BILLHOOK_DATA")
    path = cache_folder() / f"{name}.parquet"
    return Place(path, "cache") if path.is_file() else None


def looked_in() -> str:
    """Return where `find` looks, in words."""
    given = os.environ.get(FOLDER)
    if not given:
        first = f"${FOLDER} (which is not set)"
    else:
        first = f"${FOLDER} ({given}{'' if Path(given).is_dir() else ', which is no folder'})"
    return f"{first} and the cache ({cache_folder()})"
