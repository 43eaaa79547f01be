import numpy as np
import pandas as pd
import pytest

import billhook as bh
from made_up_studies import run, study


def test_the_table_has_a_row_per_shape_and_a_column_per_method():
    rows = [
        run(method="RF", accuracy=0.5, n_leaves=64, n_trees=8),
        run(method="RF", accuracy=0.6, n_leaves=64, n_trees=16),
        run(method="RE", accuracy=0.7, n_leaves=64, n_trees=8),
        run(method="DREP", accuracy=0.1, n_leaves=64, n_trees=8, options='{"rho": 0.3}'),
        run(method="DREP", accuracy=0.2, n_leaves=64, n_trees=8, options='{"rho": 0.5}'),
        run(method="budget search", accuracy=0.9, n_leaves=None, n_trees=None),
        run("chess", method="IC", accuracy=0.9),
    ]
    table = bh.analysis.by_shape(bh.analysis.configurations(pd.DataFrame(rows)), "eeg")
    expected = pd.DataFrame(
        {"DREP": [0.2, np.nan], "RE": [0.7, np.nan], "RF": [0.5, 0.6]},
        index=pd.MultiIndex.from_tuples([(64, 8), (64, 16)], names=["n_leaves", "n_trees"]),
    ).rename_axis(columns="method")
    pd.testing.assert_frame_equal(table, expected)


def test_it_has_the_form_of_the_papers_table():
    results = study(
        data=["eeg"],
        methods=["COMP", "DREP", "IC", "IE", "LMD", "RE", "RF"],
        leaves=(64, 128, 256, 512, 1024),
        trees=(8, 32, 128),
    )
    table = bh.analysis.by_shape(bh.analysis.configurations(results), "eeg")
    printed = bh.analysis.published("eeg_accuracy_by_n_l_and_K")
    pd.testing.assert_index_equal(table.index, printed.index)
    pd.testing.assert_index_equal(table.columns, printed.columns)


def test_data_sets_without_shapes_or_results_are_refused():
    table = bh.analysis.configurations(pd.DataFrame([run(n_leaves=None, n_trees=None)]))
    with pytest.raises(ValueError, match="no configuration on 'eeg' has a number of leaves and of trees"):
        bh.analysis.by_shape(table, "eeg")
    with pytest.raises(ValueError, match="no results on the data set 'egg'; did you mean 'eeg'"):
        bh.analysis.by_shape(table, "egg")
