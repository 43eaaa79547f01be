"""Pages are read back: their tags and their text."""

from html.parser import HTMLParser

VOID = {"meta", "br", "img", "input", "link", "hr"}
HOSTILE = "<script>alert('1')</script>\"' onload=x & </td></style> \N{SNOWMAN} \u202eabc"


class Reader(HTMLParser):
    """Collects elements with their attributes and their text, and checks that every tag is closed in its turn."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.open, self.elements = [], []
        self.feed(html)
        self.close()
        assert not self.open, f"never closed: {[element['tag'] for element in self.open]}"

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"attribute twice in {tag}: {names}"
        element = {"tag": tag, "text": "", **dict(attrs)}
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1]["tag"] == tag, f"</{tag}> closes <{self.open[-1]['tag']}>"
        self.open.pop()

    def handle_data(self, data):
        for element in self.open:
            element["text"] += data

    def all(self, tag, **wanted):
        wanted = {name.rstrip("_"): value for name, value in wanted.items()}
        return [
            element
            for element in self.elements
            if element["tag"] == tag and all(element.get(name) == value for name, value in wanted.items())
        ]

    def section(self, name):
        """Return the text of the section with this heading, tags left out."""
        [section] = self.all("section", **{"aria-labelledby": f"{name}-heading"})
        return section["text"]


def percent(text):
    assert text.endswith("%")
    return float(text[:-1])


def check_loads_nothing(read):
    """Check that a page needs nothing but itself, and that the browser would not load it anyway."""
    for element in read.elements:
        assert not {"src", "srcset", "action", "data", "xlink:href"} & set(element), element
        assert element.get("href", "#").startswith("#"), element
        assert "url(" not in element.get("style", "")
    [style] = read.all("style")
    assert "url(" not in style["text"]
    assert "@import" not in style["text"]
    [policy] = [meta for meta in read.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert policy["content"].startswith("default-src 'none'")
