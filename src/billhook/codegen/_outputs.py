"""Several outputs of the same row: which models can be answered together, and what they are called in C."""

from collections.abc import Mapping, Sequence
from typing import Any

from billhook.codegen._form import Form
from billhook.codegen._memory import DoesNotFitError, least_flash
from billhook.codegen._names import identifier
from billhook.codegen._targets import Target
from billhook.packing import Packed, pack

# What all outputs have in common, and how messages call it.
SHARED = {"n_features": "another number of features", "feature_names": "other features", "encoding": "other columns"}


def is_several(model: Any) -> bool:
    """Return whether models of several outputs are given, and not one model."""
    return isinstance(model, list | tuple | Mapping)


def named_outputs(models: Sequence[Any] | Mapping[Any, Any], name: str) -> dict[str, Packed]:
    """Return the packed models by their prefixes in C, each of which is that of all and the output's name or number.

    Raises
    ------
    ValueError
        If there are none, two would have the same prefix, or they cannot be answered together.
    """
    given = dict(models) if isinstance(models, Mapping) else dict(enumerate(models))
    if not given:
        raise ValueError("there are no outputs to write: give a model for each")
    prefixes: dict[Any, str] = {}
    # In capitals, as macros are; and some file systems do not tell them apart.
    taken: dict[str, Any] = {}
    for key in given:
        prefix = _prefix(name, key)
        if prefix.upper() == identifier(name).upper():
            raise ValueError(
                f"the output {key!r} needs a name with letters or digits, which can stand behind {name!r}"
            )
        if prefix.upper() in taken:
            twin = taken[prefix.upper()]
            raise ValueError(f"the outputs {twin!r} and {key!r} would both be {prefix} in C: rename one of them")
        taken[prefix.upper()] = key
        prefixes[key] = prefix
    packed = {key: model if isinstance(model, Packed) else pack(model) for key, model in given.items()}
    _check_alike(packed)
    return {prefixes[key]: model for key, model in packed.items()}


def _prefix(name: str, key: Any) -> str:
    """Return the prefix of an output; what is cut off at an underscore is without it."""
    return identifier(identifier(f"{identifier(name)}_{key}"))


def _check_alike(outputs: Mapping[Any, Packed]) -> None:
    """Raise ValueError unless all take the same rows, and all predict numbers, or all classes."""
    (first, one), *others = outputs.items()
    for key, other in others:
        for attribute, what in SHARED.items():
            mine, its = getattr(one, attribute), getattr(other, attribute)
            if mine != its:
                counts = f", {its:,} and not {mine:,}" if isinstance(mine, int) else ""
                raise ValueError(
                    f"the output {key!r} has {what} than {first!r}{counts}: outputs are answered together for rows "
                    "of the same table; emit the others into another folder, under another name"
                )
        if other.task != one.task:
            raise ValueError(
                f"the output {first!r} is for {one.task}, and {key!r} for {other.task}: emit numbers and classes "
                "into two folders, under two names"
            )


def check_together(outputs: Mapping[str, Packed], form: Form, target: Target) -> None:
    """Raise DoesNotFitError if the flash of the target cannot hold all outputs, though it may hold each."""
    takes = sum(least_flash(packed, form) for packed in outputs.values())
    if target.flash and takes > target.flash:
        raise DoesNotFitError(
            f"the {len(outputs)} outputs take at least {takes:,} bytes of flash together ({form.layout} layout), and "
            f"{target.name} has {target.flash:,}: pack them with fewer bits, or prune them"
        )
