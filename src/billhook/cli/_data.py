import argparse
import sys
from functools import partial

from billhook._checks import resolve_name
from billhook.cli import _interrupt
from billhook.cli._progress import ProgressDisplay
from billhook.cli._tables import print_table
from billhook.datasets import FetchedDataSet, catalogue, fetch, find, names

MEGABYTE = 1_000_000


def run_list(_: argparse.Namespace) -> None:
    """Print a table of the data sets, and how they differ from the paper's."""
    headings = ("name", "rows", "features", "classes", "where it is", "origin", "licence")
    rows = []
    for entry in catalogue():
        present = find(entry.name)
        numbers = (f"{number:,}" for number in (entry.rows, entry.features, entry.classes))
        where = "not here" if present is None else present.kind
        rows.append((entry.name, *numbers, where, entry.origin.title, entry.licence))
    print_table(headings, rows, numbers=headings[1:4])
    print("\nLicences are as stated at the origin, and were not checked. Rows and classes are those of the files:")
    for entry in catalogue():
        remark = [f"{entry.remark[0].upper()}{entry.remark[1:]}."] if entry.remark else []
        if remarks := [*entry.differences, *remark]:
            print(f"{entry.name}: {' '.join(remarks)}")


def run_fetch(arguments: argparse.Namespace) -> None:
    """Download data sets one after the other; one that fails does not keep the others from coming."""
    if arguments.all == bool(arguments.names):
        raise ValueError("name the data sets to fetch, or give --all")
    if not arguments.timeout > 0:
        raise ValueError(f"--timeout must be more than 0, not {arguments.timeout:g}")
    known = {name: name for name in names()}
    wanted = list(
        dict.fromkeys(resolve_name(name, known, "there is no data set") for name in arguments.names or known)
    )
    failed: list[str] = []
    for number, name in enumerate(wanted):
        present = find(name)
        if present is not None and not arguments.force:
            print(f"{name}: is here, {present.path}")
            continue
        try:
            with _interrupt.stoppable(), ProgressDisplay(f"downloading {name}") as display:
                fetched = fetch(name, timeout=arguments.timeout, progress=partial(_show, display))
            print(_summary(name, fetched), flush=True)
        except KeyboardInterrupt:
            here = f"{number - len(failed)} of {len(wanted)} are here"
            print(f"billhook: interrupted; nothing of {name} was written, {here}", file=sys.stderr)
            sys.exit(_interrupt.STATUS)
        except (OSError, ValueError) as error:
            print(f"billhook: {name}: {error}", file=sys.stderr)
            failed.append(name)
    if failed:
        raise RuntimeError(f"{len(failed)} of {len(wanted)} data sets could not be fetched: {', '.join(failed)}")


def _summary(name: str, fetched: FetchedDataSet) -> str:
    """Return what was downloaded, whether its checksum is right, and where it is."""
    data, file = fetched.data, fetched.downloaded
    classes = 0 if data.classes is None else len(data.classes)
    checked = f"sha256 {file.sha256}, nothing to compare it with"
    if file.compared is not None:
        checked = f"{file.compared} {getattr(file, file.compared)} as it should be"
    return (
        f"{name}: {len(data.X):,} rows, {data.X.shape[1]:,} features, {classes} classes; {file.n_bytes:,} bytes "
        f"from {file.url}, {checked}; written to {fetched.path}"
    )


def _show(display: ProgressDisplay, n_bytes: int, total: int) -> None:
    """Show how much of a file has come."""
    display(n_bytes, total, amount=f"{n_bytes / MEGABYTE:,.1f} of {total / MEGABYTE:,.1f} MB")
