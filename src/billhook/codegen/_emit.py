from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from billhook._files import atomic_folder
from billhook.codegen._choose_layout import Goal, choose_layout
from billhook.codegen._example import example_of
from billhook.codegen._form import Form, Input, LayoutName, form_of
from billhook.codegen._memory import check_fits
from billhook.codegen._names import check_name, identifier
from billhook.codegen._outputs import check_together, is_several, named_outputs
from billhook.codegen._outputs_project import outputs_example, outputs_project
from billhook.codegen._packages import PackageName, package_files, package_notes, packages_named
from billhook.codegen._project import project
from billhook.codegen._runtime_c import c_example
from billhook.codegen._runtimes import runtime_named
from billhook.codegen._targets import Target, target_named
from billhook.codegen._test_rows import self_test_rows
from billhook.packing import Packed, pack


def emit(
    model: Any,
    out: str | PathLike[str],
    *,
    target: str = "generic",
    name: str = "model",
    runtime: str | None = None,
    layout: LayoutName | None = None,
    optimize: Goal = "size",
    inputs: Input | Iterable[Input] | None = None,
    names: bool = True,
    package: PackageName | Iterable[PackageName] = (),
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    force: bool = False,
) -> tuple[Path, ...]:
    """Write a model as a C99 project and return its files: sources, self-test, README, and an Arduino library.

    Nothing is written unless all of it can be. The library is for Arduino targets only. With a `runtime` the project
    is one around a program that reads any model as a blob (`Packed.to_bytes`), in C or another language.

    Parameters
    ----------
    model : Packed, Forest or fitted estimator; or a list of these, or a dict by name
        What is not packed is packed with the defaults of `pack`. Several are the outputs of a model that predicts
        several numbers, or classes, for a row (`as_forests`): the project then has all of them, and a function that
        answers for all.
    out : path
        The folder to write to. It must be new or empty, unless ``force=True``.
    target : str
        The name of one of `targets`, such as ``"arduino-uno"`` or ``"blue pill"``.
    name : str
        The prefix of all names in C; behind it, that of an output has its name or number. What C cannot have in a
        name is left out or becomes "_", and what it has a meaning for gets ``model_`` in front.
    runtime : {"c", "micropython", "rust", "web"}, optional
        The program that reads the model as a blob: it need not be compiled anew for another model.
    layout : {"compact", "balanced", "fast"}, optional
        ``"compact"``: the fewest bytes. ``"balanced"``: some more bytes, in the order in which they are read, and a
        fraction of the time. ``"fast"``: trees as comparisons in the program, which take several times the flash
        and the least time. All give the same scores. By default as `optimize` says.
    optimize : {"size", "speed"}
        What a layout that is not given is chosen for. ``"size"``: the compact one. ``"speed"``: the fastest that
        fits the target, which the compiler for it has to tell.
    inputs : {"float", "int16", "uint8"} or several of these, optional
        The types of the features in C. With integers the program needs no floats. By default all three types in the
        compact and balanced layouts, and floats alone in the fast one, which has all trees once for each type.
    names : bool
        Whether the program knows the names of the classes, or only their numbers.
    package : {"cmake", "esp-idf", "platformio", "zephyr"} or several of these
        What the project is a package for, besides: files that these need, and an example for each. Only for C.
    X, y : rows and their labels or targets, optional
        Up to 32 of the rows go into the self-test; without X, rows are made up. With y, the header says how accurate
        the model is on all of them. Of several outputs, y has a column for each.
    force : bool
        Whether files of these names in `out` are replaced.

    Returns
    -------
    tuple of Path
        The files written.

    Raises
    ------
    DoesNotFitError
        If the flash of the target cannot hold the model; it says what would fit.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import billhook as bh
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(4, max_leaf_nodes=8, random_state=0).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     files = bh.emit(bh.pack(forest, leaf_bits=4), folder, name="iris", X=X)
    >>> sorted(file.name for file in files)
    ['Makefile', 'README.md', 'iris.c', 'iris.h', 'selftest.c']
    """
    if is_several(model) and (runtime is not None or optimize != "size"):
        _refuse_for_several(runtime, optimize)
    if runtime is not None:
        of_c = {
            "layout": layout,
            "inputs": inputs,
            "optimize": None if optimize == "size" else optimize,
            "names": None if names else names,
            "y": y,
        }
        return _emit_runtime(model, out, target, name, runtime, of_c, X, packages_named(package), force=force)
    chosen = target_named(target)
    form = form_of("compact" if layout is None else layout, inputs, chosen)
    kinds = None if inputs is None else form.inputs
    check_name(name)
    if X is None and y is not None:
        raise ValueError("y has labels of rows that are not there: give X too")
    packages = packages_named(package)
    if is_several(model):
        form = replace(form, has_names=bool(names))
        return _write(_several(model, chosen, form, name, packages, X, y), out, force=force)
    packed = model if isinstance(model, Packed) else pack(model)
    if layout is None and optimize != "size":
        choice = choose_layout(packed, target=target, optimize=optimize, inputs=kinds, X=X)
        form = form_of(choice.layout, kinds, chosen)
    form = replace(form, has_names=bool(names))
    check_fits(model, packed, form, chosen)
    rows = self_test_rows(packed, X)
    notes = () if X is None or y is None else (_quality(packed, X, y),)
    files = project(packed, chosen, form, name, rows, notes)
    files["README.md"] += package_notes(packages)
    return _write(files | package_files(example_of(packed, form, identifier(name)), packages), out, force=force)


def _refuse_for_several(runtime: str | None, optimize: str) -> None:
    """Say which options are for one model, and what to do instead."""
    if runtime is not None:
        raise ValueError(
            f"runtime={runtime!r} writes a project around one model, whose reader opens any number of them: emit one "
            "output so, and write the others beside it, as packed.to_bytes() returns them"
        )
    raise ValueError(f"optimize={optimize!r} chooses the layout of one model: say layout= for several outputs")


def _several(
    models: Any,
    target: Target,
    form: Form,
    name: str,
    packages: Sequence[PackageName],
    X: ArrayLike | None,
    y: ArrayLike | None,
) -> dict[str, str]:
    """Return the files of a project for several outputs."""
    outputs = named_outputs(models, name)
    given = models.values() if isinstance(models, Mapping) else models
    for model, packed in zip(given, outputs.values(), strict=True):
        check_fits(model, packed, form, target)
    check_together(outputs, form, target)
    form = replace(form, flash=form.flash // len(outputs))  # each has its share
    first, *others = outputs.values()
    rows = self_test_rows(first, X, *others)
    notes: tuple[str, ...] = ()
    if X is not None and y is not None:
        columns = np.asarray(y)
        if columns.ndim != 2 or columns.shape[1] != len(outputs):
            raise ValueError(
                f"y must have a column for each of {len(outputs)} outputs, not the shape {columns.shape}"
            )
        notes = tuple(_quality(packed, X, columns[:, k]) for k, packed in enumerate(outputs.values()))
    prefix = identifier(name)
    files = outputs_project(outputs, target, form, prefix, rows, notes)
    files["README.md"] += package_notes(packages)
    return files | package_files(outputs_example(outputs, form, prefix), packages)


def _emit_runtime(
    model: Any,
    out: str | PathLike[str],
    target: str,
    name: str,
    runtime: str,
    of_c: Mapping[str, Any],
    X: ArrayLike | None,
    packages: Sequence[PackageName],
    *,
    force: bool,
) -> tuple[Path, ...]:
    """Write a project around a program that reads a model as a blob; options that are for C must be None."""
    runtime_project = runtime_named(runtime)
    chosen = target_named(target)
    check_name(name)
    if runtime != "c" and chosen.name != "generic":
        raise ValueError(
            f"target={target!r} is for C, whose size on it is known; runtime={runtime!r} writes the same for all "
            "targets: leave target out"
        )
    if runtime != "c" and packages:
        raise ValueError(f"package is for C; runtime={runtime!r} writes no package for {packages[0]}")
    for option, value in of_c.items():
        if value is not None:
            raise ValueError(f"{option} is for C made of one model; runtime={runtime!r} reads models as they are")
    packed = model if isinstance(model, Packed) else pack(model)
    check_fits(model, packed, form_of("compact", "float", chosen), chosen)
    files = dict(runtime_project(packed, name, self_test_rows(packed, X), chosen))
    if packages:
        files |= package_files(c_example(packed, name), packages)
        files["README.md"] = f"{files['README.md']!s}{package_notes(packages)}"
    return _write(files, out, force=force)


def _write(files: Mapping[str, str | bytes], out: str | PathLike[str], *, force: bool) -> tuple[Path, ...]:
    """Write all files or none, and return where they are."""
    with atomic_folder(out, replace=force) as temporary:
        for path, content in files.items():
            (temporary / path).parent.mkdir(parents=True, exist_ok=True)
            (temporary / path).write_bytes(content.encode() if isinstance(content, str) else content)
    return tuple(Path(out) / path for path in files)


def _quality(packed: Packed, X: ArrayLike, y: ArrayLike) -> str:
    """Return how accurate the model is on these rows, as a sentence."""
    predicted, expected = packed.predict(X), np.asarray(y)
    if expected.shape != predicted.shape:
        raise ValueError(f"X has {len(predicted):,} rows and y the shape {expected.shape}")
    if packed.classes is not None and not np.isin(expected, packed.classes).all():
        unknown = expected[~np.isin(expected, packed.classes)][0]
        raise ValueError(f"y has a label that the model does not know: {unknown!r}")
    if packed.classes is None:
        error = float(np.sqrt(np.mean((predicted - expected) ** 2)))
        return f"Root mean squared error {error:.4g} on {len(expected)} rows."
    return f"Accuracy {np.mean(predicted == expected):.2%} on {len(expected)} rows."
