"""Text files: opened whether compressed or not, and told from what is no text."""

import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from billhook._deadline import check_time
from billhook._progress import is_shown, tell_progress

GZIP = b"\x1f\x8b"
SAMPLE = 2**16
MEGABYTE = 10**6
BINARY = {
    b"PK\x03\x04": "a zip file or a spreadsheet; save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet; save the sheet as CSV",
    b"\xff\xfe": "text in UTF-16; save it in UTF-8",
    b"\xfe\xff": "text in UTF-16; save it in UTF-8",
    b"\x89HDF": "an HDF file; save the table as CSV or Parquet",
    b"BILLHOOK": "a Billhook model, not a text file or a table",
}


@contextmanager
def opened(path: Path) -> Iterator[TextIO]:
    """Open a text file in UTF-8, which may be compressed; what is wrong with it is a ValueError that names it."""
    with path.open("rb") as raw:
        is_gzip = raw.read(2) == GZIP
        raw.seek(0)
        binary = gzip.GzipFile(fileobj=raw) if is_gzip else raw
        with io.TextIOWrapper(binary, "utf-8-sig", newline="") as file:
            try:
                yield file
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{path} is not a text file in UTF-8 (byte {error.object[error.start]:#04x}); "
                    "if it is text, save it in UTF-8"
                ) from None
            except (gzip.BadGzipFile, zlib.error, EOFError) as error:
                raise ValueError(f"{path} is a damaged .gz file: {error}") from None
            except csv.Error as error:
                raise ValueError(f"{path} cannot be read as a table: {error}; is a quote not closed?") from None


def tell_how_far(path: Path, file: TextIO) -> None:
    """Tell how much of an opened file has been read, of a compressed one too."""
    if not is_shown():
        return
    binary: Any = file.buffer
    done, total = getattr(binary, "fileobj", binary).tell(), path.stat().st_size
    amount = f"{done / MEGABYTE:,.1f} of {total / MEGABYTE:,.1f} MB"
    tell_progress(f"reading {path.name}", done, total, amount)


def about_n_lines(path: Path) -> int | None:
    """Return about how many lines a text file has, from those at its beginning; None for a compressed one."""
    with path.open("rb") as raw:
        begin = raw.read(SAMPLE)
    if begin.startswith(GZIP):
        return None
    return max(begin.count(b"\n") * path.stat().st_size // max(len(begin), 1), 1)


def has_comma(path: Path) -> bool:
    """Return whether there is a comma anywhere in a text file."""
    with opened(path) as file:
        for text in iter(partial(file.read, SAMPLE), ""):
            check_time()
            if "," in text:
                return True
    return False


def sample_of(path: Path) -> str:
    """Return the whole lines at the beginning of a text file, or say why it is none."""
    with path.open("rb") as raw:
        begin = raw.read(8)
    for magic, what in BINARY.items():
        if begin.startswith(magic):
            raise ValueError(f"{path} is {what}")
    with opened(path) as file:
        sample = file.read(SAMPLE)
    if "\0" in sample:
        raise ValueError(f"{path} is not a text file: it has null bytes")
    if not sample.strip():
        raise ValueError(f"{path} is empty: there are no rows below a line of names")
    end = sample.rfind("\n")
    return sample if len(sample) < SAMPLE or end < 0 else sample[: end + 1]
