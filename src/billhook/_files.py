"""Files and folders that are written whole or not at all, and the container of model files.

The container is a JSON header and raw arrays, nothing that could run:

    magic      8 bytes   "BILLHOOK"
    version    4 bytes   little-endian, as all numbers here: 2 where a reader of 1 would miss something, else 1
    length     4 bytes   of the header
    checksum   4 bytes   CRC-32 of the header
    header               UTF-8 JSON: {"kind", "meta": {...}, "arrays": [{"name", "dtype", "shape", "crc32"}, ...]}
    arrays               one after the other, in the header's order, nothing between or behind them

The file's length is known before anything is read, the header's is limited, and every length in it is checked against
the file's before memory is taken.
"""

import errno
import json
import math
import os
import secrets
import shutil
import struct
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

MAGIC = b"BILLHOOK"
VERSIONS = (1, 2)
PREFIX = struct.Struct("<8sIII")
# Python's objects can take 30 times the memory of their JSON; names for a hundred thousand features fit ten times.
MAX_HEADER = 2**24
# How files and folders are called until they are whole.
TEMPORARY = ".billhook-"
DTYPES = ("|b1", "<i4", "<i8", "<f4", "<f8", "|u1", "<u2", "<u4", "<u8")


def check_file_name(path: str | os.PathLike[str]) -> None:
    """Refuse the empty name of a file to write."""
    if not os.fspath(path):
        raise ValueError("the name of the file to write is empty")


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file that takes the place of `path` at the end; after an error all is as it was.

    Parameters
    ----------
    path : path of a file
        Its folder must exist; a file there is replaced, and its permissions are kept.
    """
    check_file_name(path)
    target = Path(path).resolve()  # a link stays a link
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder; give the name of a file in it", str(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(target.parent))
    temporary = _temporary_in(target.parent)
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            temporary.chmod(target.stat().st_mode & 0o777)  # those of the file that is replaced
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


@contextmanager
def atomic_folder(
    path: str | os.PathLike[str], *, replace: bool = False, whole: Collection[str] = ()
) -> Iterator[Path]:
    """Make a temporary folder whose files take their places in `path` at the end; after an error all is as it was.

    Parameters
    ----------
    path : path of a folder
        The folder above it must exist. It is made if it does not exist.
    replace : bool
        Whether the folder may hold something already: then files of the same names are replaced, and others stay.
    whole : names
        Folders in it that are replaced as a whole: nothing stays in them.
    """
    if not os.fspath(path):
        raise ValueError("the name of the folder to write is empty: give '.' for this one")
    target = Path(path).resolve()
    if target.exists() and not target.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "this is a file; give the name of a folder", str(path))
    if holds_anything(target) and not replace:
        raise FileExistsError(errno.EEXIST, "the folder is not empty; force=True replaces files in it", str(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(target.parent))
    is_new = not target.exists()
    temporary = _temporary_in(target.parent if is_new else target)
    try:
        temporary.mkdir()
        yield temporary
        if is_new:
            temporary.rename(target)
        else:
            _move_all(temporary, target, whole)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def holds_anything(path: str | os.PathLike[str]) -> bool:
    """Return whether a folder is there and holds anything but what a process that was killed left in it."""
    folder = Path(path)
    return folder.is_dir() and any(not inside.name.startswith(TEMPORARY) for inside in folder.iterdir())


def _temporary_in(folder: Path) -> Path:
    return folder / f"{TEMPORARY}{secrets.token_hex(8)}"


def _move_all(source: Path, target: Path, whole: Collection[str]) -> None:
    """Move all files, and the folders in `whole`, to another folder; if one cannot be moved, move all back."""
    files = [path.relative_to(source) for path in sorted(source.rglob("*")) if path.is_file()]
    names = [name for name in files if name.parts[0] not in whole]
    names += [Path(name) for name in whole if (source / name).exists()]
    replaced = _temporary_in(source)
    moved: list[Path] = []
    try:
        for name in names:
            moved.append(name)
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            if (target / name).exists():
                (replaced / name).parent.mkdir(parents=True, exist_ok=True)
                (target / name).rename(replaced / name)
            (source / name).rename(target / name)
    except BaseException:
        for name in reversed(moved):
            if not (source / name).exists():
                (target / name).rename(source / name)
            if (replaced / name).exists():
                (replaced / name).rename(target / name)
        raise


class ModelFileError(ValueError):
    """A model file is damaged, made up, or from a version that this one cannot read."""


class Contents(NamedTuple):
    """What a file holds."""

    kind: str
    meta: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    version: int = 1


def write_container(path: str | PathLike[str], contents: Contents) -> None:
    """Write to a new file beside `path` and put it there when it is complete."""
    arrays = {
        name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")) for name, array in contents.arrays.items()
    }
    header = json.dumps(
        {
            "kind": contents.kind,
            "meta": contents.meta,
            "arrays": [
                {
                    "name": name,
                    "dtype": array.dtype.str,
                    "shape": array.shape,
                    "crc32": zlib.crc32(array.data),
                }
                for name, array in arrays.items()
            ],
        },
        allow_nan=False,
    ).encode()
    if len(header) > MAX_HEADER:
        raise ValueError(f"names and labels take {len(header):,} bytes, and a file holds at most {MAX_HEADER:,}")
    with atomic_write(path) as file:
        file.write(PREFIX.pack(MAGIC, contents.version, len(header), zlib.crc32(header)))
        file.write(header)
        for array in arrays.values():
            file.write(array.data)


def is_container(path: str | PathLike[str]) -> bool:
    """Return whether a file begins as the files of Billhook do; what is cut off before that is one too."""
    if os.path.isdir(path):
        return False
    with open(path, "rb") as file:
        return MAGIC.startswith(file.read(len(MAGIC)))


def read_container(path: str | PathLike[str]) -> Contents:
    """Read a file and check all that can be checked without knowing what it is for."""
    with open(path, "rb") as file:
        length = os.fstat(file.fileno()).st_size
        version, header = _read_header(file, length)
        try:
            kind, meta, entries = header["kind"], header["meta"], header["arrays"]
        except (KeyError, TypeError):
            raise ModelFileError("the header lacks kind, meta or arrays") from None
        if not isinstance(kind, str) or not isinstance(meta, dict) or not isinstance(entries, list):
            raise ModelFileError("kind, meta or arrays of the header is of the wrong type")
        arrays: dict[str, NDArray[Any]] = {}
        for entry in entries:
            name, array = _read_array(file, entry, length - file.tell())
            if name in arrays:
                raise ModelFileError(f"array {name!r} is there twice")
            arrays[name] = array
        if file.tell() != length:
            raise ModelFileError(f"{length - file.tell()} bytes are left over after the last array")
    return Contents(kind, meta, arrays, version)


def _read_header(file: BinaryIO, length: int) -> tuple[int, Any]:
    prefix = file.read(PREFIX.size)
    if len(prefix) < PREFIX.size or not prefix.startswith(MAGIC):
        raise ModelFileError(
            "this is not a Billhook model file" if length else "the file is empty: save the model again"
        )
    _, version, header_length, checksum = PREFIX.unpack(prefix)
    if version not in VERSIONS:
        readable = " and ".join(map(str, VERSIONS))
        raise ModelFileError(f"the file has format version {version}; this Billhook reads versions {readable}")
    if header_length > MAX_HEADER:
        raise ModelFileError(f"a header of {header_length:,} bytes; the most is {MAX_HEADER:,}")
    if header_length > length - PREFIX.size:
        raise ModelFileError(f"the file ends within its header: {length} bytes in all")
    header = file.read(header_length)
    if zlib.crc32(header) != checksum:
        raise ModelFileError("the header is damaged: its checksum does not match")
    try:
        return version, json.loads(header)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"the header is not JSON: {error}") from None


def _read_array(file: BinaryIO, entry: Any, left: int) -> tuple[str, NDArray[Any]]:
    try:
        name, dtype, shape, checksum = (entry[key] for key in ("name", "dtype", "shape", "crc32"))
    except (KeyError, TypeError):
        raise ModelFileError("an array lacks name, dtype, shape or crc32") from None
    if not isinstance(name, str) or dtype not in DTYPES:
        raise ModelFileError(f"array {name!r} has type {dtype!r}, which is not one of {', '.join(DTYPES)}")
    if (
        not isinstance(shape, list)
        or not 1 <= len(shape) <= 2
        or not all(type(size) is int and 0 <= size < 2**48 for size in shape)
    ):
        raise ModelFileError(f"array {name!r} has shape {shape!r}")
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    if n_bytes > left:
        raise ModelFileError(f"array {name!r} should have {n_bytes:,} bytes, but the file has only {left:,} more")
    data = file.read(n_bytes)
    if len(data) != n_bytes or zlib.crc32(data) != checksum:
        raise ModelFileError(f"array {name!r} is damaged: its checksum does not match")
    return name, np.frombuffer(data, dtype).reshape(shape)
