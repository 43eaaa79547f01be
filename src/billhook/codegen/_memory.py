"""Whether the flash and the memory of a target hold a model, and what would fit if they do not."""

from dataclasses import dataclass
from typing import Any

from billhook.codegen._codes import needs_codes
from billhook.codegen._form import Form, form_of
from billhook.codegen._steps import code_type
from billhook.codegen._targets import Target, targets
from billhook.interop import as_forest
from billhook.packing import Packed, pack

# No processor takes less for a comparison with a constant, a jump, and what a leaf returns.
LEAST_BYTES_A_SPLIT = 2
# What reads the data takes more than this on every processor.
LEAST_CODE = 300
# And less than this, with float inputs.
READER_BYTES = {"avr": 1500, "rv32ec": 1200, "rv32imc": 1200, "xtensa-lx106": 1350}
READER_BYTES |= dict.fromkeys(("cortex-m0", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33"), 950)
# And so much more where splits test projections.
PROJECTION_BYTES = {"avr": 600, "rv32ec": 350, "rv32imc": 350, "xtensa-lx106": 450}
PROJECTION_BYTES |= dict.fromkeys(("cortex-m0", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33"), 350)
# Fewer bytes of data than these are rather some more than code for projections.
LEAST_BESIDE_PROJECTIONS = 2048
# The same of the program that reads any model as a blob, for bh_open, bh_scores and bh_predict.
# Projections are 740 of them on AVR, up to 490 on RISC-V and Xtensa, 356 on a Cortex-M.
BLOB_READER_BYTES = {"avr": 4140} | dict.fromkeys(("rv32ec", "rv32imc", "xtensa-lx106", "xtensa-lx6"), 2690)
BLOB_READER_BYTES |= dict.fromkeys(("cortex-m0", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33"), 2156)
# What an open model takes of memory: numbers of 16 bits on AVR, of 32 elsewhere.
OPEN_MODEL_BYTES = {"avr": 160}
# Bits of thresholds and of leaves, from what loses nothing to what little is left of.
COARSER = ((10, 8), (8, 8), (8, 6), (8, 5), (8, 4), (6, 4), (6, 3), (5, 2))


class DoesNotFitError(ValueError):
    """A model is too large for a target; the message has the sizes, and what would fit."""


def flash_with_reader(nbytes: int, target: Target, *, has_projections: bool = False) -> int:
    """Return how many bytes of flash a model takes at most, its data and the program that reads them."""
    reader = READER_BYTES.get(target.family, max(READER_BYTES.values()))
    more = PROJECTION_BYTES.get(target.family, max(PROJECTION_BYTES.values()))
    return nbytes + reader + (more if has_projections else 0)


def most_flash(packed: Packed, target: Target) -> int:
    """Return how many bytes of flash a model takes at most in the compact layout, with float inputs."""
    return flash_with_reader(packed.nbytes, target, has_projections=packed.layout.n_projections > 0)


def data_limit(target: Target, reserve: int = 0, *, may_project: bool = True) -> int | None:
    """Return how many bytes of data a model may have on a target; None where there is no limit.

    Any model of so many bytes fits, but for one whose splits test projections where `allows_projections` says no.
    """
    if not target.flash:
        return None
    has_projections = may_project and allows_projections(target, reserve)
    return target.flash - reserve - flash_with_reader(0, target, has_projections=has_projections)


def allows_projections(target: Target, reserve: int = 0) -> bool:
    """Return whether models for a target may test projections: whether much is left beside the code for them."""
    taken = flash_with_reader(LEAST_BESIDE_PROJECTIONS, target, has_projections=True)
    return not target.flash or target.flash - reserve >= taken


def least_flash(packed: Packed, form: Form) -> int:
    """Return how many bytes a model takes at least, data and code."""
    if form.layout != "fast":
        return packed.nbytes + LEAST_CODE
    return packed.layout.n_splits * LEAST_BYTES_A_SPLIT


def least_stack(packed: Packed, form: Form) -> int:
    """Return how many bytes of memory features and scores take at least while a row is computed."""
    scores = 4 * packed.layout.n_columns
    has_codes = form.layout != "fast" or needs_codes(packed)
    if form.inputs[0] == "float" and not has_codes and not form.is_small:
        return scores + (4 * packed.layout.n_used if packed.layout.missing != "none" else 0)
    if not has_codes and form.inputs[0] != "float":
        return scores
    answers = packed.layout.n_pairs // 8 + 1 if form.layout == "compact" and packed.layout.ask_bits else 0
    return scores + packed.layout.n_tested * (1 if code_type(packed) == "uint8_t" else 2) + answers


def fits_in(packed: Packed, target: Target) -> bool:
    """Whether a target holds a model in the compact layout, with float inputs, in its flash and its memory."""
    stack = least_stack(packed, form_of("compact", "float", target))
    return most_flash(packed, target) <= target.flash and stack <= target.ram


@dataclass(frozen=True)
class TargetFit:
    """A target: its flash and RAM, the flash that the model and the code reading it take, and whether they fit."""

    name: str
    flash: int
    ram: int
    takes: int
    fits: bool


def target_fits(packed: Packed) -> tuple[TargetFit, ...]:
    """Return for each target with a known flash whether it holds a model."""
    return tuple(
        TargetFit(target.name, target.flash, target.ram, most_flash(packed, target), fits_in(packed, target))
        for target in targets()
        if target.flash
    )


def check_fits(model: Any, packed: Packed, form: Form, target: Target, flash: int | None = None) -> None:
    """Raise DoesNotFitError if the flash of the target does not hold a model, which takes so much of it if known."""
    takes = least_flash(packed, form) if flash is None else flash
    if not target.flash:
        return
    stack = least_stack(packed, form)
    if stack > target.ram:
        raise DoesNotFitError(
            f"the model tests {_tested(packed)}, which takes {stack:,} bytes of memory while a row "
            f"is computed, and {target.name} has {target.ram:,}: train it on fewer features"
        )
    if takes <= target.flash:
        return
    least = "" if flash is not None else "at least "
    raise DoesNotFitError(
        f"the model takes {least}{takes:,} bytes of flash ({form.layout} layout), and "
        f"{target.name} has {target.flash:,}; {_advice(model, packed, form, target.flash)}"
    )


def _tested(packed: Packed) -> str:
    """Return what splits of a model test, in words."""
    n_projections = packed.layout.n_projections
    return f"{packed.n_used:,} features" + (f" and {n_projections:,} sums of them" if n_projections else "")


def check_reader_fits(n_bytes: int, n_numbers: int, target: Target) -> None:
    """Raise DoesNotFitError if a target does not hold a blob of so many bytes with the program that reads any.

    The numbers, of four bytes, are what the program computes with.
    """
    if not target.flash:
        return
    reader = BLOB_READER_BYTES.get(target.family, max(BLOB_READER_BYTES.values()))
    if n_bytes + reader > target.flash:
        raise DoesNotFitError(
            f"the model is a blob of {n_bytes:,} bytes, the program that reads any blob takes up to {reader:,}, and "
            f"{target.name} has {target.flash:,} bytes of flash: leave runtime out for C made of this model, which "
            f"takes {flash_with_reader(n_bytes, target):,} bytes at most"
        )
    memory = OPEN_MODEL_BYTES.get(target.family, 2 * OPEN_MODEL_BYTES["avr"]) + 4 * n_numbers
    if memory > target.ram:
        raise DoesNotFitError(
            f"an open model takes {memory:,} bytes of memory with its row, and {target.name} has {target.ram:,}: "
            "train it on fewer features, or leave runtime out for C made of this model, which takes less"
        )


def _advice(model: Any, packed: Packed, form: Form, flash: int) -> str:
    if form.layout == "fast" and packed.nbytes + 2 * LEAST_CODE <= flash:
        return f'layout="compact" takes {packed.nbytes:,} bytes of data and a small program'
    if isinstance(model, Packed):
        return f"its data are {packed.nbytes:,} bytes: pack a smaller forest, or with fewer bits"
    forest = as_forest(model)
    smallest = packed.nbytes
    for threshold_bits, leaf_bits in COARSER:
        size = pack(forest, threshold_bits=threshold_bits, leaf_bits=leaf_bits, missing_values=False).nbytes
        if size + 3 * LEAST_CODE <= flash:
            options = f"threshold_bits={threshold_bits}, leaf_bits={leaf_bits}, missing_values=False"
            return f"pack it with {options}: {size:,} bytes of data"
        smallest = min(smallest, size)
    n_trees = max(1, forest.n_trees * (flash - 3 * LEAST_CODE) // smallest)
    return (
        f"with {COARSER[-1][0]}-bit thresholds and {COARSER[-1][1]}-bit leaves its data still take {smallest:,} "
        f"bytes: prune it to about {n_trees:,} of its {forest.n_trees:,} trees, or truncate them"
    )
