import argparse
from itertools import groupby

from billhook.cli._tables import print_fields, print_table
from billhook.codegen import Target, target_named, targets, tools_for

HEADINGS = ("processor", "target", "chip", "flash", "RAM", "MHz", "measured")
ABOUT = """\
Flash, RAM (in bytes) and MHz are those of data sheets, without what a boot loader takes. What a model takes of the
flash is measured on all targets but those with "data sheet only"; cycles and instructions are those of a row in an
emulator. `billhook targets NAME` says more. Any usual name of a target will do, as uno or pico."""
MEASURED = {
    "cycles": "cycles",
    "instructions": "instructions",
    "answers": "answers, on this machine",
    "size": "size only",
}


def run(arguments: argparse.Namespace) -> None:
    """Print a table of the targets, or what is known of one."""
    if arguments.name is not None:
        _show(target_named(arguments.name))
        return
    rows = []
    for family, members in groupby(sorted(targets(), key=_place), key=lambda target: target.family):
        for number, target in enumerate(members):
            sizes = (f"{size:,}" if size else "" for size in (target.flash, target.ram, target.clock))
            rows.append((family if number == 0 else "", target.name, target.chip, *sizes, _measured(target)))
    print_table(HEADINGS, rows, numbers=HEADINGS[3:6])
    print(f"\n{ABOUT}")


def _place(target: Target) -> int:
    """Return where the family of a target stands: where its first member does."""
    return [each.family for each in targets()].index(target.family)


def _measured(target: Target) -> str:
    tools = tools_for(target)
    return "data sheet only" if tools is None else MEASURED[tools.measures]


def _show(target: Target) -> None:
    """Print all that is known of a target."""
    tools = tools_for(target)
    fields = [
        ("target", target.name),
        ("also called", ", ".join(target.other_names)),
        ("chip", target.chip),
        ("processor", target.family),
        ("flash", f"{target.flash:,} bytes (data sheet, without a boot loader)" if target.flash else ""),
        ("RAM", f"{target.ram:,} bytes (data sheet)" if target.ram else ""),
        ("clock", f"{target.clock:,} MHz (data sheet)" if target.clock else ""),
        ("Arduino IDE", "yes: `billhook emit` writes a library for it" if target.is_arduino else ""),
        ("compiler", "none in Debian" if tools is None else f"{tools.compiler} (Debian: {tools.package})"),
    ]
    if tools is not None and tools.emulator:
        fields.append(("emulator", f"{tools.emulator[0]} (Debian: {tools.emulator_package})"))
    fields += [("measured", _in_words(target)), ("", "" if tools is None else tools.core)]
    print_fields([(name, text) for name, text in fields if text])


def _in_words(target: Target) -> str:
    tools = tools_for(target)
    if tools is None:
        return "nothing: what a model takes at most is reckoned"
    if tools.measures == "size":
        return "flash and RAM, from the compiled program"
    if tools.measures == "answers":
        return "flash and RAM, and that it answers as Python does"
    return f"flash, RAM, {tools.measures} of a row, and that it answers as Python does"
