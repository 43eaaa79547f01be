import pytest

import billhook as bh
from billhook.study import DataSource, Method, Study, StudyFileError
from billhook.study._file import line_of
from billhook.study._study import Unit, configurations_of, units_of

WHOLE = """\
data = ["iris", { name = "mine", path = "mine.csv", label = "y" }]
folds = 3
seed = 7
trees = 16
max_leaves = [8, 4]
n_trees = [4, 2]

[[methods]]
label = "RF"
prune = "random"

[[methods]]
label = "DREP"
prune = "drep"
options = { rho = [0.3, 0.5] }

[[methods]]
label = "LR"
[methods.refine]
solver = "sgd"
epochs = [5, 10]
"""


def read(tmp_path, text):
    path = tmp_path / "own.toml"
    path.write_text(text)
    return bh.study.read(path)


def test_a_file_becomes_a_study(tmp_path):
    study = read(tmp_path, WHOLE)
    assert study.name == "own"
    assert (study.folds, study.seed, study.n_base_trees) == (3, 7, 16)
    assert (study.max_leaves, study.n_trees) == ((4, 8), (2, 4))
    assert [source.name for source in study.data] == ["iris", "mine"]
    assert study.data[1].path == str(tmp_path / "mine.csv")
    assert [method.prune for method in study.methods] == ["random", "drep", "first"]


def test_lists_of_options_are_all_tried(tmp_path):
    study = read(tmp_path, WHOLE)
    _, drep, refined = study.methods
    assert drep.choices() == [{"rho": 0.3}, {"rho": 0.5}]
    assert refined.choices() == [{"refine.epochs": 5}, {"refine.epochs": 10}]
    assert refined.settings("refine", {"refine.epochs": 10}) == {"solver": "sgd", "epochs": 10}


def test_every_configuration_is_made_once(tmp_path):
    study = read(tmp_path, WHOLE)
    units = units_of(study, {"iris": 3, "mine": 1})
    keys = [one.key for unit in units for one in configurations_of(study, unit)]
    # Folds, times leaves, times trees, times what there is of each method.
    assert len(keys) == len(set(keys)) == (3 + 1) * 2 * 2 * (1 + 2 + 2)


@pytest.mark.parametrize("name", bh.study.shipped())
def test_studies_that_come_with_it_can_be_read(name):
    study = bh.study.read(name)
    assert study.name == name
    assert study == bh.study.read(f"{name}.toml")


def test_the_papers_study_is_the_papers():
    study = bh.study.read("paper")
    assert len(study.data) == 16
    assert [method.label for method in study.methods] == [
        "RF",
        "RE",
        "IC",
        "IE",
        "COMP",
        "DREP",
        "LMD",
        "CA",
        "RF-LR",
        "GB",
    ]
    assert dict(study.methods[5].options)["rho"] == (0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
    assert study.bases == ("random_forest",)
    assert bh.study.read("paper-dedicated").pruning_data == "dedicated"
    assert bh.study.read("paper-bagging").bases == ("bagging",)
    assert bh.study.read("paper-extra-trees").bases == ("extra_trees",)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("folds = 3", "fold = 3", "own.toml, line 2: there is no key 'fold' here; did you mean 'folds'?"),
        ("folds = 3", "folds = 1", "line 2: folds must be a whole number of at least 2, not 1"),
        ("folds = 3", "folds = true", "line 2: folds must be a whole number of at least 2, not True"),
        ("seed = 7", 'seed = "x"', "line 3: seed must be a whole number of at least 0, not 'x'"),
        (
            "trees = 16",
            'bases = ["random_forrest"]',
            "line 4: bases cannot be 'random_forrest'; did you mean",
        ),
        ("[8, 4]", "[8, 8]", "line 5: max_leaves must be different whole numbers of at least 2"),
        ("[4, 2]", "4", r"line 6: n_trees must be a list, as \[8, 16\], not 4"),
        ('prune = "drep"', 'prun = "drep"', "line 14: there is no key 'prun' here; did you mean 'prune'"),
        ('prune = "drep"', 'prune = "drap"', "line 14: prune cannot be 'drap'; did you mean 'drep'"),
        ('prune = "drep"', 'prune = "ranking"', "line 14: prune is 'ranking', which takes a function"),
        ("rho = ", "roh = ", "line 15: there is no option 'roh'; did you mean 'rho'"),
        ("[0.3, 0.5]", "[0.3, 0.3]", "line 15: rho must be different values in a list"),
        ("epochs = ", "epoch = ", "line 21: there is no option of refine 'epoch'; did you mean 'epochs'"),
        ('label = "LR"', 'label = "RF"', "methods have the name 'RF' twice"),
        ('label = "LR"', "", "methods needs a label"),
        (', label = "y"', "", "path needs a label too: the column to predict"),
        ('path = "mine.csv", ', "", "label is for tables of your own: give a path too"),
        ('data = ["iris"', 'data = ["iris", "iris"', "data have the name 'iris' twice"),
        ("folds = 3", "sizes = ['packed']", 'line 2: sizes must have "paper" in it'),
        ("folds = 3", "folds = = 3", "is not TOML: .*line 2"),
        (
            'prune = "random"',
            'base = "gradient_boosting"\nprune = "random"',
            "line 11: prune goes with base",
        ),
        ('prune = "random"', 'base = "budget_search"', "it needs the option budget"),
        ('prune = "random"', "merge = { l2 = 1.0 }", "line 10: merge needs a share"),
        ('prune = "random"', "merge = { share = 2 }", "line 10: share must be a number above 0 and at most 1, not 2"),
        ("epochs = [5, 10]", 'epochs = "x"', "line 21: epochs must be a whole number"),
        ("epochs = [5, 10]", "epochs = [5, -3]", "line 21: epochs must be at least 0, not -3"),
        ('solver = "sgd"', 'solver = "sdg"', "line 20: solver must be one of 'bcd', 'sgd', not 'sdg'"),
        ('solver = "sgd"', 'loss = "msee"', "line 20: loss cannot be 'msee'; did you mean 'mse'"),
        ("[0.3, 0.5]", "[0.3, -1]", "line 15: .*rho"),
        ("seed = 7", "seed = 99999999999999", "line 3: seed must be at most 4,294,967,295"),
        ("folds = 3", "caps = [32, 0]", "line 2: caps must be numbers above 0, in kilobytes"),
        (
            'prune = "random"',
            'base = "gradient_boosting"\noptions = { learning_rate = "fast" }',
            "line 11: learning_rate must be a number above 0, not 'fast'",
        ),
        (
            'prune = "random"',
            'base = "gradient_boosting"\noptions = { min_samples_leaf = 5 }',
            "line 11: min_samples_leaf is not for engine xgboost",
        ),
        (
            'prune = "random"',
            'base = "budget_search"\noptions = { budget = "4 pounds", trials = 3 }',
            "line 11: budget must be a number of bytes",
        ),
        (
            'prune = "random"',
            'base = "budget_search"\noptions = { budget = "4KB", trials = [3, 0] }',
            "line 11: trials must be a whole number of at least 1, not 0",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, old, new, message):
    assert WHOLE.count(old) == 1
    with pytest.raises(StudyFileError, match=message):
        read(tmp_path, WHOLE.replace(old, new))


def test_no_data_or_no_methods_are_refused(tmp_path):
    with pytest.raises(StudyFileError, match="has no methods"):
        read(tmp_path, 'data = ["iris"]')
    with pytest.raises(StudyFileError, match="has no data"):
        read(tmp_path, "[[methods]]\nlabel = 'RF'")


def test_a_file_that_is_not_there():
    with pytest.raises(FileNotFoundError, match="did you mean 'paper'"):
        bh.study.read("papr")


def test_lines_are_found_in_tables_and_lists_of_tables():
    assert line_of(WHOLE, ("methods", 0, "prune")) == 10
    assert line_of(WHOLE, ("methods", 1, "prune")) == 14
    assert line_of(WHOLE, ("methods", 1, "options", "rho")) == 15
    assert line_of(WHOLE, ("methods", 2, "refine", "solver")) == 20
    assert line_of(WHOLE, ("seed",)) == 3
    assert line_of(WHOLE, ("nothing",)) is None


def test_a_study_made_in_python_is_checked_too():
    data, methods = (DataSource("iris"),), (Method("RF", refine={"solver": "sgd", "epochs": [5, 10]}),)
    study = Study("mine", data, methods, n_trees=[8, 4])
    assert study.n_trees == (4, 8)
    assert study.methods[0].choices() == [{"refine.epochs": 5}, {"refine.epochs": 10}]
    for wrong, message in (
        ({"methods": ()}, "a study needs methods"),
        ({"methods": methods * 2}, "methods have the name 'RF' twice"),
        (
            {"methods": (Method("GB", base="gradientboosting"),)},
            "method 'GB': base cannot be 'gradientboosting'; did you",
        ),
        ({"bases": ("rf",)}, "bases cannot be 'rf'"),
        ({"folds": 1}, "folds must be a whole number of at least 2, not 1"),
        ({"data": (*data, DataSource("iris", "a.csv", "y"))}, "data have the name 'iris' twice"),
    ):
        with pytest.raises(ValueError, match=message):
            Study(**{"name": "mine", "data": data, "methods": methods, **wrong})


def test_a_search_and_other_methods_have_runs_of_their_own():
    study = bh.study.read("beyond")
    labels = {
        base: {one.method.label for one in configurations_of(study, Unit("eeg", 0, base))}
        for base in ("random_forest", "gradient_boosting", "budget_search")
    }
    assert labels["budget_search"] == {"budget search"}
    assert labels["gradient_boosting"] == {"GB deep"}
    assert labels["random_forest"] == {method.label for method in study.methods} - {"budget search", "GB deep"}


def test_a_folder_of_the_name_of_a_study_does_not_hide_it(tmp_path, monkeypatch):
    (tmp_path / "smoke").mkdir()
    monkeypatch.chdir(tmp_path)
    assert bh.study.read("smoke").name == "smoke"


def test_a_byte_order_mark_does_no_harm(tmp_path):
    (tmp_path / "own.toml").write_text(WHOLE, encoding="utf-8-sig")
    assert bh.study.read(tmp_path / "own.toml").folds == 3
