"""The C, linker scripts and texts that stand as files beside this module: `firmware/` and `templates/`."""

from importlib.resources import files
from string import Template


def firmware_source(name: str) -> str:
    """Return the text of a file of the program that runs a model in an emulator, such as ``"main.c"``."""
    return (files(__package__) / "firmware" / name).read_text(encoding="utf-8")


def filled_firmware(name: str, **values: object) -> str:
    """Return a file of that program with a value for each of its ``$names``."""
    return Template(firmware_source(name)).substitute(values)


def filled_template(name: str, **values: object) -> str:
    """Return a file of an emitted project with a value for each of its ``$names``."""
    return Template((files(__package__) / "templates" / name).read_text(encoding="utf-8")).substitute(values)


def runtime_source(path: str) -> str:
    """Return the text of a file of a program that reads blobs, such as ``"c/billhook.c"``."""
    return (files(__package__) / "runtimes" / path).read_text(encoding="utf-8")
