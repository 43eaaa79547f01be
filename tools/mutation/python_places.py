"""What can be changed in a Python file, one small thing at a time."""

import ast
import copy
import difflib
from collections import Counter

from .places import Place

SWAPS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult, ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def _changes(node):
    """Return what can be done to a node: kinds, and which of its operators it is about."""
    if isinstance(node, ast.Compare):
        return [("compare", number) for number, op in enumerate(node.ops) if type(op) in SWAPS]
    if isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp) and type(node.op) in SWAPS:
        return [("operator", 0)]
    if isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
        return [("constant", 0)]
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        return [("condition", 0)]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        return [("sign", 0)]
    return []


def _visit(node, function, statement):
    """Yield nodes with the outermost function and the statement that they are in, but for annotations."""
    if isinstance(node, ast.stmt):
        statement = node
    yield node, function, statement
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and field == "body"
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                is_outermost = is_function and function is None
                yield from _visit(child, node if is_outermost else function, statement)


def _header(statement):
    """Return the lines of a statement without those of the statements in it."""
    parts = [part for field in ("body", "orelse") for part in getattr(statement, field, [])]
    inner = [part.lineno for part in parts if part.lineno > statement.lineno]
    return range(statement.lineno, max(min(inner, default=statement.end_lineno + 1), statement.lineno + 1))


def _all(tree):
    """Yield each change that can be made to a tree: node, outermost function, statement, kind, number of operator."""
    for node, function, statement in _visit(tree, None, None):
        for kind, number in _changes(node):
            yield node, function, statement, kind, number


def python_places(folder, name, text):
    """Return the places of a file."""
    seen = Counter()
    found = []
    for index, (node, function, statement, kind, number) in enumerate(_all(ast.parse(text))):
        where = getattr(function, "name", "<lambda>" if function else "<module>")
        said = f"{name} {where} {kind} {number} {ast.unparse(node)}"
        seen[said] += 1
        found.append(
            Place(
                folder=folder, file=name, index=index, kind=kind, key=f"{said} #{seen[said]}",
                lines=tuple(range(node.lineno, (node.test if kind == "condition" else node).end_lineno + 1)),
                statement=tuple(_header(statement)),
                function=_first_line(function) if function else None,
            )
        )  # fmt: skip
    return found


def _first_line(function):
    """Return the line that the code of a function begins with: that of its first decorator."""
    return min([function.lineno, *(d.lineno for d in getattr(function, "decorator_list", []))])


def mutated(text, index):
    """Return the tree of a file with a place changed, and the difference."""
    tree = ast.parse(text)
    plain = ast.unparse(copy.deepcopy(tree))
    node, _, _, kind, number = list(_all(tree))[index]
    if kind == "compare":
        node.ops[number] = SWAPS[type(node.ops[number])]()
    elif kind == "operator":
        node.op = SWAPS[type(node.op)]()
    elif kind == "constant":
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
    elif kind == "sign":
        node.op = ast.UAdd() if isinstance(node.op, ast.USub) else ast.Not()
        if isinstance(node.op, ast.Not):
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
    else:
        node.test = ast.UnaryOp(ast.Not(), node.test)
    ast.fix_missing_locations(tree)
    difference = difflib.unified_diff(plain.splitlines(), ast.unparse(tree).splitlines(), lineterm="", n=0)
    return tree, [line for line in list(difference)[2:] if not line.startswith("@@")]
