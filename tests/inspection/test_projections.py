"""What is said of models whose splits test projections, and what such a model is refused for."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris

import billhook as bh
from billhook.cli import main
from billhook.codegen._runtime_web import fields_of
from billhook.inspection import byte_parts
from billhook.packing import Coding, forest_of_tests, pack_on_codes, rows_of_tests
from billhook.packing._projections import Projections
from billhook.packing._quantizers import UniformQuantizer
from billhook.tables import EncodedColumn, Encoding
from made_up import random_forest
from pages import Reader, check_loads_nothing
from projected import projected_model, projected_rows

X, y = load_iris(return_X_y=True)
NAMES = ("sepal length", "sepal width", "petal length", "petal width")
REMEDY = "fit it with max_projections=0"


def iris(n_projections=3, **changes):
    packed, _ = projected_model(np.random.default_rng(0), (9, 9, 9), 4, n_projections, 6, 3, rows=X)
    return replace(packed, **{"feature_names": NAMES, "classes": np.arange(3), **changes})


def by_hand():
    """Return a model of one split on a projection, of the first and the third feature."""
    forest = random_forest(np.random.default_rng(0), (1,), 5, 1, weights="sum", thresholds=np.array([6.0]))
    forest = replace(forest, feature=np.where(forest.feature < 0, -1, 4).astype(np.int32))
    weights = np.array([[3, 0, -5, 0]])
    projections = Projections(weights, np.array([1]), np.array([-9]), 4)
    steps = [UniformQuantizer(0, 0, 0, 4)] * 4
    coding = Coding(np.arange(4), steps, [np.zeros(0)] * 4, {}, projections)
    return replace(pack_on_codes(forest, coding, leaf_bits=4, missing_values=False), feature_names=NAMES)


def test_trees_name_projections():
    packed = iris()
    description = bh.describe(packed, trees=(0, 1, 2))
    drawn = "\n".join(description.trees.values())
    for number in range(3):
        assert f"projection {number} <= " in drawn
    assert " petal " in drawn
    assert description.trees[0].count("?") == 9


def test_a_tree_by_hand():
    drawn = bh.describe(by_hand(), trees=(0,)).trees[0].splitlines()
    assert drawn[0] == "projection 0 <= 6?"
    assert len(drawn) == 3


def test_a_projection_is_listed_with_its_weights_by_column():
    description = bh.describe(by_hand())
    (use,) = description.projections
    assert (use.name, use.n_splits, use.gain) == ("projection 0", 1, 1.0)
    assert use.weights == (("petal length", -5), ("sepal length", 3))
    assert str(use) == "petal length * -5, sepal length * 3"


def test_many_weights_are_cut_short():
    packed, _ = projected_model(np.random.default_rng(0), n_features=30, n_projections=1, share=1.0)
    (use,) = bh.describe(packed).projections
    sizes = [abs(weight) for _, weight in use.weights]
    assert sizes == sorted(sizes, reverse=True)
    assert all(sizes)
    assert str(use).endswith(f" and {len(sizes) - 6} more")
    assert str(use).startswith(f"{use.weights[0][0]} * {use.weights[0][1]}, ")


def test_columns_that_only_projections_use_are_in_use():
    description = bh.describe(by_hand())
    assert [(use.name, use.n_splits) for use in description.columns] == [("petal length", 1), ("sepal length", 1)]
    # The gain of a projection is shared as its weights are.
    assert [use.gain for use in description.columns] == pytest.approx([5 / 8, 3 / 8])
    assert description.facts["Features"] == "2 in use of 4"


@pytest.mark.parametrize("has_rows", [False, True])
def test_gains_are_shares_and_splits_are_those_that_ask_for_a_column(has_rows):
    packed = iris()
    description = bh.describe(packed, *((X, y) if has_rows else ()))
    assert sum(use.gain for use in description.columns) == pytest.approx(1.0)
    assert description.gain_from == ("rows" if has_rows else "halves")
    coded, weights = packed.coded, packed.projections.weights
    for use in description.columns:
        k = NAMES.index(use.name)
        asks = [f for f in coded.feature if f == k or (f >= 4 and weights[f - 4, k])]
        assert use.n_splits == len(asks)
        assert (use.permutation is not None) == has_rows
    assert sum(use.n_splits for use in description.projections) == (coded.feature >= 4).sum()


def test_all_bytes_belong_to_a_part():
    packed = iris()
    parts = {part.name: part.nbytes for part in byte_parts(packed)}
    assert sum(parts.values()) == packed.nbytes
    sections = packed.layout.sections
    assert parts["projections"] == sections["trees"] - sections["projections"]
    assert "projections" not in {part.name for part in byte_parts(bh.pack(random_forest(np.random.default_rng(0))))}


def test_what_is_said_names_projections():
    packed = iris()
    assert "3 projections, 3 classes" in repr(packed)
    assert bh.describe(packed).facts["Splits test"].startswith("features, and 3 projections")
    assert "Splits test" not in bh.describe(bh.pack(random_forest(np.random.default_rng(0)))).facts


def test_a_page_lists_projections(tmp_path):
    description = bh.describe(iris(feature_names=("<b>", *NAMES[1:])), X, y, trees=(0,))
    description.save(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    check_loads_nothing(Reader(text))
    assert "Projections" in text
    assert "projection 2" in text
    assert "<b> *" not in text
    assert "projections" in iris()._repr_html_()


def encoded():
    """Return a model of a table with a number and a one-hot column."""
    columns = (
        EncodedColumn(name="size", kind="number", categories=(), missing=None),
        EncodedColumn(name="color", kind="one_hot", categories=("red", "green", "blue"), missing=None),
    )
    packed, _ = projected_model(np.random.default_rng(1), (9, 9), 4, 2, 5, 1, rows=np.rint(X))
    return packed.with_encoding(Encoding(columns))


def test_columns_of_a_table_are_named():
    packed = encoded()
    description = bh.describe(packed, trees=(0, 1))
    drawn = "\n".join(description.trees.values())
    assert "projection 1 <= " in drawn
    assert "size <= " in drawn
    assert {use.name for use in description.columns} == {"size", "color"}
    assert {name for use in description.projections for name, _ in use.weights} <= set(packed.feature_names)
    assert [field["name"] for field in fields_of(packed, np.zeros((2, 4), np.float32))] == ["size", "color"]


def test_forms_of_pages_have_fields_of_features_that_only_projections_use():
    fields = fields_of(by_hand(), X.astype(np.float32))
    assert [field["name"] for field in fields] == ["sepal length", "petal length"]
    assert all(field["low"] < field["high"] for field in fields)


def test_the_forest_of_tests_answers_the_same_on_rows_with_projections():
    packed = iris()
    rows = projected_rows(np.random.default_rng(0), packed, 60, tricky=0)
    forest = forest_of_tests(packed)
    assert forest.feature_names == (*NAMES, "projection 0", "projection 1", "projection 2")
    assert forest.predict(rows_of_tests(packed, rows)).tolist() == packed.predict(rows).tolist()
    plain = bh.pack(random_forest(np.random.default_rng(0)))
    assert (forest_of_tests(plain).value == plain.to_forest().value).all()
    assert rows_of_tests(plain, X[:, :3]).shape == (150, 3)


def test_models_are_compared():
    packed = iris()
    other = bh.pack(random_forest(np.random.default_rng(0), n_features=4))
    of_packed, of_other = bh.compare({"a": packed, "b": other}, X).models
    assert (of_packed.nbytes, of_packed.agreement, of_packed.n_trees) == (packed.nbytes, 1.0, 3)
    assert of_other.n_trees == 3


# What needs a forest says so.


@pytest.mark.parametrize(
    "use",
    [
        bh.as_forest,
        bh.to_onnx,
        bh.to_treelite,
        lambda packed: bh.prune(packed, X, y, n_trees=2),
        lambda packed: bh.refine(packed, X, y),
        lambda packed: bh.merge(packed, X, y, max_leaves=8),
        lambda packed: packed.to_forest(),
    ],
    ids=["as_forest", "to_onnx", "to_treelite", "prune", "refine", "merge", "to_forest"],
)
def test_what_needs_a_forest_says_what_to_do(use):
    with pytest.raises(TypeError, match=f"projections, weighted sums of features, which a forest .* {REMEDY}"):
        use(iris())


def test_a_diagnosis_needs_a_forest():
    with pytest.raises(TypeError, match=r"tests projections, which a forest does not have.* max_projections=0"):
        bh.diagnose(iris(), X, y)


def test_an_estimator_needs_a_forest():
    with pytest.raises(TypeError, match="to_estimator needs a Forest, not a Packed"):
        bh.to_estimator(iris())


@pytest.fixture
def folder(tmp_path):
    iris().save(tmp_path / "model.bhk")
    table = np.column_stack([X, y])
    np.savetxt(tmp_path / "rows.csv", table, fmt="%g", delimiter=",", header=",".join([*NAMES, "kind"]), comments="")
    return tmp_path


def test_a_model_is_shown(folder, capsys):
    assert main(["show", str(folder / "model.bhk"), str(folder / "rows.csv"), "--label", "kind"]) == 0
    out = capsys.readouterr().out
    assert "3 projections, weighted sums of the codes of features:" in out
    assert "weighted sums that splits ask for" in out
    assert main(["show", str(folder / "model.bhk"), "--columns", "1"]) == 0
    assert "... and 2 more: --columns 3 prints all." in capsys.readouterr().out


def test_a_drawn_tree_explains_its_projections(folder, capsys):
    assert main(["show", str(folder / "model.bhk"), "--tree", "0"]) == 0
    out = capsys.readouterr().out
    tree, _, below = out.partition("\n\n")
    names = {word for word in ("projection 0", "projection 1", "projection 2") if f"{word} <=" in tree}
    assert names
    assert {line[:12] for line in below.splitlines()[1:]} == names


@pytest.mark.parametrize(
    "command",
    [
        "convert model.bhk --to onnx --out other",
        "convert model.bhk --to treelite --out other",
        "prune model.bhk rows.csv --label kind --trees 2 --out other",
        "refine model.bhk rows.csv --label kind --out other",
        "merge model.bhk rows.csv --label kind --leaves 8 --out other",
        "diagnose model.bhk rows.csv --label kind",
    ],
)
def test_commands_that_need_a_forest_say_what_to_do(command, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    assert main(command.split()) == 2
    said = capsys.readouterr().err
    assert "projections" in said
    assert "--max-projections 0" in said
    assert "Traceback" not in said
    assert not (folder / "other").exists()


def test_commands_that_need_no_forest_work(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    assert main(["convert", "model.bhk", "--to", "billhook", "--out", "other.bhk"]) == 0
    assert bh.load("other.bhk") == bh.load("model.bhk")
    assert main(["compare", "model.bhk", "other.bhk", "rows.csv", "--label", "kind"]) == 0
    assert main(["predict", "model.bhk", "rows.csv"]) == 0
    assert main(["emit", "model.bhk", "--out", "c"]) == 0
    assert "Traceback" not in capsys.readouterr().err
