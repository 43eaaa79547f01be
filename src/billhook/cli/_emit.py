import argparse
import sys
from typing import Any

import numpy as np

from billhook.cli._model import read_rows
from billhook.codegen import emit, target_named
from billhook.forest import Forest
from billhook.packing import Packed, load, pack


def add_to(commands: Any) -> None:
    """Add `billhook emit`."""
    parser = commands.add_parser(
        "emit",
        allow_abbrev=False,
        help="write a model as C",
        description="Pack a saved forest into few bytes, and write it as a C project that tests itself.",
    )
    parser.add_argument("model", metavar="MODEL", help="a model file: a forest, or a packed one")
    parser.add_argument("--out", required=True, metavar="DIR", help="the folder to write to")
    parser.add_argument("--target", default="generic", help="see `billhook targets` (default: %(default)s)")
    parser.add_argument("--name", default="model", help="prefix of all names in C (default: %(default)s)")
    parser.add_argument("--threshold-bits", default="8", metavar="N", help="2 to 16, or exact (default: %(default)s)")
    parser.add_argument("--leaf-bits", type=int, default=8, metavar="N", help="2 to 16 (default: %(default)s)")
    parser.add_argument("--table", metavar="TABLE", help="rows to round the leaves with and to compare on")
    parser.add_argument("--label", metavar="COLUMN", help="the column of TABLE to predict")
    parser.add_argument("--force", action="store_true", help="replace files in DIR")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Read, pack, write, and say what it takes."""
    if (given.table is None) != (given.label is None):
        raise ValueError("--table and --label go together")
    target = target_named(given.target)
    model = load(given.model)
    rows: dict[str, Any] = {}
    if given.table is not None:
        X, y = read_rows(given.table, given.label, model)
        rows = {"X": X, "y": y}
    packed = (
        model
        if isinstance(model, Packed)
        else pack(model, threshold_bits=_threshold_bits(given.threshold_bits), leaf_bits=given.leaf_bits, **rows)
    )
    print(f"{given.model}: {model!r}", file=sys.stderr)
    files = emit(packed, given.out, target=given.target, name=given.name, X=rows.get("X"), force=given.force)
    print(f"{'data':18}{packed.nbytes:>10,} bytes")
    if target.flash:
        share = packed.nbytes / target.flash
        print(f"{target.name:18}{target.flash:>10,} bytes of flash: the data take {share:.1%} of it")
    if rows and isinstance(model, Forest):
        before, after = model.predict(rows["X"]), packed.predict(rows["X"])
        if model.classes is not None:
            print(f"{'same class':18}{np.mean(before == after):>10.2%} of the {len(after):,} rows of {given.table}")
            shares = [float(np.mean(predicted == rows["y"])) for predicted in (before, after)]
            print(f"{'accuracy':18}{shares[0]:>10.2%} before, {shares[1]:.2%} packed")
        else:
            errors = [float(np.sqrt(np.mean((predicted - rows["y"]) ** 2))) for predicted in (before, after)]
            print(f"{'root mean sq. err.':18}{errors[0]:>10.4g} before, {errors[1]:.4g} packed")
    print(f"Wrote {len(files)} files to {given.out}; `make -C {given.out} test` tests them.")


def _threshold_bits(text: str) -> Any:
    return text if text == "exact" or not text.isdigit() else int(text)
