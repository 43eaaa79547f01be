"""What the documentation shows must run, and its links must lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
EXAMPLES = [
    pytest.param(code, id=f"{page.name}-{number}")
    for page in PAGES
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_in_the_documentation_runs(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(code, {})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_demo_prints_nine_sizes_and_agrees(capsys):
    demo: dict = {}
    exec((ROOT / "docs" / "examples" / "shrink_digits.py").read_text(), demo)
    demo["main"]()
    printed = capsys.readouterr().out
    assert len(re.findall(r"^ *up to", printed, re.MULTILINE)) == 9
    assert "bit for bit: yes" in printed
