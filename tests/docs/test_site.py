"""The site is built once, as `make docs` does, its links are followed, and pages are looked at in Chromium."""

import ast
import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import billhook as bh
from browser import Browser

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PARTS = ("analysis", "datasets", "study", "tables")
WIDTHS = {"phone": 390, "desktop": 1280}
LOOKED_AT = ("index", "gallery/plot_accuracy_over_bytes", "api/billhook.fit_table", "results/other_tools")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the folder of the built site, of a copy of the sources: Sphinx writes pages beside them."""
    pytest.importorskip("sphinx_gallery", reason="the extra `docs` is not installed: pip install '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    made = shutil.ignore_patterns("api", "gallery", "how", "ways", "__pycache__")
    shutil.copytree(DOCS, folder / "docs", ignore=lambda at, names: made(at, names) if Path(at) == DOCS else set())
    for name in ("CHANGELOG.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, folder)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "docs", "built"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    return folder / "built"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if shutil.which("chromium") is None:
        pytest.skip("chromium is not installed: make toolchains")
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def checker():
    sys.path.insert(0, str(DOCS))
    yield importlib.import_module("check_site")
    sys.path.remove(str(DOCS))


def test_all_links_lead_somewhere_and_nothing_is_loaded_from_elsewhere(site, checker):
    assert checker.check_site(site) == []


def test_a_broken_link_and_an_outside_script_are_found(tmp_path, checker):
    (tmp_path / "there.html").write_text("<p id='here'>")
    (tmp_path / "index.html").write_text(
        "<a href='gone.html'></a><a href='there.html#here'></a><a href='there.html#lost'></a>"
        "<a href='https://example.org/x'></a><script src='https://example.org/x.js'></script>"
        "<img srcset='//example.org/a.png 2x'>"
    )
    (tmp_path / "style.css").write_text("@font-face { src: url(https://example.org/font.woff2) }")
    found = checker.check_site(tmp_path)
    assert [text.split(": ", 1)[1] for text in found] == [
        "loads https://example.org/x.js",
        "loads //example.org/a.png",
        "gone.html: no such file",
        "there.html#lost: no such place in it",
        "loads from elsewhere",
    ]


def test_every_example_was_executed_and_has_a_picture(site):
    examples = [path for folder in ("gallery", "how", "ways") for path in (DOCS / "examples" / folder).glob("*.py")]
    assert len(list((DOCS / "examples" / "gallery").glob("*.py"))) >= 12
    for path in examples:
        page = (site / path.parent.name / f"{path.stem}.html").read_text()
        assert "sphx-glr-single-img" in page or "sphx-glr-horizontal" in page, path.name
        assert "Traceback" not in page, path.name
        pictures = sorted(set(re.findall(r'src="\.\./(_images/[^"]+)"', page)))
        assert len({(site / name).read_bytes() for name in pictures}) == len(pictures), f"{path.name}: one twice"
        assert f"{path.name}" in page, "its source can be downloaded"


def test_every_guide_and_every_page_of_results_is_on_the_site(site):
    for path in [*DOCS.glob("*.md"), *DOCS.glob("results/**/*.md")]:
        assert (site / path.relative_to(DOCS).with_suffix(".html")).is_file(), path.name


def _documented():
    """Return the names that the reference lists, with the modules that they are of."""
    module, names = None, set()
    for line in (DOCS / "api.md").read_text().splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif re.fullmatch(r"   [A-Za-z_][\w.]*", line):
            names.add(f"{module}.{line.strip()}")
    return names


@pytest.mark.parametrize("module", ["billhook", *(f"billhook.{part}" for part in PARTS)])
def test_the_reference_has_every_public_name(module):
    public = {f"{module}.{name}" for name in importlib.import_module(module).__all__ if name not in PARTS}
    assert public - _documented() == set()


def test_the_reference_has_no_name_that_is_not_there():
    for name in _documented():
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name


@pytest.mark.parametrize("device", WIDTHS)
@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_page_fits_its_window_and_says_nothing_in_the_console(site, browser, tmp_path, name, device):
    browser.open(site / f"{name}.html", width=WIDTHS[device])
    browser.screenshot(tmp_path / f"{device}.png")
    overflow = browser.run("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    broken = browser.run("[...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src)")
    assert overflow == 0
    assert broken == []
    assert [said for said in browser.said if said.get("type") in ("error", "warning") or "entry" in said] == []
    assert [address for address in browser.requests if not address.startswith(("file:", "data:"))] == []


def test_the_menu_of_a_phone_opens(site, browser):
    browser.open(site / "index.html", width=WIDTHS["phone"])
    shown = "getComputedStyle(document.querySelector('#pst-primary-sidebar-modal, .bd-sidebar-primary')).visibility"
    browser.run("document.querySelector('.primary-toggle').click()")
    assert browser.run("[...document.querySelectorAll('dialog[open]')].length") == 1
    assert browser.run(shown) == "visible"


def test_the_pictures_of_accuracy_are_those_of_the_tables():
    """After a change of docs/results: python benchmarks/accuracy_picture.py."""
    spec = importlib.util.spec_from_file_location("accuracy_picture", ROOT / "benchmarks" / "accuracy_picture.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for name, drawn in script.pictures().items():
        assert (DOCS / "_static" / name).read_text() == drawn, name
        assert len(drawn) < 10_000


ARDUINO = """\
#pragma once
#include <stdint.h>
enum { A0 = 14, A1, A2, A3, OUTPUT = 1, HIGH = 1, LOW = 0, LED_BUILTIN = 13 };
int analogRead(uint8_t pin);
void pinMode(uint8_t pin, uint8_t mode);
void digitalWrite(uint8_t pin, uint8_t value);
void delay(unsigned long milliseconds);
"""


def test_the_sketch_that_a_page_shows_compiles_with_the_model_of_that_page(tmp_path):
    """With the functions of the Arduino core that it calls declared; the core itself is in no package registry."""
    if shutil.which("avr-g++") is None:
        pytest.skip("avr-g++ is not installed: make toolchains")
    page = ast.parse((DOCS / "examples" / "ways" / "way_1_does_not_fit.py").read_text())
    assigned = [node for node in page.body if isinstance(node, ast.Assign)]
    [sketch] = [node.value.value for node in assigned if getattr(node.targets[0], "id", "") == "SKETCH"]
    (tmp_path / "sketch.cpp").write_text('#include "Arduino.h"\n' + sketch)
    (tmp_path / "Arduino.h").write_text(ARDUINO)
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(200, 4)), columns=["speed", "shake", "warmth", "current"])
    rows["state"] = np.where(rows["shake"] > 0, "worn", "fine")
    packed = bh.fit_table(rows, "state", budget=200, n_trials=1).packed
    assert packed.classes.tolist() == ["fine", "worn"]
    bh.emit(packed, tmp_path / "c", target="arduino-uno")
    options = ["-mmcu=atmega328p", "-std=gnu++17", "-Wall", "-Werror", "-fsyntax-only", "-I", str(tmp_path / "c")]
    done = subprocess.run(["avr-g++", *options, "sketch.cpp"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
