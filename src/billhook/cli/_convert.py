import argparse
import sys

from billhook.cli import _interrupt
from billhook.cli._model import check_out
from billhook.cli._progress import ProgressDisplay
from billhook.interop import save_onnx, save_treelite
from billhook.packing import load

SAVE = {"onnx": save_onnx, "treelite": save_treelite}


def run(arguments: argparse.Namespace) -> None:
    """Read a model, write it as another kind, and say what it is."""
    check_out(arguments)
    with ProgressDisplay("reading"):
        model = load(arguments.model, output=arguments.output)
    print(f"{arguments.model}: {model!r}", file=sys.stderr)
    _interrupt.finish()
    if arguments.to == "billhook":
        model.save(arguments.out)
    else:
        SAVE[arguments.to](model, arguments.out)
    print(f"Wrote {arguments.out}.")
