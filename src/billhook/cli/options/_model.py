"""Options that several commands have."""

import argparse

ANY_MODEL = "a model file of any kind, or the folder of a fit"


def add_model_and_table(parser: argparse.ArgumentParser, rows: str) -> None:
    """Add MODEL, TABLE and --label."""
    parser.add_argument("model", metavar="MODEL", help="a saved forest, or a model file of another library")
    parser.add_argument("table", metavar="TABLE", help=f"{rows}: CSV, Parquet or ARFF")
    parser.add_argument("--label", required=True, metavar="COLUMN", help="the column to predict")


def add_fill_missing(parser: argparse.ArgumentParser) -> None:
    """Add --fill-missing."""
    parser.add_argument(
        "--fill-missing", action="store_true", help="take columns that TABLE lacks as missing in every row"
    )


def add_out(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --out and --force."""
    parser.add_argument("--out", required=True, metavar="FILE", help=f"where to write {what}")
    parser.add_argument("--force", action="store_true", help="replace FILE if it is there")
