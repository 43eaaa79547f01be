import argparse
import sys
from math import log2
from pathlib import Path
from shlex import quote

from billhook.cli._chart import Mark, chart_text
from billhook.cli._messages import as_options
from billhook.cli._model import check_seed
from billhook.cli._progress import ProgressDisplay
from billhook.cli._tables import print_fields, print_table
from billhook.forest import count_of
from billhook.html import size_text
from billhook.inspection import DiagnosedSize, Diagnosis, diagnose

LETTERS = {"whole": "W", "truncated": "T", "pruned": "P", "refined": "R", "merged": "M"}


def run(arguments: argparse.Namespace) -> None:
    """Print what is said of the trees, the chart, and the command to type next."""
    check_seed(arguments.seed)
    with ProgressDisplay("diagnosing", unit="steps") as display:
        found = diagnose(
            arguments.model, arguments.table, arguments.label, random_state=arguments.seed, progress=display
        )
    for note in found.notes:
        print(as_options(note), file=sys.stderr)
    if found.no_worse is not None:
        print_fields(_tests(found))
        print()
    marks = [Mark(LETTERS[size.way], size.nbytes, size.score) for size in found.sizes]
    as_share = found.scoring == "accuracy"
    print(chart_text(marks, x_text="bytes, as the paper counts", y_text=found.scoring, as_share=as_share))
    print("   ".join(f"{letter} {way}" for way, letter in LETTERS.items()) + "   * several\n")
    _print_sizes(found)
    print(f"\n{_advice(found, arguments)}")


def _tests(found: Diagnosis) -> list[tuple[str, str]]:
    """Return what the tests say, as names and texts."""
    assert found.no_worse is not None
    assert found.paper_test is not None
    assert found.removable is not None
    free = found.removable
    text = {True: ".2%", False: ".4g"}[found.scoring == "accuracy"]
    change = f"{found.scoring} {format(free.score_of_all, text)} to {format(free.score_without, text)}"
    n_free = f"{free.n_trees:,} of {count_of(found.n_trees, 'tree')}"
    return [
        ("no worse without it", f"{count_of(int(found.no_worse.sum()), 'tree')} of {found.n_trees:,}"),
        (
            "the paper's test",
            f"{int(found.paper_test.sum()):,} of {found.n_trees:,} pass -2 sum C_ik <= C_kk; necessary, not enough",
        ),
        (
            "can go at no cost",
            n_free if not free.n_trees else f"{n_free}, by squared error; {change}",
        ),
        ("so pruning", _verdict(found)),
    ]


def _verdict(found: Diagnosis) -> str:
    assert found.removable is not None
    if found.removable.n_trees:
        return "makes it smaller at no cost, down to there; below, it trades accuracy for size"
    return "can only trade accuracy for size: no tree is too many"


def _print_sizes(found: Diagnosis) -> None:
    """Print a line for each size, a column for each way."""
    by_place: dict[int, dict[str, DiagnosedSize]] = {}
    whole = found.sizes[0]
    for size in found.sizes:
        # A budget is that much of the whole, and what was made of it may be smaller.
        place = 0 if size.nbytes == whole.nbytes else max(1, int(log2(whole.nbytes / size.nbytes)))
        by_place.setdefault(place, {})[size.way] = size
    ways = [way for way in LETTERS if any(way in row for row in by_place.values())]
    rows = [
        (
            f"{size_text(whole.nbytes / 2**place)}" + (f" (1/{2**place})" if place else ""),
            *(_score(row[way], found) if way in row else "" for way in ways),
        )
        for place, row in sorted(by_place.items())
    ]
    print_table(("at most", *ways), rows, numbers=ways)


def _score(size: DiagnosedSize, found: Diagnosis) -> str:
    return f"{size.score:.2%}" if found.scoring == "accuracy" else f"{size.score:.4f}"


def _advice(found: Diagnosis, arguments: argparse.Namespace) -> str:
    """Return which way is best, and the command for it."""
    best, whole = found.advised, found.sizes[0]
    model, table, label = (quote(text) for text in (arguments.model, arguments.table, arguments.label))
    out = quote(str(Path(arguments.model).with_name(f"{Path(arguments.model).stem}-small.bhk")))
    rows = f"billhook {{}} {model} {table} --label {label}"
    if best.way == "whole":
        command = f"billhook fit {table} --label {label} --model {model} --budget 4KB --out fitted"
        return f"None of these is as good as the whole forest. What a budget of packed bytes costs:\n    {command}"
    share = best.nbytes / whole.nbytes
    said = f"Within a standard error ({_error(found)}) of the best: {best.way}, at {share:.0%} of the bytes. Next:"
    if best.way == "refined" and best.nbytes == whole.nbytes:
        command = f"{rows.format('refine')} --out {out}"
    elif best.way == "merged":
        command = f"{rows.format('merge')} --leaves {best.n_leaves} --out {out}"
    elif best.way == "pruned":
        command = f"{rows.format('prune')} --trees {best.n_trees} --out {out}"
    else:
        command = f"billhook fit {table} --label {label} --model {model} --budget {best.nbytes // 8} --out fitted"
    return f"{said}\n    {command}"


def _error(found: Diagnosis) -> str:
    return f"{found.standard_error:.2%}" if found.scoring == "accuracy" else f"{found.standard_error:.4f}"
