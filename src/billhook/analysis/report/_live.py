"""What follows the slider of the memory cap."""

from html import escape
from typing import Any

from billhook.analysis.report._curves import curves
from billhook.analysis.report._payload import boards, first_stop
from billhook.analysis.report._study import Study
from billhook.html import box, byte_axis, count_text, head, number_head, size_text


def live(study: Study, content: dict[str, Any]) -> str:
    """Return what follows the slider: the map, the table and the plots."""
    stops = content["stops"]
    start = first_stop(stops, study.caps)
    return f"""<noscript><p>What moves with the slider needs scripts; the tables below do not.</p></noscript>
<div class="live">
<div class="controls">
<label for="cap">Memory cap</label>
<input type="range" id="cap" min="0" max="{len(stops) - 1}" value="{start}" step="1" autocomplete="off" \
aria-valuetext="{size_text(stops[start])}">
<output id="cap-said" for="cap" aria-live="off">{size_text(stops[start])}</output>
<span id="boards-said"></span>
</div>
<p id="verdict" aria-live="polite"></p>
<div id="map" role="img" aria-label="The most accurate method at each size, for every data set; in numbers below">
<div id="map-rows"></div>
<div class="strip axis"><span class="name"></span><span class="pieces"><svg>{byte_axis(study.span)}</svg></span></div>
</div>
<p class="aside">Each line is a data set. Its colour is that of the method with the most accurate model of at most so
many bytes; overall, of the method that is best on most data sets.</p>
{_methods(study)}
{_boards()}
<h3 id="best-heading">Best accuracy below the cap</h3>
{_best_table(study)}
<h3 id="curves-heading">Accuracy over memory</h3>
<p class="aside">A dot for every configuration, a line of steps for the best of each method. Point at a dot, or go
along with the arrow keys. The dashed line is the memory cap. {_beyond(study)}</p>
<div class="cards">{"".join(_card(study, number, data) for number, data in enumerate(study.data))}</div>
</div>"""


def _methods(study: Study) -> str:
    buttons = "".join(
        f'<button type="button" class="method own-{m} {look.fill}" aria-pressed="true">'
        f'<svg width="18" height="18" viewBox="-7 -7 14 14" aria-hidden="true"><use href="#mark-{m}"/></svg>'
        f"{escape(look.name)}</button>"
        for m, look in enumerate(study.looks)
    )
    return (
        f'<div class="methods" role="group" aria-label="Methods"><span class="aside">Methods to compare '
        f"(press one to leave it out of the map, the table and the plots)</span>{buttons}</div>"
    )


def _boards() -> str:
    buttons = "".join(
        f'<button type="button" class="board" data-flash="{board.flash}"><span>{board.name}</span> '
        f"<span>{size_text(board.flash)}</span> <small></small></button>"
        for board in boards()
    )
    return (
        f'<div class="boards" role="group" aria-label="Microcontrollers"><span class="aside">Microcontrollers '
        f"by flash, of which the program takes some too (press one to set the cap to its flash)</span>{buttons}</div>"
    )


def _best_table(study: Study) -> str:
    heads = "".join((head("data set"), head("best"), head("model"), *map(number_head, study.methods)))
    return box(
        "best",
        f'<table class="best-below"><thead><tr id="best-heads">{heads}</tr></thead><tbody id="best-body"></tbody>'
        f'<tfoot id="best-foot"></tfoot></table>',
    )


def _card(study: Study, number: int, data: str) -> str:
    table = study.table[study.table["data"] == data]
    return (
        f'<figure id="plot-{number}">'
        f'<figcaption><strong>{escape(data)}</strong> <span id="best-{number}"></span></figcaption>'
        f"{curves(number, table[table['nbytes'] <= study.largest], study.looks, study.span)}"
        f'<p class="told-words" id="told-{number}" aria-live="polite"></p></figure>\n'
    )


def _beyond(study: Study) -> str:
    n_beyond = int((study.table["nbytes"] > study.largest).sum())
    few = count_text(n_beyond, "configuration")
    return f"{few} above {size_text(study.largest)} are not drawn." if n_beyond else ""
