"""Forests quantized, bit-packed and counted to the byte."""

from billhook.packing._binning import BinnedFeatures, CodedFeatures, bin_features, code_features
from billhook.packing._blob import as_float32
from billhook.packing._coding import Coding, coding_of, on_features, put_sets, threshold_codes, with_codes
from billhook.packing._file import load, load_forest, load_outputs
from billhook.packing._forest_of_tests import forest_of_tests, projection_name, rows_of_tests
from billhook.packing._groups import Group
from billhook.packing._layout import ByteLayout
from billhook.packing._pack import pack, pack_on_codes, size_on_codes
from billhook.packing._packed import Packed, codes_of
from billhook.packing._projections import Projections
from billhook.packing._quantizers import KEY_SHIFTS, CategoryQuantizer, RankQuantizer, UniformQuantizer
from billhook.packing._report import PackReport, pack_report
from billhook.packing._row_codes import RowCodes

__all__ = [
    "KEY_SHIFTS",
    "BinnedFeatures",
    "ByteLayout",
    "CategoryQuantizer",
    "CodedFeatures",
    "Coding",
    "Group",
    "PackReport",
    "Packed",
    "Projections",
    "RankQuantizer",
    "RowCodes",
    "UniformQuantizer",
    "as_float32",
    "bin_features",
    "code_features",
    "codes_of",
    "coding_of",
    "forest_of_tests",
    "load",
    "load_forest",
    "load_outputs",
    "on_features",
    "pack",
    "pack_on_codes",
    "pack_report",
    "projection_name",
    "put_sets",
    "rows_of_tests",
    "size_on_codes",
    "threshold_codes",
    "with_codes",
]
