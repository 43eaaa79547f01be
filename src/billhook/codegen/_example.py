"""What an example program of a project does: it fills a row, predicts, and prints the answer."""

from typing import NamedTuple

from billhook.codegen._columns import example as filled_row
from billhook.codegen._form import Form, c_type, suffix
from billhook.codegen._resources import filled_template
from billhook.packing import Packed


class Example(NamedTuple):
    """A project, and what its examples consist of.

    Attributes
    ----------
    prefix : str
    sources, headers : tuple of str
        The files that are compiled into a program, and those that it includes, that of the prefix first.
    what : str
        What is predicted, as a sentence begins with it.
    n_features : int
    type_ : str
        That of a feature in C.
    filled, printed, sent : tuple of str
        Statements that put columns of a table into the row, that print the answer, and that send it over the serial
        line of an Arduino.
    prints_floats : bool
    program, self_test : str
        The template of an example for packages, and the file of the project that tests it.
    settings : str
        The header that a user may write for the sources and whoever includes the headers.
    """

    prefix: str
    sources: tuple[str, ...]
    headers: tuple[str, ...]
    what: str
    n_features: int
    type_: str
    filled: tuple[str, ...]
    printed: tuple[str, ...]
    sent: tuple[str, ...]
    prints_floats: bool
    program: str = "example.c"
    self_test: str = "selftest.c"
    settings: str = ""


def example_of(packed: Packed, form: Form, prefix: str) -> Example:
    """Return what the examples around one model consist of."""
    end = suffix(form.inputs[0])
    if packed.classes is None:
        answer, printed = f"{prefix}_value{end}(x)", f'printf("%g\\n", (double){prefix}_value{end}(x));'
    elif form.has_names:
        answer = f"{prefix}_class_name({prefix}_predict{end}(x))"
        printed = f'printf("%s\\n", {answer});'
    else:
        answer = f"{prefix}_predict{end}(x)"
        printed = f'printf("%d\\n", {answer});'
    return Example(
        prefix=prefix,
        sources=(f"{prefix}.c",),
        headers=(f"{prefix}.h",),
        what="A number" if packed.classes is None else f"One of {packed.n_classes} classes",
        n_features=packed.n_features,
        type_=c_type(form.inputs[0]),
        filled=tuple(filled_row(packed, form, prefix)),
        printed=(printed,),
        sent=(f"Serial.println({answer});",),
        prints_floats=packed.classes is None,
    )


def arduino_library(example: Example, files: dict[str, str]) -> dict[str, str]:
    """Return the files of an Arduino library by their path: sources and headers of `files`, and a sketch."""
    library = f"arduino/{example.prefix}"
    return {
        f"{library}/library.properties": filled_template("library.properties", prefix=example.prefix),
        **{f"{library}/src/{file}": files[file] for file in (*example.headers, *example.sources)},
        f"{library}/examples/predict/predict.ino": filled_template(
            "predict.ino",
            prefix=example.prefix,
            upper=example.prefix.upper(),
            type=example.type_,
            filled="".join(f"  {statement}\n" for statement in example.filled),
            answer="".join(f"  {statement}\n" for statement in example.sent),
        ),
    }
