"""What can be changed in a C file, one small thing at a time."""

import re
from collections import Counter

from .places import Place

SWAPS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "*": "+", "/": "*",
    "%": "/", "&": "|", "|": "&", "^": "|", "<<": ">>", ">>": "<<", "&&": "||", "||": "&&", "+=": "-=", "-=": "+=",
    "*=": "+=", "/=": "*=", "|=": "&=", "&=": "|=", "^=": "|=", "<<=": ">>=", ">>=": "<<=", "++": "--", "--": "++",
}  # fmt: skip
TOKEN = re.compile(
    r"(?P<skip>/\*.*?\*/|//[^\n]*|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|\s+)"
    r"|(?P<number>0[xX][0-9a-fA-F.]+(?:[pP][+-]?\d+)?[uUlLfF]*|\d[\d.]*(?:[eE][+-]?\d+)?[uUlLfF]*)"
    r"|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<sign><<=|>>=|->|\+\+|--|&&|\|\||[<>=!+*/%&|^-]=|<<|>>|[-<>=!+*/%&|^~?:;,.(){}\[\]])",
    re.DOTALL | re.MULTILINE,
)
# Before a star or an ampersand, they make of it part of a declaration, or an address.
TYPES = {"void", "char", "int", "float", "double", "const", "return", "RESTRICT", "restrict", "sizeof", "case"}
# Types of the kernels and of Python begin with a capital, and are not all capitals as constants are.
OWN_TYPE = re.compile(r"[A-Z][A-Z]?[a-z]\w*")


def _tokens(text):
    """Return what stands in a file, but for spaces, comments, strings and lines of the preprocessor."""
    found = []
    at = 0
    while at < len(text):
        token = TOKEN.match(text, at)
        if token is None:
            at += 1
            continue
        if token.lastgroup != "skip":
            found.append((token.lastgroup, token.group(), token.start()))
        at = token.end()
    return found


def _is_operand(kind, word):
    is_name = kind == "word" and word not in TYPES and not word.endswith("_t") and not OWN_TYPE.fullmatch(word)
    return is_name or kind == "number" or word in (")", "]")


def _condition(tokens, number, text):
    """Return where the condition after `if` or `while` begins and ends."""
    depth = 0
    for _, word, start in tokens[number + 1 :]:
        depth += (word == "(") - (word == ")")
        if depth == 0:
            return tokens[number + 1][2], start + 1
    raise ValueError(f"a condition without end: {text[tokens[number][2] : tokens[number][2] + 40]}")


def _larger(number):
    """Return a number and one more, as C writes it."""
    if re.fullmatch(r"\d+[uUlL]*", number):
        digits = re.match(r"\d+", number).group()
        return str(int(digits) + 1) + number[len(digits) :]
    return f"({number} + 1)"


def c_changes(text):
    """Return what can be changed: where it begins and ends, what stands there instead, and the kind."""
    tokens = _tokens(text)
    found = []
    for number, (kind, word, start) in enumerate(tokens):
        before = tokens[number - 1] if number else ("", "", 0)
        after = tokens[number + 1] if number + 1 < len(tokens) else ("", "", 0)
        if kind == "number":
            found.append((start, start + len(word), _larger(word), "constant"))
        elif kind == "word" and word in ("if", "while") and after[1] == "(":
            begin, end = _condition(tokens, number, text)
            found.append((begin, end, f"(!{text[begin:end]})", "condition"))
        elif kind == "sign" and word in SWAPS:
            is_binary = _is_operand(*before[:2]) and (after[0] in ("word", "number") or after[1] in "(-!~*&")
            is_step = word in ("++", "--")
            if is_step or is_binary or (word.endswith("=") and len(word) > 1):
                found.append((start, start + len(word), SWAPS[word], "operator"))
            elif word == "-" and not _is_operand(*before[:2]):
                found.append((start, start + 1, "+", "sign"))
    return found


def c_places(folder, name, text):
    """Return the places of a file."""
    seen = Counter()
    found = []
    for index, (start, end, instead, kind) in enumerate(c_changes(text)):
        first = text.count("\n", 0, start) + 1
        lines = tuple(range(first, text.count("\n", 0, end) + 2))
        said = f"{name} {kind} {text.splitlines()[first - 1].strip()} {text[start:end]} {instead}"
        seen[said] += 1
        found.append(Place(folder, name, index, kind, f"{said} #{seen[said]}", lines, lines))
    return found


def c_mutated(text, index):
    """Return the text with a place changed, and the difference."""
    start, end, instead, _ = c_changes(text)[index]
    changed = text[:start] + instead + text[end:]
    first, last = text.count("\n", 0, start), text.count("\n", 0, end) + 1
    return changed, [
        *(f"-{line.strip()}" for line in text.splitlines()[first:last]),
        *(f"+{line.strip()}" for line in changed.splitlines()[first:last]),
    ]
