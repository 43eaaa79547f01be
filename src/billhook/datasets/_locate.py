"""Where the files of data sets are."""

import os
import sys
from pathlib import Path
from typing import Literal, NamedTuple

FOLDER = "BILLHOOK_DATA"


class DataSetFile(NamedTuple):
    """The file of a data set, and whether it lies in $BILLHOOK_DATA or in the cache."""

    path: Path
    kind: Literal["$BILLHOOK_DATA", "cache"]


def cache_folder() -> Path:
    """Return the folder of downloaded data sets, which may not be there yet."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "billhook" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "billhook"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "billhook"


def find(name: str) -> DataSetFile | None:
    """Return the file of a data set; None if it is neither in $BILLHOOK_DATA nor in the cache."""
    folder = os.environ.get(FOLDER)
    if folder and (path := Path(folder) / f"{name}.parquet").is_file():
        return DataSetFile(path, "$BILLHOOK_DATA")
    path = cache_folder() / f"{name}.parquet"
    return DataSetFile(path, "cache") if path.is_file() else None


def searched_folders() -> str:
    """Return where `find` looks, in words."""
    folder = os.environ.get(FOLDER)
    if not folder:
        first = f"${FOLDER} (which is not set)"
    else:
        first = f"${FOLDER} ({folder}{'' if Path(folder).is_dir() else ', which is no folder'})"
    return f"{first} and the cache ({cache_folder()})"
