import argparse
import sys
from functools import partial
from typing import Any

from billhook._checks import resolve_name
from billhook.cli import _interrupt
from billhook.cli._progress import ProgressBar
from billhook.datasets import Fetched, catalogue, fetch, find, names


def add_to(commands: Any) -> None:
    """Add `billhook data`."""
    parser = commands.add_parser("data", help="list and download the data sets of the paper")
    parser.set_defaults(run=lambda _: parser.print_help())
    actions = parser.add_subparsers(title="actions", metavar="ACTION")
    listing = actions.add_parser("list", help="list the data sets, and where they are")
    listing.set_defaults(run=run_list)
    fetching = actions.add_parser(
        "fetch",
        allow_abbrev=False,
        help="download data sets",
        description="Download data sets from OpenML and UCI to the user's cache. Those that are here are left alone.",
    )
    fetching.add_argument("names", nargs="*", metavar="NAME", help="see `billhook data list`")
    fetching.add_argument("--all", action="store_true", help="all data sets")
    fetching.add_argument("--force", action="store_true", help="download again what is here")
    fetching.add_argument(
        "--timeout", type=float, default=30.0, metavar="S", help="seconds to wait for a server (default: %(default)g)"
    )
    fetching.set_defaults(run=run_fetch)


def run_list(_: argparse.Namespace) -> None:
    """Print a table of the data sets, and how they differ from the paper's."""
    rows = [["name", "rows", "features", "classes", "where it is", "origin", "licence"]]
    for entry in catalogue():
        place = find(entry.name)
        numbers = (f"{number:,}" for number in (entry.rows, entry.features, entry.classes))
        where = "not here" if place is None else place.kind
        rows.append([entry.name, *numbers, where, entry.origin.title, entry.licence])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        padded[0], padded[4:] = row[0].ljust(widths[0]), [row[k].ljust(widths[k]) for k in range(4, len(row))]
        print("  ".join(padded).rstrip())
    print("\nLicences are as stated at the origin, and were not checked. Rows and classes are those of the files:")
    for entry in catalogue():
        remark = [f"{entry.remark[0].upper()}{entry.remark[1:]}."] if entry.remark else []
        if said := [*entry.differences, *remark]:
            print(f"{entry.name}: {' '.join(said)}")


def run_fetch(given: argparse.Namespace) -> None:
    """Download data sets one after the other; one that fails does not keep the others from coming."""
    if given.all == bool(given.names):
        raise ValueError("name the data sets to fetch, or give --all")
    if not given.timeout > 0:
        raise ValueError(f"--timeout must be more than 0, not {given.timeout:g}")
    known = {name: name for name in names()}
    wanted = list(dict.fromkeys(resolve_name(name, known, "there is no data set") for name in given.names or known))
    failed: list[str] = []
    for number, name in enumerate(wanted):
        place = find(name)
        if place is not None and not given.force:
            print(f"{name}: is here, {place.path}")
            continue
        bar = ProgressBar(sys.stderr)
        try:
            with _interrupt.stoppable():
                fetched = fetch(name, timeout=given.timeout, progress=partial(bar, note=name))
            print(_said(name, fetched), flush=True)
        except KeyboardInterrupt:
            _end(bar)
            here = f"{number - len(failed)} of {len(wanted)} are here"
            print(f"billhook: interrupted; nothing of {name} was written, {here}", file=sys.stderr)
            sys.exit(_interrupt.STATUS)
        except (OSError, ValueError) as error:
            _end(bar)
            print(f"billhook: {name}: {error}", file=sys.stderr)
            failed.append(name)
    if failed:
        raise RuntimeError(f"{len(failed)} of {len(wanted)} data sets could not be fetched: {', '.join(failed)}")


def _said(name: str, fetched: Fetched) -> str:
    """Return what came, whether it is what it should be, and where it is."""
    data, received = fetched.data, fetched.received
    classes = 0 if data.classes is None else len(data.classes)
    checked = f"sha256 {received.sha256}, nothing to compare it with"
    if received.compared is not None:
        checked = f"{received.compared} {getattr(received, received.compared)} as it should be"
    return (
        f"{name}: {len(data.X):,} rows, {data.X.shape[1]:,} features, {classes} classes; {received.n_bytes:,} bytes "
        f"from {received.url}, {checked}; written to {fetched.path}"
    )


def _end(bar: ProgressBar) -> None:
    """Leave the line of a bar that did not come to its end."""
    if bar.shown:
        print(file=sys.stderr)
