"""Categorical splits in graphs of ONNX, whose trees compare numbers.

For every feature and set that splits test, a table says of each category 0 if it is in the set, and 1 if it is not;
looked up before the trees, these are further features, which the trees compare with 0.5. So no branch is copied, and
whatever reads ONNX's oldest tree ensembles reads these.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook.forest import Forest, categories_of

# The first rows of a table are for a missing value and for a number below all categories, the last for one above.
BELOW = 2
MAX_TABLE_BYTES = 2**28
# What the trees compare with: 0 is in the set, 1 is not.
IN_OR_OUT = 0.5

Operator = tuple[str, list[str], list[str], dict[str, Any]]


class Lookup(NamedTuple):
    """The tables of a forest.

    Attributes
    ----------
    feature : int array (nodes)
        What the trees test: the forest's features, and then a column for each column of the tables.
    columns : list of arrays
        The categorical features.
    tables : list of arrays
        For each of them, a row for each number that its value becomes, and a column for each set.
    """

    feature: NDArray[np.int64]
    columns: list[int]
    tables: list[NDArray[np.float32]]

    @property
    def tree_input(self) -> str:
        """What the rows are called that the trees read."""
        return "features" if self.tables else "X"


def lookup_of(forest: Forest) -> Lookup:
    """Return the tables that a forest's categorical splits need."""
    feature = forest.feature.astype(np.int64)
    testing = np.flatnonzero(forest.category_set >= 0)
    if testing.size == 0:
        return Lookup(feature, [], [])
    pairs = np.stack([feature[testing], forest.category_set[testing].astype(np.int64)], axis=1)
    # In the order in which the trees first have them, so that a forest read back is written the same.
    different, first, which = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    order = np.lexsort((first, different[:, 0]))
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    feature[testing] = forest.n_features + place[which.ravel()]
    columns = np.unique(different[:, 0]).tolist()
    tables = [_table(forest, different[order][different[order, 0] == column, 1].tolist()) for column in columns]
    return Lookup(feature, columns, tables)


def _table(forest: Forest, numbers: list[int]) -> NDArray[np.float32]:
    sets = [categories_of(forest, number) for number in numbers]
    n_categories = max(int(one.max(initial=-1)) for one in sets) + 1
    if 4 * (n_categories + BELOW + 1) * len(sets) > MAX_TABLE_BYTES:
        raise ValueError(
            f"{len(sets):,} sets of up to {n_categories:,} categories take more than {MAX_TABLE_BYTES:,} bytes as "
            "tables in a graph of ONNX; number the categories from 0, or use to_treelite"
        )
    table = np.ones((n_categories + BELOW + 1, len(sets)), np.float32)
    for column, categories in enumerate(sets):
        table[categories + BELOW, column] = 0.0
    table[0] = np.nan
    return table


def lookup_operators(lookup: Lookup) -> tuple[list[Operator], dict[str, NDArray[Any]]]:
    """Return the operators that look sets up, and their constants: numbers, cut off towards zero, choose rows."""
    if not lookup.tables:
        return [], {}
    size = np.array([[len(table) - BELOW - 1 for table in lookup.tables]], np.float32)
    constants: dict[str, NDArray[Any]] = {
        "categorical": np.array(lookup.columns),
        "nought": np.zeros((), np.float32),
        "below": np.full((), -1, np.float32),
        "above": size,
        "missing": np.full((), -BELOW, np.float32),
        "first_row": np.full((), BELOW),
    }
    operators: list[Operator] = [
        ("Gather", ["X", "categorical"], ["chosen"], {"axis": 1}),
        ("Less", ["chosen", "nought"], ["is_negative"], {}),
        ("Ceil", ["chosen"], ["rounded_up"], {}),
        ("Floor", ["chosen"], ["rounded_down"], {}),
        ("Where", ["is_negative", "rounded_up", "rounded_down"], ["whole"], {}),
        ("Max", ["whole", "below"], ["from_below"], {}),
        ("Min", ["from_below", "above"], ["to_above"], {}),
        ("IsNaN", ["chosen"], ["is_missing"], {}),
        ("Where", ["is_missing", "missing", "to_above"], ["category"], {}),
        ("Cast", ["category"], ["integer"], {"to": 7}),
        ("Add", ["integer", "first_row"], ["row"], {}),
    ]
    for number, table in enumerate(lookup.tables):
        constants |= {f"place_{number}": np.array(number), f"table_{number}": table}
        operators += [
            ("Gather", ["row", f"place_{number}"], [f"row_{number}"], {"axis": 1}),
            ("Gather", [f"table_{number}", f"row_{number}"], [f"sets_{number}"], {"axis": 0}),
        ]
    found = [f"sets_{number}" for number in range(len(lookup.tables))]
    return [*operators, ("Concat", ["X", *found], [lookup.tree_input], {"axis": 1})], constants
