"""Check a built site: every link inside it leads somewhere, and no page loads anything from elsewhere.

python docs/check_site.py build/docs
"""

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What the browser loads by itself. A link that a person may click leads where it likes.
LOADED = {
    "audio": "src",
    "embed": "src",
    "iframe": "src",
    "image": "href",
    "img": "src",
    "link": "href",
    "object": "data",
    "script": "src",
    "source": "src",
    "track": "src",
    "use": "href",
    "video": "src",
}


class Page(HTMLParser):
    """The links, the loaded files and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what an element refers to."""
        given = dict(attrs)
        self.anchors |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in LOADED and given.get(LOADED[tag]) and given.get("rel") != "canonical":
            self.loaded.append(given[LOADED[tag]])
        if given.get("srcset"):
            self.loaded += [part.split()[0] for part in given["srcset"].split(",") if part.strip()]


@cache
def page_of(path: Path) -> Page:
    """Return a page; it is read once."""
    return Page(path.read_text(encoding="utf-8"))


def faults_of(path: Path) -> list[str]:
    """Return what is wrong with the links of a page."""
    page = page_of(path)
    faults = [
        f"loads {address}"
        for address in page.loaded
        if urlsplit(address).netloc or urlsplit(address).scheme not in ("", "data")
    ]
    for address in page.links + page.loaded:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if target.is_dir():
            target = target / "index.html"
        if not target.is_file():
            faults.append(f"{address}: no such file")
        elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in page_of(target).anchors:
            faults.append(f"{address}: no such place in it")
    return faults


def loads_of_styles(folder: Path) -> list[str]:
    """Return the style sheets that load something from elsewhere."""
    sheets = [(path, path.read_text(encoding="utf-8")) for path in folder.rglob("*.css")]
    return [
        f"{path.relative_to(folder)}: loads from elsewhere"
        for path, text in sheets
        if any(mark in text for mark in ("url(http", 'url("http', "url('http", "url(//", "@import url(http"))
    ]


def pages_of(folder: Path) -> list[Path]:
    """Return the pages of a site; a theme's templates are none."""
    return sorted(path for path in folder.rglob("*.html") if "_static" not in path.relative_to(folder).parts)


def check_site(folder: Path) -> list[str]:
    """Return everything that is wrong with the links of a site."""
    folder = folder.resolve()
    pages = pages_of(folder)
    found = [f"{path.relative_to(folder)}: {fault}" for path in pages for fault in faults_of(path)]
    return found + loads_of_styles(folder)


def main() -> int:
    """Print what is wrong; return the exit status."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/docs")
    if not (folder / "index.html").is_file():
        print(f"{folder} has no index.html: build the site first, with `make docs`", file=sys.stderr)
        return 2
    found = check_site(folder)
    print("\n".join(found) if found else f"{len(pages_of(folder))} pages, all links lead somewhere")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
