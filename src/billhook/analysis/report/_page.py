"""The page of a study."""

from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from billhook.analysis.report._banner import banner
from billhook.analysis.report._curves import marks_of
from billhook.analysis.report._diagram import diagram
from billhook.analysis.report._live import live
from billhook.analysis.report._methods import Look, chip, styles_of
from billhook.analysis.report._overview import overview, unfinished
from billhook.analysis.report._paper import beside_the_paper
from billhook.analysis.report._payload import payload, script
from billhook.analysis.report._study import Study
from billhook.analysis.report._tables import (
    areas_table,
    below_tables,
    p_text,
    pairs_table,
    ranks_table,
    shape_tables,
    wins_table,
)
from billhook.html import count_text, document, section


def page(study: Study, about: Mapping[str, Any]) -> str:
    """Return the page of a study: HTML in one piece."""
    title = str(about.get("study") or "Study of pruning methods")
    content = payload(study)
    sections = {
        "wins-at": ("Which method wins at which memory", live(study, content)),
        "together": ("All data sets together", _together(study)),
        "tables": ("Tables", areas_table(study) + below_tables(study)),
        "shapes": ("Accuracy by leaves and trees", shape_tables(study)),
        "paper": ("Beside the paper", beside_the_paper(study)),
        "unfinished": ("Runs that are not done", unfinished(study)),
        "making": ("What was run", overview(study, about)),
    }
    links = "".join(
        f'<li><a href="#{name}-heading">{heading}</a></li>' for name, (heading, inner) in sections.items() if inner
    )
    return document(
        title,
        f"<header>\n<h1>{escape(title)}</h1>\n{banner(study, about)}"
        f'<p class="summary">{_summary(study)}</p>\n{_tiles(study)}'
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n</header>\n{marks_of(study.looks)}'
        f"{''.join(section(name, *parts) for name, parts in sections.items())}{script('study', content)}",
        styles=_part("report.css") + styles_of(study.looks),
        script=_part("report.js"),
    )


def _part(name: str) -> str:
    return files("billhook.analysis.report").joinpath(name).read_text("utf-8")


def _summary(study: Study) -> str:
    """Return who wins, in a sentence."""
    n_data = count_text(len(study.data), "data set")
    text = f"{count_text(len(study.methods), 'method')} on {n_data}."
    if study.comparison is None:
        return text
    best = study.comparison.mean_ranks.index[0]
    pairs = study.comparison.pairs
    worse = pairs.loc[(pairs["first"] == best) & pairs["differs"], "second"]
    text += (
        f" Over all sizes, <strong>{escape(best)}</strong> is best: mean rank "
        f"{study.comparison.mean_ranks.iloc[0]:.2f} by the area under the Pareto front"
    )
    if len(worse) == len(study.methods) - 1:
        return f"{text}, significantly better than all others."
    if worse.empty:
        return f"{text}, though not significantly better than any other."
    others = [name for name in study.methods if name != best and name not in set(worse)]
    return f"{text}, significantly better than all but {escape(_listed(others))}."


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _tiles(study: Study) -> str:
    """Return the winner below each of the caps: what most readers want to know."""
    return f'<ul class="tiles">{"".join(_tile(study, cap) for cap in study.caps)}</ul>\n'


def _tile(study: Study, cap: float) -> str:
    scores = study.below[cap].reindex(columns=study.methods).to_numpy(np.float64).round(10)
    fitting = ~np.isnan(scores).all(axis=1)
    words = '<span class="none">no model this small</span>'
    if fitting.any():
        known = scores[fitting]
        counts = (known == np.nanmax(known, axis=1, keepdims=True)).sum(axis=0)
        order = np.argsort(-counts, kind="stable")
        first, second = order[0], order[1] if len(order) > 1 else order[0]
        look: Look = study.looks[first]
        then = ""
        if second != first and counts[second]:
            name = study.looks[second].name
            then = f", as is {name}" if counts[second] == counts[first] else f", then {name} on {counts[second]}"
        words = (
            f"{chip(int(first), look, escape(look.name))}"
            f"<span>best on {counts[first]} of {fitting.sum()}{escape(then)}</span>"
        )
    return f'<li><span class="cap-name">below {cap} KB</span>{words}</li>'


def _together(study: Study) -> str:
    if study.comparison is None:
        return f'<p class="aside">There is no test: {escape(study.obstacle)}.</p>{wins_table(study)}'
    comparison = study.comparison
    test = (
        f"Friedman's test: statistic {comparison.friedman_statistic:.2f}, p {p_text(comparison.friedman_p)}. "
        if not np.isnan(comparison.friedman_p)
        else ""
    )
    left = (
        f" Left out, as a method has no area there: {', '.join(comparison.left_out)}." if comparison.left_out else ""
    )
    about = (
        f"Mean rank by the area under the Pareto front on {count_text(comparison.n_data, 'data set')}; 1 is best, at "
        f"the left. A bar joins methods that the tests do not tell apart (at {comparison.alpha:g}). {test}{left}"
    )
    return (
        f'<p class="aside">{escape(about)}</p>{diagram(comparison, study.looks)}'
        f"{ranks_table(study)}{wins_table(study)}{pairs_table(study)}"
    )
