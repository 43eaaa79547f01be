"""Model files of other libraries, known by what is in them and not by their names."""

from collections.abc import Callable
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from billhook._files import ModelFileError
from billhook.forest import Forest
from billhook.interop._json_parts import FileBytes, decode_trees
from billhook.interop._outputs import SeveralOutputsError, check_output, read_output

# How much of a file is looked at to see what it is.
START = 4096
SPACES = b" \t\r\n\xef\xbb\xbf"
# Of all protocols but the oldest, which is text.
PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"ccopy_reg\n", b"(dp", b"(lp")
# By gzip, bzip2, xz, zip, lz4 and zlib.
COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"PK\x03\x04", b"\x04\x22M\x18", b"x\x01", b"x^", b"x\x9c", b"x\xda")
OPEN_YOURSELF = "open it in Python yourself, and write bh.as_forest(model).save('model.bhk')"


class Format(NamedTuple):
    """A kind of model file.

    Attributes
    ----------
    name : str
        As messages call it.
    module : str
        The module of this folder whose `read_file(path)` returns the Forest.
    begins : function
        Whether a file that begins so, with `START` bytes or fewer, is of this kind.
    """

    name: str
    module: str
    begins: Callable[[bytes], bool]


class JsonFormat(NamedTuple):
    """A kind of model that is written as a JSON object.

    Attributes
    ----------
    name : str
        As messages call it.
    module : str
        The module of this folder whose `read_json(model)` returns the Forest of the object.
    has : function
        Whether an object is of this kind.
    """

    name: str
    module: str
    has: Callable[[dict[str, Any]], bool]


FORMATS: tuple[Format, ...] = (
    Format("LightGBM's text", "lightgbm", lambda start: start.startswith((b"tree\n", b"tree\r\n"))),
    Format("CatBoost's .cbm", "catboost", lambda start: start.startswith(b"CBM1")),
    # Behind its brace, JSON has a quotation mark or spaces, and UBJSON the type of a length.
    Format("XGBoost's UBJSON", "xgboost", lambda start: start[:2] in (b"{i", b"{U", b"{I", b"{l", b"{L")),
    Format("treelite's checkpoints", "treelite", lambda start: bool(_module("treelite").begins_checkpoint(start))),
    Format("ONNX", "onnx", lambda start: bool(_module("onnx").begins_model(start))),
)
JSON_FORMATS: tuple[JsonFormat, ...] = (
    JsonFormat("LightGBM's JSON", "lightgbm", lambda model: model.get("name") == "tree" and "tree_info" in model),
    JsonFormat("XGBoost's JSON", "xgboost", lambda model: "learner" in model),
    JsonFormat("CatBoost's JSON", "catboost", lambda model: "features_info" in model),
    JsonFormat("treelite's JSON", "treelite", lambda model: {"postprocessor", "trees"} <= model.keys()),
)


def read_file(path: str | PathLike[str], output: int | None = None) -> Forest:
    """Return the forest in a model file of another library, or that of one of its outputs.

    Raises
    ------
    ModelFileError
        If the file is of no known kind, or damaged; it says what is wrong.
    """
    check_output(output)
    path = Path(path)
    try:
        return _read(path, output)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None


def read_outputs(path: str | PathLike[str]) -> list[Forest]:
    """Return a forest for each output of a model file of another library, a list of one where it has one."""
    try:
        return [read_file(path)]
    except ModelFileError as error:
        cause: BaseException | None = error
        # The readers of files say in words of their own what they met.
        while cause is not None and not isinstance(cause, SeveralOutputsError):
            cause = cause.__context__
        if cause is None:
            raise
        return [read_file(path, output) for output in range(cause.n_outputs)]


def _read(path: Path, output: int | None) -> Forest:
    if path.is_dir():
        return _read_folder(path, output)
    with open(path, "rb") as file:
        start = file.read(START)
    for known in FORMATS:
        if known.begins(start):
            return _with_output(_module(known.module).read_file, path, output)
    if start.lstrip(SPACES).startswith(b"{"):
        return _read_json(path, output)
    if start.startswith(PICKLES):
        raise ModelFileError(f"this is a pickle, which can run any code when it is opened: {OPEN_YOURSELF}")
    if start.startswith(COMPRESSED):
        raise ModelFileError(f"this is compressed: unpack it first; if joblib or pickle wrote it, {OPEN_YOURSELF}")
    raise ModelFileError(f"this is no model file that Billhook knows; it reads its own and {_known()}")


def _with_output(read: Callable[..., Forest], model: Any, output: int | None) -> Forest:
    try:
        forest: Forest = read_output(read, model, output, "the model")
    except ValueError as error:
        raise ModelFileError(str(error)) from None
    return forest


def _read_folder(path: Path, output: int | None) -> Forest:
    if not (path / "data_spec.pb").exists():
        raise ModelFileError(
            "this is a folder, and none that ydf saved a model to: give the path of a model file, or the folder of a "
            "fit, which has a model.bhk"
        )
    return _with_output(_module("ydf").read_file, path, output)


def _read_json(path: Path, output: int | None) -> Forest:
    with FileBytes(path) as data:  # until all trees have been read
        model = decode_trees(data)
        for known in JSON_FORMATS:
            if isinstance(model, dict) and known.has(model):
                return _with_output(_module(known.module).read_json, model, output)
    raise ModelFileError(f"this JSON is no model that Billhook knows; it reads {_known()}")


def _module(name: str) -> Any:
    return import_module(f"billhook.interop.{name}")


def _known() -> str:
    return ", ".join([*(known.name for known in FORMATS), *(known.name for known in JSON_FORMATS)])
