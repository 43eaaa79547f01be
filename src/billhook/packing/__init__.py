"""Forests quantised, bit-packed and counted to the byte."""

from billhook.packing._columns import MOST_CATEGORIES, Column, EncodedColumn, Encoding, Nominal
from billhook.packing._encode import Layout, offset_bias
from billhook.packing._file import load
from billhook.packing._grids import KEY_SHIFTS, Ranks
from billhook.packing._pack import pack
from billhook.packing._packed import Packed
from billhook.packing._report import PackReport, pack_report

__all__ = [
    "KEY_SHIFTS",
    "MOST_CATEGORIES",
    "Column",
    "EncodedColumn",
    "Encoding",
    "Layout",
    "Nominal",
    "PackReport",
    "Packed",
    "Ranks",
    "load",
    "offset_bias",
    "pack",
    "pack_report",
]
