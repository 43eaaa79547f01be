"""Python with short names and without comments, for devices that keep programs as text."""

import ast
import io
import keyword
import token
import tokenize
from collections import Counter
from collections.abc import Iterator
from itertools import chain, product
from string import ascii_letters

SKIPPED = {token.NL, tokenize.COMMENT, token.INDENT, token.DEDENT, token.ENDMARKER, tokenize.ENCODING}


def shorten(source: str) -> str:
    """Return a module that does the same in fewer bytes.

    What functions call their own, and what begins with an underscore, gets other names: so these must be the names of
    nothing else, and arguments must not be passed by name. There may be no f-strings, and nothing but strings that
    are no triple-quoted ones may stand on several lines.
    """
    tree = ast.parse(source)
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    own = _own_names(tree)
    uses = Counter(tok.string for tok in tokens if tok.type == token.NAME and tok.string in own)
    taken = {tok.string for tok in tokens if tok.type == token.NAME} - own | set(keyword.kwlist)
    free = (name for name in _short_names() if name not in taken)
    renamed = {name: next(free) for name, _ in uses.most_common()}
    docstrings = _docstring_starts(tree)
    lines: list[str] = []
    line, depth = "", 0
    for tok in tokens:
        depth += (tok.type == token.INDENT) - (tok.type == token.DEDENT)
        if tok.type == token.NEWLINE:
            lines += [line] if line.strip() else []
            line = ""
        elif tok.type not in SKIPPED and tok.start not in docstrings:
            text = renamed.get(tok.string, tok.string) if tok.type == token.NAME else tok.string
            if not line:
                line = " " * depth + text
            else:
                line += " " * _touch(line[-1], text[0]) + text
    return "\n".join(lines) + "\n"


def _own_names(tree: ast.AST) -> set[str]:
    """Return the names that may be changed: of variables and arguments in functions, and private ones."""
    nodes = list(ast.walk(tree))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    inside = [node for function in functions for node in ast.walk(function) if node is not function]
    own = {node.arg for node in inside if isinstance(node, ast.arg)}
    own |= {node.id for node in inside if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.name for node in inside if isinstance(node, ast.FunctionDef)}
    known = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    known |= {function.name for function in functions if function not in inside}
    private = {name for name in known if name.startswith("_") and not name.startswith("__")}
    return (own - known - {"_"}) | private


def _docstring_starts(tree: ast.AST) -> set[tuple[int, int]]:
    """Return where strings begin that are statements; no function has only that."""
    values = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    return {(value.lineno, value.col_offset) for value in values if isinstance(value, ast.Constant)}


def _short_names() -> Iterator[str]:
    return chain(ascii_letters, ("".join(pair) for pair in product(ascii_letters, repeat=2)))


def _touch(before: str, after: str) -> bool:
    """Whether two words would become one without a space."""
    return (before.isalnum() or before == "_") and (after.isalnum() or after == "_" or after in "'\"")
