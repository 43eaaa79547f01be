import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import billhook as bh
from made_up_studies import run, study

TABLES = {
    "accuracy_below_32KB", "accuracy_below_64KB", "accuracy_below_128KB", "accuracy_below_256KB",
    "area_under_pareto_front", "ranks", "pairs", "wins", "pareto_fronts", "accuracy_by_shape_eeg",
    "accuracy_by_shape_magic",
}  # fmt: skip
FIGURES = (TABLES - {"ranks", "pairs", "pareto_fronts"}) | {
    "critical_difference", "accuracy_over_memory_eeg", "accuracy_over_memory_magic",
}  # fmt: skip


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    results = study(data=["eeg", "magic"], methods=["RF", "RE", "GB", "budget search"])
    folder = tmp_path_factory.mktemp("study") / "new" / "folder"
    return results, folder, bh.analysis.write_tables(results, folder)


def test_every_table_and_figure_is_written(written):
    _, folder, files = written
    expected = {"configurations.csv"}
    expected |= {f"{name}.{ending}" for name in TABLES for ending in ("csv", "tex")}
    expected |= {f"{name}.{ending}" for name in FIGURES for ending in ("png", "pdf")}
    assert {path.name for path in files} == {path.name for path in folder.iterdir()} == expected
    assert len(files) == len(expected)


def test_the_files_hold_what_the_functions_return(written):
    results, folder, _ = written
    table = bh.analysis.configurations(results)
    area = bh.analysis.areas(table)
    read = pd.read_csv(folder / "area_under_pareto_front.csv", index_col="data").rename_axis(columns="method")
    pd.testing.assert_frame_equal(read, area)
    below = pd.read_csv(folder / "accuracy_below_64KB.csv", index_col="data").rename_axis(columns="method")
    pd.testing.assert_frame_equal(below, bh.analysis.best_below(table, 64))
    shape = pd.read_csv(folder / "accuracy_by_shape_eeg.csv", index_col=["n_leaves", "n_trees"])
    pd.testing.assert_frame_equal(shape.rename_axis(columns="method"), bh.analysis.by_shape(table, "eeg"))
    assert len(pd.read_csv(folder / "configurations.csv")) == len(table)
    assert len(pd.read_csv(folder / "pareto_fronts.csv")) == len(bh.analysis.pareto_fronts(table))
    ranks = pd.read_csv(folder / "ranks.csv", index_col="data")
    assert ranks.loc["mean"].to_dict() == bh.analysis.compare(area).mean_ranks.to_dict()
    best = f"{100 * bh.analysis.best_below(table, 64).loc['eeg'].max():.3f}"
    assert f"\\textbf{{{best}}}" in (folder / "accuracy_below_64KB.tex").read_text()


def test_figures_are_what_their_names_say(written):
    _, _, files = written
    for path in files:
        start = {".png": b"\x89PNG", ".pdf": b"%PDF"}.get(path.suffix, b"")
        assert path.read_bytes().startswith(start)


def test_the_same_results_give_the_same_bytes(tmp_path):
    results = study(data=["eeg"], methods=["RF", "RE"], leaves=(64,), trees=(8, 16), folds=1)
    first, second = (bh.analysis.write_tables(results, tmp_path / name) for name in ("one", "two"))
    assert [path.name for path in first] == [path.name for path in second]
    for a, b in zip(first, second, strict=True):
        assert a.read_bytes() == b.read_bytes(), a.name


def test_one_data_set_or_one_method_is_written_without_ranks(tmp_path):
    for name, results in {"set": study(data=["eeg"]), "method": study(methods=["RF"])}.items():
        names = {path.name for path in bh.analysis.write_tables(results, tmp_path / name, figures=False)}
        assert "area_under_pareto_front.csv" in names
        assert not names & {"ranks.csv", "pairs.csv", "wins.csv"}


def test_tables_without_figures_are_written_without_figures(tmp_path):
    files = bh.analysis.write_tables(study(data=["eeg"]), tmp_path, figures=False)
    assert {path.suffix for path in files} == {".csv", ".tex"}


@pytest.mark.parametrize("caps", [(4, 8, 16, 32), (0.5, 2), (20.0,)])
def test_there_is_a_table_for_each_of_the_caps_that_are_given(caps, tmp_path):
    results = study(methods=["RF", "RE", "GB"], leaves=(4, 16), trees=(1, 2, 8))
    files = bh.analysis.write_tables(results, tmp_path, figures=False, caps=caps)
    names = {path.name for path in files if path.name.startswith("accuracy_below_")}
    assert names == {f"accuracy_below_{cap:g}KB.{ending}" for cap in caps for ending in ("csv", "tex")}
    table = bh.analysis.configurations(results)
    for cap in caps:
        read = pd.read_csv(tmp_path / f"accuracy_below_{cap:g}KB.csv", index_col="data").rename_axis(columns="method")
        pd.testing.assert_frame_equal(read, bh.analysis.best_below(table, cap))
        assert read.notna().any(axis=None)
        latex = (tmp_path / f"accuracy_below_{cap:g}KB.tex").read_text()
        assert f"of models below {cap:g} KB." in latex
        assert f"tab:accuracy_below_{cap:g}KB" in latex


def test_figures_of_caps_that_are_no_whole_numbers_are_written(tmp_path):
    results = study(["eeg"], ["RF", "RE"], leaves=(4,), trees=(1, 2), folds=1)
    names = {path.name for path in bh.analysis.write_tables(results, tmp_path, caps=(0.25, 2.5))}
    assert {f"accuracy_below_{cap}KB.{ending}" for cap in (0.25, 2.5) for ending in ("png", "pdf")} <= names


def test_methods_without_shapes_are_written_without_a_table_by_shape(tmp_path):
    rows = [
        run(d, "budget search", 0.5 + b / 10, b * 1024, n_leaves=None, n_trees=None, options=f"{b}")
        for d in "ab"
        for b in (1, 2)
    ]
    names = {path.name for path in bh.analysis.write_tables(pd.DataFrame(rows), tmp_path, figures=False)}
    assert "accuracy_below_32KB.csv" in names
    assert "accuracy_by_shape_a.csv" not in names


def test_names_of_data_sets_that_no_file_can_have_are_changed(tmp_path):
    results = pd.DataFrame([run(name, n_trees=k, nbytes=k) for name in ("a/b", "a b", "A b", "50%") for k in (1, 2)])
    files = bh.analysis.write_tables(results, tmp_path, figures=False)
    names = {path.name for path in files if path.suffix == ".csv" and "shape" in path.name}
    assert names == {
        "accuracy_by_shape_A_b.csv", "accuracy_by_shape_a_b-2.csv", "accuracy_by_shape_a_b-3.csv",
        "accuracy_by_shape_50_.csv",
    }  # fmt: skip
    assert "on 50\\%." in (tmp_path / "accuracy_by_shape_50_.tex").read_text()


def test_a_study_with_gaps_is_written(tmp_path):
    results = study(methods=["RF", "RE", "GB"])
    gone = (results["data"] == "eeg") & (results["method"] == "RE")
    results.loc[gone, ["status", "accuracy"]] = ["failed", np.nan]
    bh.analysis.write_tables(results, tmp_path, figures=False)
    assert pd.read_csv(tmp_path / "area_under_pareto_front.csv", index_col="data").isna().sum().sum() == 1
    assert list(pd.read_csv(tmp_path / "ranks.csv")["data"]) == ["chess", "magic", "mean"]


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_the_analysis_is_there_without_an_import_and_imports_pandas_when_it_is_used():
    ran = run_python(
        "import sys, billhook as bh; bh.analysis.areas; print('pandas' in sys.modules, 'matplotlib' in sys.modules);"
        "print(float(bh.analysis.published('area_under_pareto_front').loc['eeg', 'RF']))"
    )
    assert ran.stdout.splitlines() == ["False False", "0.9225"], ran.stderr


def test_without_pandas_the_error_says_what_to_install():
    ran = run_python("import sys; sys.modules['pandas'] = None; import billhook as bh; bh.analysis.published('x')")
    assert ran.stderr.endswith("ImportError: to analyse results, pip install 'billhook[study]'\n")
    ran = run_python(
        "import sys; sys.modules['matplotlib.figure'] = None; import billhook as bh;"
        "bh.analysis.win_map(bh.analysis.published('area_under_pareto_front'))"
    )
    assert ran.stderr.endswith("ImportError: to draw figures, pip install 'billhook[study]'\n")
