"""What all pages are made of: templates with the only tags there are, tables, axes and number formats."""

from billhook.html._axes import Scale, Tick, byte_scale, byte_ticks, log2, padded, round_ticks
from billhook.html._formats import count_text, minus, number_text, share_text, size_text, time_text
from billhook.html._tables import Cell, Head, PageTable, TableRow, number_heads
from billhook.html._templates import notebook_table, render

__all__ = [
    "Cell",
    "Head",
    "PageTable",
    "Scale",
    "TableRow",
    "Tick",
    "byte_scale",
    "byte_ticks",
    "count_text",
    "log2",
    "minus",
    "notebook_table",
    "number_heads",
    "number_text",
    "padded",
    "render",
    "round_ticks",
    "share_text",
    "size_text",
    "time_text",
]
