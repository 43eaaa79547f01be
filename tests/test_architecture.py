"""The rules of the folders, for every folder there will be; the order of imports is import-linter's business."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "billhook"
MODULES = sorted(SOURCE.rglob("*.py"))


def imports_of(path):
    """Return the absolute names of all that a module imports, functions' own imports included."""
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


C_SOURCES = sorted((SOURCE / "kernels").glob("*.[ch]"))
# What knows of Python; all else is plain C.
OF_PYTHON = ("arguments", "bind", "module")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_kernels_import_the_extension(path):
    if path.parent != SOURCE / "kernels":
        assert not [name for name in imports_of(path) if name.startswith("billhook.kernels._native")]


@pytest.mark.parametrize("path", C_SOURCES, ids=lambda path: path.name)
def test_kernels_are_plain_c_without_state(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 400
    assert max(map(len, text.splitlines())) <= 118
    if not path.stem.startswith(OF_PYTHON):
        includes = re.findall(r'#include ["<](.*?)[">]', text)
        assert not {"Python.h", "arguments.h", "bindings.h"} & set(includes)
        assert not re.findall(r"\b(malloc|calloc|realloc|free|alloca)\s*\(", text)
        # Outside of functions only what never changes.
        assert not re.findall(r"^static (?!const\b|inline\b|HOT\b|__forceinline\b)[^(]*[=;]$", text, re.MULTILINE)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_nothing_private_is_imported_from_other_packages(path):
    for name in imports_of(path):
        package, *inner = name.split(".")
        if package not in ("billhook", "__future__"):
            assert not [part for part in inner if part.startswith("_")], name


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_can_be_read_in_one_sitting(path):
    assert len(path.read_text().splitlines()) <= 400


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_folder_imports_nothing_private_of_another(path):
    """What other folders may use is in `__init__`; the modules beside the folders serve them all."""
    own = path.relative_to(SOURCE).parts[0]
    for name in imports_of(path):
        package, *inner = name.split(".")
        if package == "billhook" and len(inner) > 1 and inner[0] != own and not inner[0].startswith("_"):
            assert not [part for part in inner[1:] if part.startswith("_")], name


def test_no_clock_that_can_be_set_measures_time():
    """It may be set back while a fit runs, and its time limit would never come."""
    for path in MODULES:
        assert not re.search(r"\btime\.time\(|\bdatetime\.(now|today)\(|\butcnow\(", path.read_text()), path
    for path in C_SOURCES:
        assert not re.search(r"\b(time|gettimeofday|CLOCK_REALTIME)\b *[(;]", path.read_text()), path


def test_a_class_name_means_one_thing():
    homes = {}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(str(path.relative_to(SOURCE)))
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def test_a_type_has_one_definition():
    """Type variables aside, which mean what they mean in their own module."""
    homes = {}
    for path in MODULES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and re.match(
                r"(NDArray|Literal|Callable|tuple)\b", ast.unparse(node.value)
            ):
                homes.setdefault(ast.unparse(node.targets[0]), []).append(str(path.relative_to(SOURCE)))
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def test_the_import_contract_has_every_folder_in_the_order_data_flows():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [layer.strip("()") for layer in contracts[0]["layers"]]
    assert layers[::-1] == [
        "kernels",
        "_files : _checks : _deadline : _interruption : _out_of_memory : _progress : _types",
        "html",
        "tables",
        "forest",
        "interop",
        "growing",
        "pruning",
        "refinement",
        "packing",
        "codegen",
        "datasets",
        "cluster",
        "budget",
        "inspection",
        "estimators",
        "analysis",
        "study",
        "cli",
    ]
    assert contracts[0]["exhaustive"]  # a folder that is not in the list fails the contract


# An element of HTML or SVG that begins or ends: its name, and then a space, a slash or the end of the tag.
ELEMENTS = (
    "a|article|aside|body|br|button|caption|circle|dd|defs|desc|details|div|dl|dt|em|figcaption|figure|"
    "footer|form|g|h1|h2|h3|h4|head|header|hr|html|iframe|img|input|label|legend|li|line|link|main|meta|"
    "nav|noscript|ol|option|output|p|path|polygon|polyline|pre|rect|script|section|select|small|span|"
    "strong|style|sub|summary|sup|svg|symbol|table|tbody|td|text|tfoot|th|thead|title|tr|tspan|u|ul|use"
)
TAG = re.compile(rf"</?(?:{ELEMENTS})(?:[\s>]|/>)|<!doctype", re.IGNORECASE)


def texts_of(path):
    """Return all strings of a module, those of f-strings in their parts, without docstrings."""
    tree = ast.parse(path.read_text())
    bodies = [node.body for node in ast.walk(tree) if hasattr(node, "body") and isinstance(node.body, list)]
    alone = {id(part.value) for body in bodies for part in body if isinstance(part, ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in alone]
    return [node.value for node in constants if isinstance(node.value, str)]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_html_writes_tags(path):
    if path.parent != SOURCE / "html":
        assert not [text for text in texts_of(path) if TAG.search(text)]
        packages = {name.partition(".")[0] for name in imports_of(path)}
        assert not packages & {"html", "jinja2", "markupsafe"}


@pytest.mark.parametrize("text", ["<p>", '<td class="', "</small>", "<br/>", "a <strong>word", "<!DOCTYPE html>"])
def test_a_tag_would_be_noticed(text):
    assert TAG.search(text)


@pytest.mark.parametrize(
    "text",
    [
        "<Forest: 3 trees>",
        "#include <stdint.h>",
        "#include <avr/io.h>",
        "k<n and n <m",
        "p < 0.05",
        "x <- y",
        "<lambda>",
    ],
)
def test_what_is_no_tag_is_not_taken_for_one(text):
    assert not TAG.search(text)


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("templates/*.html")), ids=lambda path: path.name)
def test_a_template_does_not_switch_escaping_off(path):
    assert not re.search(r"\|\s*safe\b|autoescape|Markup", path.read_text())
