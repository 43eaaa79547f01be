"""Templates: every tag is written by one of them, and what is put into them is escaped."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from billhook.html._formats import count_text, size_text

if TYPE_CHECKING:
    from jinja2 import Environment

SHARED = "billhook.html"


def render(package: str, template: str, **values: Any) -> str:
    """Return a template, filled in.

    Parameters
    ----------
    package : str
        The full name of the package whose folder `templates` has the template. Templates there can use those of
        this package as `html/base.html`.
    template : str
        The name of the file.
    values
        What the template uses, by name. Texts are escaped.
    """
    return _environment(package).get_template(template).render(values)


def notebook_table(caption: str, facts: Mapping[str, str]) -> str:
    """Return facts by their names as a small table, as `_repr_html_` has it."""
    return render(SHARED, "notebook.html", caption=caption, facts=facts).rstrip("\n")


@cache
def _environment(package: str) -> "Environment":
    """Return where the templates of a package are compiled, once; Jinja2 is imported when the first page is made."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined
    from markupsafe import Markup

    loader = ChoiceLoader([PackageLoader(package), PrefixLoader({"html": PackageLoader(SHARED)})])
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    # In a script, `tojson` leaves no sign that could end it or be read as HTML.
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    environment.filters |= {
        "count": count_text,
        "percent": lambda place: f"{place:.2f}%",
        "share": lambda share: f"{share:.0%}",
        "size": size_text,
        "thousands": lambda number: f"{number:,}",
    }
    # Style sheets and scripts of ours are put in as they are.
    environment.globals["source"] = lambda name: Markup(loader.get_source(environment, name)[0])
    return environment
