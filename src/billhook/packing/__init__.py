"""Forests quantised, bit-packed and counted to the byte."""

from billhook.packing._coding import Coding, coding_of, with_codes
from billhook.packing._columns import MOST_CATEGORIES, Column, EncodedColumn, Encoding, Nominal
from billhook.packing._cuts import Cuts, cut
from billhook.packing._encode import Layout, offset_bias
from billhook.packing._file import load
from billhook.packing._grids import KEY_SHIFTS, Ranks
from billhook.packing._pack import pack, pack_on_codes, size_on_codes
from billhook.packing._packed import Packed, codes_of
from billhook.packing._report import PackReport, pack_report

__all__ = [
    "KEY_SHIFTS",
    "MOST_CATEGORIES",
    "Coding",
    "Column",
    "Cuts",
    "EncodedColumn",
    "Encoding",
    "Layout",
    "Nominal",
    "PackReport",
    "Packed",
    "Ranks",
    "codes_of",
    "coding_of",
    "cut",
    "load",
    "offset_bias",
    "pack",
    "pack_on_codes",
    "pack_report",
    "size_on_codes",
    "with_codes",
]
