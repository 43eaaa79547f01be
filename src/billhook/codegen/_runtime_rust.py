"""The crate that reads blobs, with a model in it."""

import numpy as np
from numpy.typing import NDArray

from billhook.codegen._names import comment, identifier
from billhook.codegen._resources import filled_template, runtime_source
from billhook.codegen._targets import Target
from billhook.packing import Packed

MODULES = ("bits", "check", "codes", "error", "lib", "math", "sections", "trees")
ROW_SHOWN = 8


def rust_project(packed: Packed, name: str, rows: NDArray[np.float32], target: Target) -> dict[str, str | bytes]:  # noqa: ARG001 - the same for all
    """Return the files of a crate: the reader, the model as a blob, an example, a test on rows."""
    prefix, layout = identifier(name), packed.layout
    sizes: dict[str, object] = {
        "prefix": prefix,
        "n_features": packed.n_features,
        "n_scores": layout.n_columns,
        "n_rows": len(rows),
        "scratch_len": scratch_length(packed),
        "numbers": row_shown(rows),
    }
    method, classes, answer = "value", "", "answer"
    if packed.classes is not None:
        labels = ", ".join(rust_string(str(label)) for label in packed.classes.tolist())
        method, answer = "predict", "CLASSES[answer]"
        classes = f"#[rustfmt::skip]\nstatic CLASSES: [&str; {packed.n_classes}] = [{labels}];\n"
    return {
        **{file: runtime_source(f"rust/{file}") for file in ("Cargo.toml", "rustfmt.toml")},
        **{f"src/{module}.rs": runtime_source(f"rust/src/{module}.rs") for module in MODULES},
        f"{prefix}.bhm": packed.to_bytes(),
        "examples/predict.rs": filled_template(
            "runtime_rust/predict.rs", **sizes, method=method, classes=classes, answer=answer
        ),
        "tests/model.rs": filled_template(
            "runtime_rust/model.rs",
            **sizes,
            inputs=_rows([[f"0x{bits:08X}" for bits in row] for row in rows.view(np.uint32).tolist()]),
            outputs=_rows([list(map(str, row)) for row in packed.scores(rows).tolist()]),
        ),
        "README.md": filled_template(
            "runtime_rust/README.md",
            **sizes,
            n_trees=layout.n_trees,
            n_leaves=layout.n_leaves,
            n_bytes=len(packed.to_bytes()),
            what="a number" if packed.classes is None else f"one of {packed.n_classes} classes",
            features=features_listed(packed),
            crate=_about_crate(),
        ),
    }


def _about_crate() -> str:
    """Return what the crate says about itself, without how to run what is another example here."""
    text = runtime_source("rust/README.md").replace("# billhook", "## The crate", 1)
    return text.partition("\n    cargo run")[0]


def scratch_length(packed: Packed) -> int:
    """Return how many numbers of 16 bits the reader needs: a code for each feature in use and each projection."""
    return packed.layout.n_tested


def features_listed(packed: Packed) -> str:
    """Return the names of the features as a list in Markdown."""
    names = packed.feature_names or tuple(f"feature {k}" for k in range(packed.n_features))
    return "\n".join(f"{k}. {comment(name)}" for k, name in enumerate(names))


def row_shown(rows: NDArray[np.float32]) -> str:
    """Return the first row as one would type it."""
    numbers = [f"{number:g}" for number in rows[0][:ROW_SHOWN].tolist()]
    return " ".join(numbers) + (" ..." if rows.shape[1] > ROW_SHOWN else "")


def rust_string(text: str) -> str:
    """Return a string literal in Rust; nothing in the text can end it or start anything."""
    plain = text.encode("utf-8", "replace").decode()
    parts = [
        char if char.isascii() and (char.isalnum() or char in " _-.,:;+=()[]") else f"\\u{{{ord(char):x}}}"
        for char in plain
    ]
    return '"' + "".join(parts) + '"'


def _rows(cells: list[list[str]]) -> str:
    return "\n".join(f"    [{', '.join(row)}]," for row in cells)
