"""Files from servers: complete and with the right checksum, or not at all."""

import hashlib
import json
import os
import time
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

MIRROR = "BILLHOOK_MIRROR"
OPENML = "https://www.openml.org"
UCI = "https://archive.ics.uci.edu"
BLOCK = 2**16
# Descriptions of data sets have some kilobytes.
MOST_DESCRIPTION = 2**24
# Seconds between one try and the next.
PAUSE = 2.0

Progress = Callable[[int, int], None]
Result = TypeVar("Result")


class DownloadError(OSError):
    """A file that could not be downloaded, or is not what it should be."""


class Received(NamedTuple):
    """A file as it was downloaded: its address, size and checksums; and the checksum it was compared with, if any."""

    url: str
    n_bytes: int
    md5: str
    sha256: str
    compared: str | None


class _PassingError(DownloadError):
    """A failure that may not come again."""


def address(server: str, path: str) -> str:
    """Return the address of a file on a server, or on the one that $BILLHOOK_MIRROR names in its place."""
    return f"{(os.environ.get(MIRROR) or server).rstrip('/')}/{path.lstrip('/')}"


def mirrored(url: str) -> str:
    """Return an address that a server gave, on $BILLHOOK_MIRROR if that is set."""
    if not os.environ.get(MIRROR):
        return url
    parts = urlsplit(url)
    return address("", parts.path + (f"?{parts.query}" if parts.query else ""))


def description_of(number: int, *, timeout: float, tries: int) -> dict[str, Any]:
    """Return what OpenML says of a data set: its address, checksum, format, column to predict, and more."""
    url = address(OPENML, f"api/v1/json/data/{number}")

    def read() -> bytes:
        with _opened(url, timeout) as answer:
            return _whole(url, answer)

    try:
        said = json.loads(_tried(read, url, tries))["data_set_description"]
        is_whole = isinstance(said["url"], str) and isinstance(said["default_target_attribute"], str)
    except (ValueError, KeyError, TypeError):
        is_whole = False
    if not is_whole:
        raise DownloadError(f"{url} does not give the address and the column to predict of a data set of OpenML")
    return dict(said)


def download(
    url: str,
    path: Path,
    *,
    md5: str | None = None,
    sha256: str | None = None,
    timeout: float = 30.0,
    tries: int = 3,
    progress: Progress | None = None,
) -> Received:
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
    received = _tried(lambda: _received(url, path, timeout, progress), url, tries)
    for kind, expected, found in (("md5", md5, received.md5), ("sha256", sha256, received.sha256)):
        if expected is not None and expected.lower() != found:
            raise DownloadError(
                f"{url} has the {kind} checksum {found}, not {expected.lower()}: the file is damaged or was replaced"
            )
        if expected is not None:
            received = received._replace(compared=kind)
    return received


def _tried(action: Callable[[], Result], url: str, tries: int) -> Result:
    """Return what an action returns, which is tried again after failures that may pass."""
    for left in range(tries - 1, -1, -1):
        try:
            return action()
        except _PassingError as error:
            if not left:
                raise DownloadError(str(error)) from error.__cause__
        time.sleep(PAUSE)
    raise ValueError(f"tries must be at least 1, not {tries}, for {url}")


def _opened(url: str, timeout: float) -> HTTPResponse:
    if urlsplit(url).scheme not in ("http", "https"):  # a server must not point to files of this machine
        raise DownloadError(f"{url!r} is not an address of the web")
    try:
        answer: HTTPResponse = urlopen(Request(url, headers={"User-Agent": "billhook"}), timeout=timeout)
    except HTTPError as error:
        with error:
            kind = _PassingError if error.code >= 500 else DownloadError
            raise kind(f"{url} answers {error.code} {error.reason}") from error
    except (URLError, HTTPException, OSError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise _PassingError(f"{url} cannot be reached: {_words(reason, timeout)}") from error
    return answer


def _received(url: str, path: Path, timeout: float, progress: Progress | None) -> Received:
    md5, sha256, n_bytes = hashlib.md5(usedforsecurity=False), hashlib.sha256(), 0
    with _opened(url, timeout) as answer, path.open("wb") as file:
        expected = _length(answer)
        while block := _block(url, answer, timeout):
            file.write(block)
            md5.update(block)
            sha256.update(block)
            n_bytes += len(block)
            if progress is not None and expected is not None and n_bytes <= expected:
                progress(n_bytes, expected)
    if expected is not None and n_bytes != expected:
        raise _PassingError(f"{url} broke off after {n_bytes:,} of {expected:,} bytes")
    return Received(url, n_bytes, md5.hexdigest(), sha256.hexdigest(), None)


def _whole(url: str, answer: HTTPResponse) -> bytes:
    try:
        content = answer.read(MOST_DESCRIPTION)
    except (HTTPException, OSError) as error:
        raise _PassingError(f"{url} broke off: {error}") from error
    expected = _length(answer)
    if expected is not None and len(content) != expected:
        raise _PassingError(f"{url} broke off after {len(content):,} of {expected:,} bytes")
    return content


def _block(url: str, answer: HTTPResponse, timeout: float) -> bytes:
    try:
        return answer.read(BLOCK)
    except (HTTPException, OSError) as error:
        raise _PassingError(f"{url} broke off: {_words(error, timeout)}") from error


def _length(answer: HTTPResponse) -> int | None:
    length = answer.headers.get("Content-Length", "")
    return int(length) if length.isdecimal() else None


def _words(reason: object, timeout: float) -> str:
    return f"no answer within {timeout:g} seconds" if isinstance(reason, TimeoutError) else str(reason)
