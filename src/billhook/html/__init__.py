"""What all pages are made of: the frame, tables, axes and number formats."""

from billhook.html._axes import (
    Scale,
    axis_names,
    byte_axis,
    byte_scale,
    legend_item,
    line,
    log2,
    padded,
    round_ticks,
    tick_across,
    tick_up,
)
from billhook.html._document import box, document, facts, head, number_head, section, table
from billhook.html._formats import count_text, minus, number_text, share_text, size_text, time_text

__all__ = [
    "Scale",
    "axis_names",
    "box",
    "byte_axis",
    "byte_scale",
    "count_text",
    "document",
    "facts",
    "head",
    "legend_item",
    "line",
    "log2",
    "minus",
    "number_head",
    "number_text",
    "padded",
    "round_ticks",
    "section",
    "share_text",
    "size_text",
    "table",
    "tick_across",
    "tick_up",
    "time_text",
]
