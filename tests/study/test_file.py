from dataclasses import replace
from inspect import Parameter

import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import billhook as bh
from billhook.study import DataSource, Method, Study, StudyFileError
from billhook.study._positions import lines_of
from billhook.study._pruning_options import VALUES, check_pruning_option
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
    assert lines_of(WHOLE, ("methods", 0, "prune")) == (10, 10)
    assert lines_of(WHOLE, ("methods", 1, "prune")) == (14, 14)
    assert lines_of(WHOLE, ("methods", 1, "options", "rho")) == (15, 15)
    assert lines_of(WHOLE, ("methods", 2, "refine", "solver")) == (20, 20)
    assert lines_of(WHOLE, ("seed",)) == (3, 3)
    assert lines_of(WHOLE, ("nothing",)) is None


LONG = """\
# seed = 1
data = [
    "iris",  # label = "not this one"
    { path = "mine.csv", label = "y", splitt = "z" },
]
"seed" = 7
folds = [
    3,
]

[[methods]]
label = \"\"\"a text
seed = 8
\"\"\"
"""


def test_a_statement_of_several_lines_is_not_taken_for_another(tmp_path):
    assert lines_of(LONG, ("seed",)) == (6, 6)
    assert lines_of(LONG, ("data", 1, "label")) == (2, 5)
    assert lines_of(LONG, ("methods", 0)) == (11, 11)
    assert lines_of(LONG, ("methods", 0, "label")) == (12, 14)
    with pytest.raises(
        StudyFileError, match=r"own\.toml, lines 2 to 5, data\[1\]\.splitt: there is no key 'splitt' here"
    ):
        read(tmp_path, LONG)
    with pytest.raises(
        StudyFileError, match=r"own\.toml, line 7: folds must be a whole number of at least 2, not \[3\]"
    ):
        read(tmp_path, LONG.replace(', splitt = "z"', ""))


def extending(tmp_path, text, base=WHOLE):
    (tmp_path / "bases").mkdir(exist_ok=True)
    (tmp_path / "bases" / "whole.toml").write_text(base)
    return read(tmp_path, f'extends = "bases/whole.toml"\n{text}')


def test_a_file_extends_another(tmp_path):
    whole = read(tmp_path, WHOLE)
    study = extending(tmp_path, "folds = 4\nn_trees = [1]\n")
    assert (study.name, study.folds, study.n_trees) == ("own", 4, (1,))
    assert (study.seed, study.methods) == (whole.seed, whole.methods)
    # Paths are relative to the file that they are in.
    assert study.data[1].path == str(tmp_path / "bases" / "mine.csv")
    only = extending(tmp_path, '[[methods]]\nlabel = "one"\n')
    assert [method.label for method in only.methods] == ["one"]


def test_the_variants_of_the_papers_study_are_the_paper_but_for_one_key():
    paper = bh.study.read("paper")
    for name, change in (
        ("paper-dedicated", {"pruning_data": "dedicated"}),
        ("paper-bagging", {"bases": ("bagging",)}),
        ("paper-extra-trees", {"bases": ("extra_trees",)}),
    ):
        assert bh.study.read(name) == replace(paper, name=name, **change)


def test_what_is_wrong_is_said_of_the_file_that_it_is_in(tmp_path):
    with pytest.raises(StudyFileError, match=r"own\.toml, line 2: folds must be a whole number"):
        extending(tmp_path, "folds = 1\n")
    with pytest.raises(StudyFileError, match=r"whole\.toml, line 2: folds must be a whole number"):
        extending(tmp_path, "seed = 1\n", WHOLE.replace("folds = 3", "folds = 1"))
    with pytest.raises(StudyFileError, match=r"whole\.toml, line 14: prune cannot be 'drap'"):
        extending(tmp_path, "", WHOLE.replace('"drep"', '"drap"'))
    with pytest.raises(StudyFileError, match=r"own\.toml, line 1: there is no study .*papr.*did you mean 'paper'"):
        read(tmp_path, 'extends = "papr"')
    with pytest.raises(StudyFileError, match=r"own\.toml, line 1: extends must be the name of a study, .* not 3"):
        read(tmp_path, "extends = 3")
    with pytest.raises(StudyFileError, match="line 1: extends goes round in a circle"):
        extending(tmp_path, "", 'extends = "../own.toml"')


WRONG = {
    "alpha": [-0.1, 1.1, "x"],
    "batch_size": [0, 1.5],
    "epochs": [0, True],
    "loss": ["msee"],
    "node_penalty": [-1.0],
    "optimizer": ["adm"],
    "p": [0.0, 1.0],
    "pairing": ["max"],
    "penalty": ["l1"],
    "restarts": [-1],
    "rho": [0.0, 1.1],
    "simplex": ["yes"],
    "solver": ["cplex"],
    "step_size": [0.0],
    "strength": [-1],
    "time_limit": [0],
}


def test_every_option_of_every_pruning_method_is_checked():
    tabled = [one for one in bh.pruning_methods() if Parameter.empty not in one.options.values()]
    names = {name for method in tabled for name in method.options}
    assert names == set(VALUES) == set(WRONG)
    for method in tabled:
        for name, default in method.options.items():
            check_pruning_option(name, default)
            for value in WRONG[name]:
                with pytest.raises(ValueError, match=f"{name} must be .*, not {value!r}"):
                    check_pruning_option(name, value)


def test_what_is_refused_here_pruning_refuses_too():
    X, y = load_iris(return_X_y=True)
    forest = bh.as_forest(RandomForestClassifier(5, max_leaf_nodes=4, random_state=0).fit(X, y))
    lenient = {
        ("epochs", True),
        ("batch_size", 1.5),
        ("simplex", "yes"),
    }  # what Python takes for a number, or a truth
    for method in bh.pruning_methods():
        for name in method.options if Parameter.empty not in method.options.values() else ():
            for value in WRONG[name]:
                if (name, value) not in lenient:
                    with pytest.raises((ValueError, TypeError)):
                        bh.prune(forest, X, y, method=method.name, n_trees=2, random_state=0, **{name: value})


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
