"""Sums of features: learned as the formulas say, from rows in any order, and such as a target is made of."""

import numpy as np
import pytest

import naive.projections as naive
from billhook._deadline import OutOfTimeError, TimeLimit, within
from billhook.growing import learn_projections
from billhook.growing._projections import MOST_ROWS, _n_epochs, _Net, _step_sizes
from billhook.kernels import GROWTH_LOSSES, projections_epoch

LOSSES = [("squared", 1), ("logistic", 1), ("softmax", 3), ("softmax", 8), ("softmax", 11)]


def made_up(seed=0, n_rows=600, n_features=10, n_classes=1, loss="logistic"):
    """Return codes, a target by the sum of six of them, and that sum."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, [256, 16, 4, 256, 64, 256, 2, 256, 32, 256][:n_features], (n_rows, n_features))
    spread = codes.std(axis=0)
    total = ((codes - codes.mean(axis=0)) / np.where(spread > 0, spread, 1.0))[:, :6] @ [1, -2, 1, 1, -1, 1]
    if loss == "softmax":
        target = np.digitize(total, np.quantile(total, np.arange(1, n_classes) / n_classes))
    else:
        target = np.tanh(total) if loss == "squared" else (total > 0).astype(int)
    return codes.astype(np.float32), target, total


def net_of(net):
    """Return the parameters apart, without padding: W, V, b and c."""
    ends = np.cumsum([net.n_inputs * net.n_hidden, net.n_outputs * net.n_hidden, net.n_hidden])
    W, V, b, c = np.split(net.parameters.astype(float), ends)
    own = slice(0, net.n_projections)
    return [W.reshape(-1, net.n_hidden)[:, own], V.reshape(-1, net.n_hidden)[:, own].T, b[own], c]


def best_correlation(directions, codes, total):
    return max(abs(np.corrcoef(codes @ direction, total)[0, 1]) for direction in directions.T)


@pytest.mark.parametrize("n_projections", [3, 8, 17])
@pytest.mark.parametrize(("loss", "n_outputs"), LOSSES)
def test_it_learns_what_the_formulas_say(loss, n_outputs, n_projections):
    codes, target, _ = made_up(n_rows=300, n_classes=n_outputs, loss=loss)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 300)
    z = naive.standardised(codes.astype(float), weight)
    net = _Net(10, n_projections, n_outputs, seed=5)
    wanted = naive.learned(net_of(net), z, target, weight, loss=loss, n_epochs=3)
    given = [np.ascontiguousarray(array, np.float32) for array in (z, target, weight)]
    for steps in _step_sizes(3, 3):
        projections_epoch(
            *given, steps, net.parameters, net.moments, net.n_hidden, n_outputs, 128, GROWTH_LOSSES[loss], 1e-3
        )
    for found, expected in zip(net_of(net), wanted, strict=True):
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(("loss", "n_classes"), LOSSES)
def test_units_that_are_padding_stay_nothing(loss, n_classes):
    codes, target, _ = made_up(n_classes=n_classes, loss=loss)
    net = _Net(10, 3, n_classes, seed=0)
    given = [np.ascontiguousarray(array, np.float32) for array in (codes / 100, target, np.ones(600))]
    projections_epoch(*given, _step_sizes(1, 5)[0], net.parameters, net.moments, 8, n_classes, 128,
                      GROWTH_LOSSES[loss], 1e-3)  # fmt: skip
    of_hidden = net.parameters[: (10 + n_classes + 1) * 8].reshape(-1, 8)
    assert (of_hidden[:, 3:] == 0.0).all()
    assert (of_hidden[:, :3] != 0.0).all()


@pytest.mark.parametrize(("loss", "n_classes"), LOSSES)
def test_directions_are_of_the_codes_as_they_are(loss, n_classes):
    """Codes are standardised, and the target of a regression is."""
    codes, target, _ = made_up(n_rows=100, n_classes=n_classes, loss=loss)
    found = learn_projections(
        codes, target, np.ones(100), loss=loss, n_classes=n_classes, n_projections=5, n_epochs=4
    )  # fmt: skip
    z, y = naive.standardised(codes.astype(float), np.ones(100)), np.asarray(target, float)
    y = naive.standardised(y, np.ones(100)) if loss == "squared" else y
    # All rows are one batch, whose order only rounding depends on.
    net = naive.learned(net_of(_Net(10, 5, n_classes, seed=0)), z, y, np.ones(100), loss=loss, n_epochs=4)
    assert found * codes.std(axis=0)[:, None] == pytest.approx(net[0], rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(("loss", "n_classes"), LOSSES)
def test_a_sum_that_the_target_is_made_of_is_found(loss, n_classes):
    codes, target, total = made_up(n_rows=2000, n_classes=n_classes, loss=loss)
    found = learn_projections(codes, target, np.ones(2000), loss=loss, n_classes=n_classes, n_projections=4)
    assert found.shape == (10, 4)
    assert found.dtype == np.float64
    assert best_correlation(found, codes, total) > 0.95


@pytest.mark.parametrize("n_rows", [600, MOST_ROWS + 500])
def test_the_order_of_the_rows_does_not_matter(n_rows):
    codes, target, _ = made_up(n_rows=n_rows)
    codes[n_rows // 2 :, 0] //= 64
    codes[: n_rows // 8] = codes[n_rows // 8 : n_rows // 8 * 2]  # the same codes, of other targets and weights
    weight = np.random.default_rng(1).choice([0.1, 0.7, 3.0], n_rows)
    order = np.random.default_rng(2).permutation(n_rows)
    one = learn_projections(codes, target, weight, loss="logistic", n_projections=4, n_epochs=2)
    codes, target, weight = np.asfortranarray(codes[order]), target[order], weight[order]
    two = learn_projections(codes, target, weight, loss="logistic", n_projections=4, n_epochs=2)
    assert one.tobytes() == two.tobytes()
    assert one.any()


def test_another_seed_starts_elsewhere():
    codes, target, _ = made_up()
    one, two = (
        learn_projections(codes, target, np.ones(600), loss="logistic", n_projections=4, seed=s) for s in (0, 1)
    )
    assert np.abs(one - two).max() > 1e-3


def test_rows_without_weight_are_as_if_they_were_not_there():
    codes, target, _ = made_up()
    counts = np.random.default_rng(3).random(600) < 0.7
    alone = learn_projections(codes[counts], target[counts], np.ones(counts.sum()), loss="logistic", n_projections=4)
    assert (learn_projections(codes, target, counts, loss="logistic", n_projections=4) == alone).all()


def test_a_row_that_counts_twice_is_nearly_two_rows():
    codes, target, _ = made_up(n_rows=80)  # one batch, with those that are there twice
    twice = np.arange(80) % 2 == 0
    rows = np.concatenate([np.arange(80), np.flatnonzero(twice)])
    weighted = learn_projections(codes, target, 1.0 + twice, loss="logistic", n_projections=4, n_epochs=20)
    repeated = learn_projections(
        codes[rows], target[rows], np.ones(120), loss="logistic", n_projections=4, n_epochs=20
    )
    assert weighted == pytest.approx(repeated, rel=0.02, abs=1e-4)


def test_only_the_relation_of_weights_matters():
    codes, target, _ = made_up()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 600)
    one, two = (learn_projections(codes, target, weight * k, loss="logistic", n_projections=4) for k in (1.0, 4.0))
    assert (one == two).all()


def test_a_constant_feature_counts_nothing():
    codes, target, total = made_up()
    codes[:, 7:9] = [3.0, 0.0]
    weight = np.random.default_rng(1).uniform(0.1, 0.9, 600)
    found = learn_projections(codes, target, weight, loss="logistic", n_projections=4)
    assert (found[7:9] == 0.0).all()
    assert (np.delete(found, [7, 8], axis=0) != 0.0).all()
    assert best_correlation(found, codes, total) > 0.95


@pytest.mark.parametrize(("n_rows", "weight", "n_projections"), [(1, 1.0, 3), (5, 0.0, 3), (0, 1.0, 3), (5, 1.0, 0)])
@pytest.mark.parametrize(("loss", "n_classes"), LOSSES)
def test_of_nothing_to_learn_from_sums_are_nothing(loss, n_classes, n_rows, weight, n_projections):
    codes, target, _ = made_up(n_classes=n_classes, loss=loss)
    found = learn_projections(
        codes[:n_rows], target[:n_rows], np.full(n_rows, weight), loss=loss, n_classes=n_classes,
        n_projections=n_projections,
    )  # fmt: skip
    assert found.shape == (10, n_projections)
    assert (found == 0.0).all()


def test_a_target_that_does_not_vary_is_no_fault():
    codes, _, _ = made_up()
    for loss, target in (("squared", np.full(600, 7.0)), ("logistic", np.ones(600, int))):
        assert np.isfinite(learn_projections(codes, target, np.ones(600), loss=loss, n_projections=4)).all()


def test_negative_and_large_codes_are_no_fault():
    codes, target, total = made_up()
    found = learn_projections(1000.0 * codes - 60_000.0, target, np.ones(600), loss="logistic", n_projections=4)
    assert best_correlation(found, codes, total) > 0.95


def test_the_more_codes_the_fewer_epochs():
    assert [_n_epochs(n) for n in (0, 1, 20_000 * 14, 20_000 * 100, 20_000 * 5000)] == [120, 120, 120, 100, 10]


def test_the_end_of_the_time_breaks_off():
    codes, target, _ = made_up()
    moments = iter(range(100))
    with within(TimeLimit(5.0, lambda: float(next(moments)))), pytest.raises(OutOfTimeError):
        learn_projections(codes, target, np.ones(600), loss="logistic", n_projections=4)
    assert next(moments) == 7  # it looked before each epoch: at 0, 1, ... 6


def arguments(**changed):
    usual = {
        "z": np.zeros((5, 2), np.float32),
        "target": np.zeros(5, np.float32),
        "weight": np.ones(5, np.float32),
        "step_size": np.zeros(3, np.float32),
        "parameter": np.zeros(2 * 8 + 8 + 8 + 1, np.float32),
        "moments": np.zeros((2, 33), np.float32),
        "n_hidden": 8,
        "n_outputs": 1,
        "batch_size": 2,
        "loss": GROWTH_LOSSES["squared"],
        "l2": 0.0,
    }
    return list((usual | changed).values())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"target": np.zeros(4, np.float32)}, "other rows"),
        ({"weight": np.zeros(6, np.float32)}, "other rows"),
        ({"batch_size": 0}, "batch_size is below 1"),
        ({"step_size": np.zeros(2, np.float32)}, "one number for each batch"),
        ({"n_hidden": 4}, "multiple of 8"),
        ({"n_hidden": 0}, "multiple of 8"),
        ({"loss": GROWTH_LOSSES["poisson"]}, "none of squared, logistic and softmax"),
        ({"n_outputs": 2}, "not that of the loss"),
        ({"loss": GROWTH_LOSSES["softmax"], "n_outputs": 0}, "not that of the loss"),
        ({"parameter": np.zeros(32, np.float32)}, "another net"),
        ({"moments": np.zeros((2, 32), np.float32)}, "moments has another size"),
        ({"moments": np.zeros((1, 33), np.float32)}, "moments has another size"),
    ],
)
def test_arrays_that_do_not_go_together_are_refused(changed, message):
    projections_epoch(*arguments())
    with pytest.raises(ValueError, match=message):
        projections_epoch(*arguments(**changed))
