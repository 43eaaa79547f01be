"""Names of the user's, made harmless in C."""

import re

# fmt: off
KEYWORDS = frozenset({
    "and", "asm", "auto", "bool", "break", "case", "catch", "char", "class", "const", "continue", "default",
    "delete", "do", "double", "else", "enum", "explicit", "extern", "false", "float", "for", "friend", "goto",
    "if", "inline", "int", "long", "main", "mutable", "namespace", "new", "not", "nullptr", "operator", "or",
    "private", "protected", "public", "register", "restrict", "return", "selftest", "short", "signed", "sizeof",
    "static", "struct", "switch", "template", "this", "throw", "true", "try", "typedef", "typename", "union",
    "unsigned", "using", "virtual", "void", "volatile", "while", "xor",
})
# fmt: on


def check_name(name: str) -> None:
    """Refuse what is no name."""
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, not {name!r}")
    if not name:
        raise ValueError("the name that those in C begin with is empty: leave it out for 'model'")


def identifier(name: str) -> str:
    """Return a C identifier that looks like the name."""
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "model"
    if plain[0].isdigit() or plain.lower() in KEYWORDS:
        plain = f"model_{plain}"
    return plain[:48]


def string_literal(text: str) -> str:
    """Return a C string literal of the text in UTF-8; nothing in it can end the string or start anything."""
    parts = []
    for byte in text.encode("utf-8", "backslashreplace"):
        char = chr(byte)
        # Three octal digits end by themselves; '?' could begin a trigraph.
        parts.append(char if char.isascii() and (char.isalnum() or char in " _-.,:;+=()[]") else f"\\{byte:03o}")
    return '"' + "".join(parts) + '"'


def comment(text: str) -> str:
    """Return the text as it may stand in a comment: one line of printable ASCII that cannot end the comment."""
    plain = "".join(char if " " <= char <= "~" else "?" for char in text)
    return plain.replace("*/", "* /").replace("/*", "/ *").replace("\\", "/").replace("??", "? ?")[:200]
