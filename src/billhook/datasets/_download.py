"""Files from servers: complete and with the right checksum, or not at all."""

import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

MIRROR = "BILLHOOK_MIRROR"
OPENML = "https://www.openml.org"
UCI = "https://archive.ics.uci.edu"
BLOCK = 2**16
# Descriptions of data sets have some kilobytes.
MOST_DESCRIPTION = 2**24
# Seconds between one try and the next.
PAUSE = 2.0
# Checksums are those of files that are not compressed on their way.
HEADERS = {"User-Agent": "billhook", "Accept-Encoding": "identity"}

DownloadProgress = Callable[[int, int], None]


class DownloadError(OSError):
    """A file that could not be downloaded, or is not what it should be."""


class DownloadedFile(NamedTuple):
    """A file as it was downloaded: its address, size and checksums; and the checksum it was compared with, if any."""

    url: str
    n_bytes: int
    md5: str
    sha256: str
    compared: str | None


class _TransientError(DownloadError):
    """A failure that may not come again."""


class _ReportedBytes:
    """What pooch takes for a progress bar: it calls a function with the bytes that have come and the bytes in all.

    `total` is None until the server answers, and 0 if the answer does not say how many bytes there are.
    """

    def __init__(self, progress: DownloadProgress | None) -> None:
        self.progress = progress
        self.total: int | None = None
        self.n_bytes = 0

    def update(self, n_bytes: int) -> None:
        self.n_bytes += n_bytes  # the last block counts as a whole one
        if self.progress is not None and self.total:
            self.progress(min(self.n_bytes, self.total), self.total)

    def reset(self) -> None:
        self.n_bytes = 0

    def close(self) -> None:
        pass


def address(server: str, path: str) -> str:
    """Return the address of a file on a server, or on the one that $BILLHOOK_MIRROR names in its place."""
    return f"{(os.environ.get(MIRROR) or server).rstrip('/')}/{path.lstrip('/')}"


def mirrored(url: str) -> str:
    """Return an address that a server gave, on $BILLHOOK_MIRROR if that is set."""
    if not os.environ.get(MIRROR):
        return url
    parts = urlsplit(url)
    return address("", parts.path + (f"?{parts.query}" if parts.query else ""))


def description_of(number: int, folder: Path, *, timeout: float, tries: int) -> dict[str, Any]:
    """Return what OpenML says of a data set: its address, checksum, format, column to predict, and more.

    The description is written to a file in the folder.
    """
    url, path = address(OPENML, f"api/v1/json/data/{number}"), folder / f"{number}.json"
    download(url, path, timeout=timeout, tries=tries)
    try:
        with path.open("rb") as file:
            description = json.loads(file.read(MOST_DESCRIPTION))["data_set_description"]
        is_whole = isinstance(description["url"], str) and isinstance(description["default_target_attribute"], str)
    except (ValueError, KeyError, TypeError):
        is_whole = False
    if not is_whole:
        raise DownloadError(f"{url} does not give the address and the column to predict of a data set of OpenML")
    return dict(description)


def download(
    url: str,
    path: Path,
    *,
    md5: str | None = None,
    sha256: str | None = None,
    timeout: float = 30.0,
    tries: int = 3,
    progress: DownloadProgress | None = None,
) -> DownloadedFile:
    """Download a file to `path`; DownloadError if it is not complete or its checksum differs.

    Parameters
    ----------
    url : str
    path : Path
        Where to write. After an error an incomplete file may be there.
    md5, sha256 : str, optional
        Checksums that the file must have.
    timeout : float
        Seconds that a server may be silent.
    tries : int
        How often to try if a server fails, is silent or breaks off.
    progress : callable, optional
        Called with the bytes that have come and the bytes in all, if the server says how many these are.
    """
    _try_to_receive(url, path, timeout, tries, progress)
    with path.open("rb") as file:
        md5_of_file = hashlib.file_digest(file, "md5").hexdigest()
        file.seek(0)
        sha256_of_file = hashlib.file_digest(file, "sha256").hexdigest()
        downloaded = DownloadedFile(url, file.tell(), md5_of_file, sha256_of_file, None)
    for kind, expected, actual in (("md5", md5, downloaded.md5), ("sha256", sha256, downloaded.sha256)):
        if expected is not None and expected.lower() != actual:
            raise DownloadError(
                f"{url} has the {kind} checksum {actual}, not {expected.lower()}: the file is damaged or was replaced"
            )
        if expected is not None:
            downloaded = downloaded._replace(compared=kind)
    return downloaded


def _try_to_receive(url: str, path: Path, timeout: float, tries: int, progress: DownloadProgress | None) -> None:
    """Write what a server sends to a file, and try again after failures that may pass."""
    for left in range(tries - 1, -1, -1):
        try:
            return _receive(url, path, timeout, progress)
        except _TransientError as error:
            if not left:
                raise DownloadError(str(error)) from error.__cause__
        time.sleep(PAUSE)
    raise ValueError(f"tries must be at least 1, not {tries}")


def _receive(url: str, path: Path, timeout: float, progress: DownloadProgress | None) -> None:
    from pooch import HTTPDownloader
    from requests import HTTPError, RequestException

    if urlsplit(url).scheme not in ("http", "https"):  # a server must not point to files of this machine
        raise DownloadError(f"{url!r} is not an address of the web")
    reported = _ReportedBytes(progress)
    fetch = HTTPDownloader(progressbar=reported, chunk_size=BLOCK, timeout=timeout, headers=HEADERS)
    try:
        fetch(url, str(path), None)
    except HTTPError as error:
        answer = error.response
        assert answer is not None
        kind = _TransientError if answer.status_code >= 500 else DownloadError
        raise kind(f"{url} answers {answer.status_code} {answer.reason}") from error
    except RequestException as error:
        what = "cannot be reached" if reported.total is None else "broke off"
        # What is wrong with an address, that of a redirection too, is so the next time.
        kind = DownloadError if isinstance(error, ValueError) else _TransientError
        raise kind(f"{url} {what}{_why(error, timeout)}") from error


def _why(error: BaseException, timeout: float) -> str:
    """Return the reason behind an error that others wrap, in words."""
    while error.__context__ is not None:
        error = error.__context__
    if isinstance(error, TimeoutError):
        return f": no answer within {timeout:g} seconds"
    if hasattr(error, "partial") and hasattr(error, "expected"):  # urllib3's IncompleteRead
        return f" after {error.partial:,} of {error.partial + error.expected:,} bytes"
    return f": {error}"
