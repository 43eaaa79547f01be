"""What the documentation shows must run, and its links must lead somewhere."""

import re
from pathlib import Path

import pytest

from billhook.cli import main

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
EXAMPLES = [
    pytest.param(code, id=f"{page.relative_to(ROOT).as_posix()}-{number}")
    for page in PAGES
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]
# Folders of pages that are written when the site is built, which checks the links once more.
GALLERIES = ("gallery", "how", "ways")


def _linked(page, target):
    """Return the file that a link leads to; for a page that Sphinx writes, what it is made of."""
    folder, _, name = target.partition("/")
    if folder == "api":
        return ROOT / "docs" / "api.md"
    if folder in GALLERIES:
        source = "GALLERY_HEADER.rst" if name == "index.rst" else f"{Path(name).stem}.py"
        return ROOT / "docs" / "examples" / folder / source
    return page.parent / target if target else page


def _name(page):
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_in_the_documentation_runs(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(code, {})


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_between_pages_lead_somewhere(page):
    for target, heading in re.findall(r"\]\(([^)#:]*)(?:#([^):]+))?\)", page.read_text()):
        linked = _linked(page, target)
        assert linked.exists(), target
        if heading:
            headings = re.findall(r"^#+ (.+)$", linked.read_text(), re.MULTILINE)
            assert heading in [re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings]


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_scripts_that_a_page_names_are_there(page):
    for script in re.findall(r"\b(?:benchmarks|docs/examples)/\w+\.py", page.read_text()):
        assert (ROOT / script).exists(), script


def test_every_page_of_results_is_in_their_index_and_names_its_command():
    results = ROOT / "docs" / "results"
    index = (results / "README.md").read_text()
    command = re.compile(r"^    .*python (benchmarks|docs/examples)/\w+\.py", re.MULTILINE)
    for page in set(results.glob("*.md")) - {results / "README.md"}:
        assert f"({page.name})" in index, page.name
        assert command.search(page.read_text()), page.name


def test_the_readme_shows_what_fit_prints(tmp_path, monkeypatch, capsys):
    """The same lines in the same words; only the numbers depend on the machine."""
    sample = re.search(
        r"^    \$ billhook (fit --demo .*)\n((?:    .+\n)+)", (ROOT / "README.md").read_text(), re.MULTILINE
    )
    command, shown = sample[1].split(), re.sub("^    ", "", sample[2], flags=re.MULTILINE)
    place = command.index("--time-limit")
    monkeypatch.chdir(tmp_path)
    assert main([*command[:place], "--trials", "1", *command[place + 2 :]]) == 0
    printed = capsys.readouterr().out

    def words(text):
        text = re.sub(r"\b(tree|configuration)\b", r"\1s", text)
        text = re.sub(r"^The search ended early, .*\n", "", text, flags=re.MULTILINE)  # as it may with a time limit
        return [re.sub(r"\d[\d,.]*", "N", line) for line in text.splitlines()]

    assert words(printed) == words(shown)


def test_the_commands_on_looking_at_a_model_run(tmp_path, monkeypatch, capsys):
    text = (ROOT / "docs" / "inspect.md").read_text()
    monkeypatch.chdir(tmp_path)
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], {})
    commands = re.findall(r"^    \$ billhook (.+)$", text, re.MULTILINE)
    assert len(commands) > 8
    for command in commands:
        assert main(command.split()) == 0, command
        assert "billhook: " not in capsys.readouterr().err


def test_every_module_and_folder_is_in_the_layout():
    layout = (ROOT / "CONTRIBUTING.md").read_text()
    for path in (ROOT / "src" / "billhook").iterdir():
        is_part = path.is_dir() and (path / "__init__.py").exists()
        if is_part or re.fullmatch(r"_[a-z]+\.py", path.name):
            assert f"    {path.name}{'/' * is_part} " in layout, path.name


def test_the_demo_prints_nine_sizes_and_agrees(capsys):
    demo: dict = {}
    exec((ROOT / "docs" / "examples" / "shrink_digits.py").read_text(), demo)
    demo["main"]()
    printed = capsys.readouterr().out
    assert len(re.findall(r"^ *up to", printed, re.MULTILINE)) == 9
    assert "bit for bit: yes" in printed
