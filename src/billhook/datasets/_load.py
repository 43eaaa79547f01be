"""The paper's data sets by name."""

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from billhook.datasets._catalogue import Entry, OpenML, entry_of
from billhook.datasets._convert import table_of_openml, table_of_uci, write_parquet
from billhook.datasets._data_set import DataSet
from billhook.datasets._download import (
    UCI,
    DownloadedFile,
    DownloadError,
    DownloadProgress,
    address,
    description_of,
    download,
    mirrored,
)
from billhook.datasets._locate import cache_folder, find, searched_folders
from billhook.datasets._prepare import RowChoice, prepare, rows_asked
from billhook.tables import Table, read_features


class FetchedDataSet(NamedTuple):
    """A data set that was downloaded: its file, the data, and what came from the server."""

    path: Path
    data: DataSet
    downloaded: DownloadedFile


def load(name: str, *, rows: RowChoice = "paper", download: bool = True) -> DataSet:
    """Return one of the paper's data sets.

    It is looked for as NAME.parquet in the folder $BILLHOOK_DATA, then in the user's cache; then it is downloaded
    from OpenML or UCI and kept in the cache.

    Rows with missing values are removed, and categorical columns are one-hot encoded; what the paper does
    otherwise for some sets, `notes` says. So it does where numbers of rows or classes differ from those printed.

    Parameters
    ----------
    name : str
        See `names`.
    rows : {"paper", "all"}
        The rows behind the paper's numbers (of mnist 6,000 and 1,000, of magic all but the first), or all.
    download : bool
        Whether to download it if it is not here.
    """
    entry = entry_of(name)
    which = rows_asked(rows)
    present = find(entry.name)
    if present is not None:
        return _read(entry, present.path, which)
    if not download:
        raise FileNotFoundError(f"{entry.name} is not here. {_what_to_do(entry)}")
    try:
        path = fetch(entry.name).path
    except DownloadError as error:
        raise FileNotFoundError(
            f"{entry.name} is not here and cannot be downloaded: {error}. {_what_to_do(entry)}"
        ) from error
    return _read(entry, path, which)


def fetch(
    name: str, *, timeout: float = 30.0, tries: int = 3, progress: DownloadProgress | None = None
) -> FetchedDataSet:
    """Download one of the paper's data sets to the cache, in place of what is there; return what came.

    After an error all is as it was.

    Parameters
    ----------
    name : str
        See `names`.
    timeout : float
        Seconds that a server may be silent.
    tries : int
        How often to try if a server fails, is silent or breaks off.
    progress : callable, optional
        Called with the bytes that have come and the bytes in all.
    """
    entry = entry_of(name)
    _check_extra()
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".billhook-", dir=folder) as temporary:
        file, downloaded, description = _downloaded(entry, Path(temporary), timeout, tries, progress)
        try:
            table = _table_of(entry, file, description)
            data = prepare(entry, table, "all")
        except ValueError as error:
            raise DownloadError(f"{downloaded.url} is not the paper's {entry.name}: {error}") from error
        path = folder / f"{entry.name}.parquet"
        write_parquet(table, path, downloaded)
    return FetchedDataSet(path, data, downloaded)


def _check_extra() -> None:
    """Raise ImportError if data sets cannot be downloaded or written."""
    try:
        import pooch  # noqa: F401 - whether it can be imported
        import pyarrow.parquet  # noqa: F401 - as above
    except ImportError:
        raise ImportError(
            "data sets are downloaded by pooch and kept as Parquet files: pip install 'billhook[study]'"
        ) from None


def _read(entry: Entry, path: Path, rows: RowChoice) -> DataSet:
    try:
        table = read_features(path, "label")
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read: {error}. If it is damaged, remove it, and run `billhook data fetch {entry.name}`"
        ) from error
    try:
        return prepare(entry, table, rows)
    except ValueError as error:
        raise ValueError(
            f"{path} is not the paper's {entry.name}: {error}. For a table of your own there is load_table"
        ) from error


def _downloaded(
    entry: Entry, folder: Path, timeout: float, tries: int, progress: DownloadProgress | None
) -> tuple[Path, DownloadedFile, dict[str, Any]]:
    """Return the file, what came from the server, and OpenML's description."""
    origin = entry.origin
    if not isinstance(origin, OpenML):
        path = folder / f"{entry.name}.zip"
        downloaded = download(
            address(UCI, origin.path), path, sha256=origin.sha256, timeout=timeout, tries=tries, progress=progress
        )
        return path, downloaded, {}
    description = description_of(origin.id, folder, timeout=timeout, tries=tries)
    path = folder / f"{entry.name}.arff"
    downloaded = download(
        mirrored(description["url"]),
        path,
        md5=description.get("md5_checksum"),
        timeout=timeout,
        tries=tries,
        progress=progress,
    )
    return path, downloaded, description


def _table_of(entry: Entry, path: Path, description: dict[str, Any]) -> Table:
    if not isinstance(entry.origin, OpenML):
        return table_of_uci(entry, path, entry.origin)
    dropped = [*_list(description.get("row_id_attribute")), *_list(description.get("ignore_attribute"))]
    return table_of_openml(entry, path, description["default_target_attribute"], dropped)


def _list(names: object) -> list[str]:
    """Return the names in a field of OpenML: none, one, several with commas, or a list."""
    if isinstance(names, list):
        return list(map(str, names))
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else []


def _what_to_do(entry: Entry) -> str:
    return (
        f"It was looked for as {entry.name}.parquet in {searched_folders()}. On a machine with a network, run "
        f"`billhook data fetch {entry.name}`, and copy that file to one of these folders"
    )
