"""Names of the user's, made harmless in C."""

import re

# fmt: off
KEYWORDS = frozenset({
    "auto", "bool", "break", "case", "char", "class", "const", "continue", "default", "delete", "do", "double",
    "else", "enum", "extern", "false", "float", "for", "goto", "if", "inline", "int", "long", "main", "namespace",
    "new", "private", "protected", "public", "register", "restrict", "return", "short", "signed", "sizeof", "static",
    "struct", "switch", "template", "this", "true", "typedef", "union", "unsigned", "using", "void", "volatile",
    "while",
})
# fmt: on


def identifier(name: str) -> str:
    """Return a C identifier that looks like the name."""
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "model"
    if plain[0].isdigit() or plain in KEYWORDS:
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
