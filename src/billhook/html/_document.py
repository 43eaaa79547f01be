"""Pages of one piece: sections and tables, and the frame around them."""

from collections.abc import Iterable
from html import escape
from importlib.resources import files

# The browser itself keeps the page from loading anything.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def document(title: str, content: str, *, styles: str, script: str) -> str:
    """Return a page: HTML in one piece.

    Parameters
    ----------
    title : str
    content : str
        HTML.
    styles : str
        What the page looks like beyond the looks that all pages share.
    script : str
    """
    shared = files("billhook.html").joinpath("pages.css").read_text("utf-8")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">
<title>{escape(title)}</title>
<style>
{shared}{styles}</style>
</head>
<body>
<main>
{content}</main>
<script>
{script}</script>
</body>
</html>
"""


def section(name: str, heading: str, content: str) -> str:
    """Return a section with a heading; nothing without content."""
    if not content:
        return ""
    return (
        f'<section aria-labelledby="{name}-heading">\n<h2 id="{name}-heading">{heading}</h2>\n{content}\n</section>\n'
    )


def facts(words: dict[str, str]) -> str:
    """Return facts by their name; those without words are left out."""
    items = (f"<dt>{escape(name)}</dt><dd>{escape(fact)}</dd>" for name, fact in words.items() if fact)
    return f"<dl>{''.join(items)}</dl>"


def head(text: str) -> str:
    """Return the head of a column."""
    return f'<th scope="col">{escape(text)}</th>'


def number_head(text: str) -> str:
    """Return the head of a column of numbers."""
    return f'<th scope="col" class="number">{escape(text)}</th>'


def table(name: str, heads: Iterable[str], rows: Iterable[str]) -> str:
    """Return a table in a box, below the heading of this name."""
    top, body = "".join(heads), "\n".join(rows)
    return box(name, f'<table class="{name}"><thead><tr>{top}</tr></thead>\n<tbody>{body}</tbody></table>')


def box(name: str, content: str) -> str:
    """Return a table that scrolls by itself where it is wider than the page."""
    return f'<div class="box" role="region" tabindex="0" aria-labelledby="{name}-heading">{content}</div>'
