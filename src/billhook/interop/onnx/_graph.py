"""Which ensemble a graph of ONNX is, and that nothing around it changes what it answers."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from numpy.typing import NDArray

from billhook.interop.onnx._model import DOUBLE, FLOAT, INT32, INT64, STRING, Graph, OnnxModel, Operator

OPERATORS = ("TreeEnsembleClassifier", "TreeEnsembleRegressor", "TreeEnsemble")
DOMAIN = "ai.onnx.ml"
# Versions of the operators of this domain; 4 has these as 3 has.
MAX_VERSION = 5
INPUT_TYPES = {FLOAT: "float", DOUBLE: "double", INT32: "int32", INT64: "int64"}
ADVICE = "as_forest reads graphs of one tree ensemble; convert the trees alone, or pass the model they came from"


class FoundEnsemble(NamedTuple):
    """The ensemble of a graph.

    Attributes
    ----------
    node : Operator
    n_features : int
        0 if the graph does not say.
    is_double : bool
        Whether rows come as float64 numbers and are compared as such.
    after : list of Operator
        What follows on the ensemble's outputs.
    """

    node: Operator
    n_features: int
    is_double: bool
    after: list[Operator]


def find_ensemble(model: OnnxModel) -> FoundEnsemble:
    """Return the tree ensemble that a model is."""
    graph = model.graph
    if model.functions:
        raise TypeError(f"the model defines functions ({model.functions[0]}); {ADVICE}")
    ensembles = find_ensembles(model)
    if len(ensembles) != 1:
        others = _names(graph.node) or "nothing"
        raise TypeError(f"the graph has {len(ensembles)} tree ensembles, not one (it has {others}); {ADVICE}")
    for node in graph.node:
        if not node.output or not (node.input or node.op_type == "Constant"):
            raise ValueError(f"{node.op_type} has no {'input' if node.output else 'output'}")
    version = max((version for domain, version in model.versions if domain == DOMAIN), default=1)
    if version > MAX_VERSION:
        raise TypeError(f"the model is of version {version} of {DOMAIN}; as_forest knows those up to {MAX_VERSION}")
    ensemble = ensembles[0]
    type_, n_features, before = _input(graph, ensemble)
    steps = [id(node) for node in before]
    after = [node for node in graph.node if node is not ensemble and id(node) not in steps]
    casts = [cast_type(node) for node in before if node.op_type == "Cast"]
    return FoundEnsemble(ensemble, n_features, type_ == DOUBLE and FLOAT not in casts, after)


def find_ensembles(model: OnnxModel) -> list[Operator]:
    """Return the tree ensembles of a model's graph."""
    return [node for node in model.graph.node if node.op_type in OPERATORS and node.domain == DOMAIN]


def _names(nodes: Sequence[Operator]) -> str:
    return ", ".join(dict.fromkeys(node.op_type for node in nodes))


def cast_type(node: Operator) -> int:
    """Return the type of number that an operator casts to."""
    return next((attribute.i for attribute in node.attribute if attribute.name == "to"), 0)


def _input(graph: Graph, ensemble: Operator) -> tuple[int, int, list[Operator]]:
    """Return the type of the rows, the number of features, and the operators before the ensemble, which may cast."""
    makers = {name: node for node in graph.node for name in node.output}
    inputs = {value.name: value for value in graph.input}
    if not ensemble.input:
        raise ValueError(f"{ensemble.op_type} has no input")
    name: str = ensemble.input[0]
    before: list[Operator] = []
    while name not in inputs:
        if name not in makers or len(before) > len(graph.node):
            raise ValueError(f"the input {name!r} of {ensemble.op_type} comes from nowhere")
        node = makers[name]
        is_cast = node.op_type == "Cast" and cast_type(node) in (FLOAT, DOUBLE)
        if node.op_type != "Identity" and not is_cast:
            raise TypeError(f"the graph has {node.op_type} before its trees; {ADVICE}")
        before.append(node)
        name = node.input[0]
    rows = inputs[name]
    if rows.elem_type not in INPUT_TYPES:
        raise TypeError(f"the graph's rows are not numbers of the types {', '.join(INPUT_TYPES.values())}; {ADVICE}")
    return rows.elem_type, rows.shape[1] if len(rows.shape) == 2 else 0, before


def check_after_classifier(found: FoundEnsemble, graph: Graph, classes: NDArray[Any]) -> None:
    """Raise TypeError if operators after a classifier change its labels or its scores."""
    label, scores = [*found.node.output, "", ""][:2]
    kind = {label: "label", scores: "scores"}
    own_type = STRING if classes.dtype.kind == "U" else INT64
    for node in found.after:
        known = kind.get(node.input[0] if node.input else "")
        keeps = known is not None and (
            node.op_type == "Identity"
            or (node.op_type == "Cast" and cast_type(node) in ((own_type,) if known == "label" else (FLOAT, DOUBLE)))
            or (known == "scores" and _is_times_one(node, graph))
            or (known == "scores" and node.op_type == "ZipMap" and _zips(node, classes))
        )
        if not keeps:
            raise TypeError(f"the graph has {node.op_type} after its trees; {ADVICE}")
        kind[node.output[0]] = str(known)


def link_after_regressor(found: FoundEnsemble, graph: Graph) -> str:
    """Return "exp" if the exponential of the scores is what a regressor's graph answers, else "identity"."""
    kind = {found.node.output[0]: "identity"}
    for node in found.after:
        known = kind.get(node.input[0] if node.input else "")
        is_cast = node.op_type == "Cast" and cast_type(node) in (FLOAT, DOUBLE)
        if known == "identity" and node.op_type == "Exp":
            known = "exp"
        elif known is None or not (node.op_type == "Identity" or is_cast or _is_times_one(node, graph)):
            raise TypeError(f"the graph has {node.op_type} after its trees; {ADVICE}")
        kind[node.output[0]] = known
    links = {kind.get(output.name) for output in graph.output}
    if len(links) != 1 or None in links:
        raise TypeError(f"the graph answers with more than what its trees predict; {ADVICE}")
    return str(links.pop())


def _is_times_one(node: Operator, graph: Graph) -> bool:
    """Return whether an operator multiplies with one, as LightGBM's converter has it."""
    if node.op_type != "Mul" or len(node.input) != 2:
        return False
    factors = [one for one in graph.initializer if one.name == node.input[1]]
    with suppress(TypeError, ValueError):  # in another file, or of a type that is not known
        return bool(factors) and bool((factors[0].array() == 1).all())
    return False


def _zips(node: Operator, classes: NDArray[Any]) -> bool:
    """Return whether a ZipMap has these classes."""
    for attribute in node.attribute:
        if attribute.name not in ("classlabels_int64s", "classlabels_strings"):
            return False
        labels = attribute.ints.tolist() if attribute.name == "classlabels_int64s" else attribute.strings
        if labels != classes.tolist():
            return False
    return True
