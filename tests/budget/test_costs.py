"""A table of costs: what is best, and how much classes count."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import confusion_matrix

import billhook as bh
from billhook.budget._costs import cost_scorer

Y = np.array(["a", "b", "c", "a"])
TABLE = "true,a,b,c\na,0,1,2\nb,5,0,1\nc,4,3,0\n"


class Says:
    """A model that says what it is told to."""

    def __init__(self, answers):
        self.answers = np.asarray(answers)

    def predict(self, _):
        return self.answers


@pytest.mark.parametrize("seed", range(5))
def test_the_score_is_minus_the_mean_cost(seed, tmp_path):
    (tmp_path / "costs.csv").write_text(TABLE)
    rng = np.random.default_rng(seed)
    y, answers = rng.choice(["a", "b", "c"], (2, 50))
    scorer = cost_scorer(tmp_path / "costs.csv", Y)
    counts = confusion_matrix(y, answers, labels=["a", "b", "c"])
    assert scorer(Says(answers), None, y) == pytest.approx(-(counts * [[0, 1, 2], [5, 0, 1], [4, 3, 0]]).sum() / 50)


def test_without_a_mistake_the_score_is_not_minus_nothing(tmp_path):
    (tmp_path / "costs.csv").write_text(TABLE)
    answers = np.array(["a", "b", "c"])
    assert str(cost_scorer(tmp_path / "costs.csv", Y)(Says(answers), None, answers)) == "0.0"


def test_rows_and_columns_may_stand_in_any_order_and_classes_be_numbers(tmp_path):
    (tmp_path / "costs.csv").write_text("is;2;0;1\n1;6;5;0\n0;2;0;1\n2;0;8;7\n")
    scorer = cost_scorer(tmp_path / "costs.csv", np.array([0, 1, 2]))
    np.testing.assert_array_equal(scorer.costs, [[0, 1, 2], [5, 0, 6], [8, 7, 0]])
    # As pandas writes them, with classes in order.
    (tmp_path / "costs.csv").write_text(",0,1,2\n0,0,1,2\n1,5,0,6\n2,8,7,0\n")
    np.testing.assert_array_equal(cost_scorer(tmp_path / "costs.csv", np.array([0, 1, 2])).costs, scorer.costs)
    given = cost_scorer({0: {1: 1, 2: 2}, 1: {0: 5, 2: 6}, 2: {0: 8, 1: 7}}, np.array([0, 1, 2]))
    np.testing.assert_array_equal(given.costs, scorer.costs)
    assert given.class_weights() == pytest.approx({0: 9 / 29, 1: 33 / 29, 2: 45 / 29})


@pytest.mark.parametrize(
    ("asked", "highest"),
    [({"scoring": "recall_macro"}, 1.0), ({"costs": {k: dict.fromkeys({0, 1, 2} - {k}, 1) for k in range(3)}}, 0.0)],
)
def test_no_interval_is_above_the_highest_score(asked, highest):
    found = bh.fit_table(load_iris(as_frame=True).frame[::4], "target", budget=300, n_trials=2, **asked)
    assert found.report.score < found.report.interval.high == highest


def test_dear_mistakes_are_made_less_often():
    frame = load_breast_cancer(as_frame=True).frame
    few = frame.iloc[:200]

    def made(costs):
        found = bh.fit_table(few, "target", budget=300, n_trials=4, costs=costs)
        assert found.report.scoring == "minus_mean_cost"
        rest = frame.iloc[200:]
        return confusion_matrix(rest["target"], found.packed.predict(rest.drop(columns="target")))

    cheap, dear = made({0: {1: 1}, 1: {0: 50}}), made({0: {1: 50}, 1: {0: 1}})
    assert dear[0, 1] < cheap[0, 1]
    assert cheap[1, 0] <= dear[1, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("true,a,b\na,0,1\nb,1,0\n", "has no row for the class 'c': what does it cost to take it for others"),
        (
            "true,a,b\na,0,1\nb,1,0\nc,1,1\n",
            "has no column for the class 'c': what does it cost to take others for it",
        ),
        (TABLE.replace("5", "-5"), "has the cost -5 of taking 'b' for 'a': costs are numbers from 0 on"),
        (TABLE.replace("5", ""), "has the cost nan of taking 'b' for 'a'"),
        (TABLE.replace("5", "much"), "holds text among the costs in column 'a': write numbers"),
        (TABLE.replace("b,5,0", "b,5,2"), "has the cost 2 of being right on 'b': write 0"),
        (TABLE.replace("5,0,1", "0,0,0"), "no mistake on 'b' costs anything"),
        (TABLE + "d,1,1,1\n", "has a row of the class 'd'; the classes are a, b, c"),
        (TABLE.replace("true,a", "true,A"), "has a cost of the class 'A'"),
        (TABLE + "a,0,1,2\n", "has two rows for the class 'a'"),
        ("true,a,b,c\n", "has no rows"),
    ],
)
def test_what_are_no_costs_is_refused(text, message, tmp_path):
    (tmp_path / "costs.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        cost_scorer(tmp_path / "costs.csv", Y)


def test_costs_are_for_classes_and_alone():
    frame = load_iris(as_frame=True).frame
    with pytest.raises(ValueError, match="this is regression: leave costs out"):
        bh.fit_table(frame, "sepal length (cm)", budget=300, n_trials=1, costs={}, task="regression")
    with pytest.raises(ValueError, match="leave one of them out"):
        bh.fit_table(frame, "target", budget=300, n_trials=1, costs={}, scoring="accuracy")
    with pytest.raises(TypeError, match="costs must be the path of a table, or a dict of dicts, not list"):
        bh.fit_table(frame, "target", budget=300, n_trials=1, costs=[])
