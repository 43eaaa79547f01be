"""Tables of data: their columns, how they become features, and readers of CSV, ARFF and Parquet."""

from billhook.tables._cells import is_number
from billhook.tables._collect import text_of
from billhook.tables._columns import (
    MOST_CATEGORIES,
    MOST_NAMED,
    Categorical,
    Column,
    EncodedColumn,
    Encoding,
    encoding_from_json,
    encoding_to_json,
)
from billhook.tables._encode import CategoricalEncoding, encode, features_of, unknown_categories
from billhook.tables._frames import frame_columns, frame_for_prediction, is_frame, table_of, table_of_frame
from billhook.tables._labels import labels_like
from billhook.tables._read import TableBlocks, read_blocks, read_features, read_table
from billhook.tables._rounding import round_down
from billhook.tables._table import Table

__all__ = [
    "MOST_CATEGORIES",
    "MOST_NAMED",
    "Categorical",
    "CategoricalEncoding",
    "Column",
    "EncodedColumn",
    "Encoding",
    "Table",
    "TableBlocks",
    "encode",
    "encoding_from_json",
    "encoding_to_json",
    "features_of",
    "frame_columns",
    "frame_for_prediction",
    "is_frame",
    "is_number",
    "labels_like",
    "read_blocks",
    "read_features",
    "read_table",
    "round_down",
    "table_of",
    "table_of_frame",
    "text_of",
    "unknown_categories",
]
