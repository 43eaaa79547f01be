"""The site: `make docs` builds it, without a network, and executes the examples."""

import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
# One thread: the examples are small, and threads that wait for each other cost more than they gain.
os.environ["OMP_NUM_THREADS"] = "1"
# The command `billhook` of the examples is that of the Python that builds the site.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

import matplotlib as mpl
from site_commands import write_commands

import billhook

mpl.use("Agg")

project = "Billhook"
author = "The Billhook developers"
copyright = f"2026, {author}"
version = release = billhook.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["examples/**"]
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say it in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_context = {"default_mode": "auto"}
html_theme = "pydata_sphinx_theme"
html_title = "Billhook"
html_static_path = ["_static"]
html_css_files = ["billhook.css"]
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_sidebars = {"index": [], "glossary": [], "faq": [], "command_line": []}
html_theme_options = {
    "logo": {"text": "Billhook"},
    "header_links_before_dropdown": 6,
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "friendly",
    "pygments_dark_style": "github-dark",
    "search_as_you_type": False,
}

sphinx_gallery_conf = {
    "examples_dirs": ["examples/ways", "examples/gallery", "examples/how"],
    "gallery_dirs": ["ways", "gallery", "how"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 1e9,  # times are those of the machine that built the pages
    "write_computation_times": False,
    "remove_config_comments": True,
    "plot_gallery": "True",
    "image_scrapers": ("site_style.scrape_returned", "matplotlib"),  # which closes those that it saves
    "reset_modules": ("site_style.reset",),
    "log_level": {"backreference_missing": "debug"},
}


def listing(pages: list[str]) -> str:
    """Return what puts pages into the menu."""
    return "\n".join(["\n```{toctree}", ":hidden:", "", *pages, "```", ""])


def complete(_app, name: str, content: list[str]) -> None:
    """List the pages of results, and guides that nothing lists; say when figures were last changed."""
    if name == "results/README":
        pages = sorted(path.stem for path in (HERE / "results").glob("*.md") if path.stem != "README")
        content[0] += listing([*pages, "paper/README"])
    elif name == "guides":
        listed = {*content[0].splitlines(), *(HERE / "index.md").read_text().splitlines(), "index"}
        content[0] += listing(sorted({path.stem for path in HERE.glob("*.md")} - listed))
    elif name.startswith("results/"):
        asked = ["git", "log", "-1", "--format=%cs, commit %h", "--", f"{name}.md"]
        found = subprocess.run(asked, cwd=HERE, capture_output=True, text=True, check=False).stdout.strip()
        if found:
            content[0] += f"\n\n---\n\nThis page was last changed on {found}.\n"


def without_labels(_app, _what, _name, _object, _options, lines: list[str]) -> None:
    """Turn what docstrings that come from scikit-learn refer to, which is not here, and their formulas into words."""
    for number, line in enumerate(lines):
        line = re.sub(r":ref:`([^`<]*?)\s*(<[^`]*>)?`", r"\1", line)
        lines[number] = re.sub(r":math:`([^`]*)`", r"``\1``", line)  # a formula would load MathJax from elsewhere


def setup(app) -> None:
    """Write the page that is made from the code, and complete others."""
    write_commands(HERE / "api" / "command_line.rst")
    app.connect("source-read", complete)
    app.connect("autodoc-process-docstring", without_labels)
