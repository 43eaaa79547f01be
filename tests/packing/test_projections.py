"""Splits that test projections, weighted sums of the codes of features."""

from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import billhook as bh
from billhook._files import read_container, write_container
from billhook.forest import derive
from billhook.packing import Packed, codes_of, pack_on_codes, size_on_codes
from billhook.packing._projections import Projections, pack_projections, projection_shape, unpack_projections
from billhook.packing._stored_layout import LATER
from made_up import random_forest, with_sets
from naive.packing import codes_with_projections, packed_scores, projected_scores, projections_of_bytes
from projected import coded_with_projections, projected_model, projected_rows

BITS = st.sampled_from([2, 3, 5, 8, 9, 12, 16])
SEEDS = st.integers(0, 2**32)


def small(seed=0, **options):
    return projected_model(np.random.default_rng(seed), **options)[0]


@st.composite
def models(draw):
    rng = np.random.default_rng(draw(SEEDS))
    sizes = draw(st.lists(st.sampled_from([1, 2, 7, 20]), min_size=1, max_size=5))
    shape = {"n_features": draw(st.integers(1, 9)), "n_projections": draw(st.sampled_from([1, 2, 7, 40]))}
    n_classes = draw(st.integers(1, 4))
    return projected_model(
        rng,
        sizes,
        **shape,
        code_bits=draw(BITS),
        n_classes=n_classes,
        per_class=n_classes > 1 and draw(st.booleans()),
        weight=draw(st.sampled_from([1, 7, 127])),
        depths=draw(st.one_of(st.none(), st.lists(st.integers(1, 5), min_size=1, max_size=4))),
    )[0]


@given(models(), SEEDS)
def test_scores_are_those_of_the_naive_twin(packed, seed):
    if packed.projections is None:  # no split happened to test one
        return
    rows = projected_rows(np.random.default_rng(seed), packed, 30)
    np.testing.assert_array_equal(packed.scores(rows), projected_scores(packed, rows))
    packed.check()


@given(models(), SEEDS)
@settings(max_examples=settings.default.max_examples // 2)
def test_bytes_say_bit_by_bit_what_the_model_computes(packed, seed):
    if packed.projections is None:
        return
    of_bytes, projections = projections_of_bytes(packed), packed.projections
    assert [weights for weights, _, _ in of_bytes] == projections.weights.tolist()
    assert [turn for _, turn, _ in of_bytes] == projections.turn.tolist()
    assert [low for _, _, low in of_bytes] == projections.low.tolist()
    if packed.layout.is_symmetric:
        return
    rows = projected_rows(np.random.default_rng(seed), packed, 8)
    codes = np.array([codes_with_projections(packed, row) for row in rows], np.float64)
    np.testing.assert_array_equal(packed.scores(rows), packed_scores(packed, codes))


@given(models())
@settings(max_examples=settings.default.max_examples // 3)
def test_a_saved_model_is_the_same(tmp_path_factory, packed):
    path = tmp_path_factory.mktemp("model") / "model.bhk"
    packed.save(path)
    again = bh.load(path)
    assert again == packed
    if packed.projections is not None:
        assert again.projections.weights.tolist() == packed.projections.weights.tolist()


@given(
    st.integers(1, 30),
    st.integers(1, 12),
    st.integers(0, 127),
    st.integers(0, 31),
    st.integers(0, 2**24 - 1),
    SEEDS,
)
def test_projections_come_back_from_their_bytes(n_projections, n_used, weight, turn, low, seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(-weight - 1, weight + 1, (n_projections, n_used))
    turns = rng.integers(0, turn + 1, n_projections)
    before = Projections(weights, turns, rng.integers(-low, low + 1, n_projections), 8)
    layout = replace(small().layout, n_used=n_used, code_bits=8, **projection_shape(before))
    data = pack_projections(before, layout)
    assert data.size == -(-n_projections * layout.projection_bits // 8)
    after = unpack_projections(data, layout)
    for name in ("weights", "turn", "low"):
        assert getattr(after, name).tolist() == getattr(before, name).tolist()


def test_the_lowest_weight_takes_no_bit_more_than_the_highest():
    for lowest, highest, bits in ((-1, 1, 2), (-2, 1, 2), (-2, 2, 3), (-8, 7, 4), (-9, 7, 5), (-128, 127, 8)):
        weights = np.array([[lowest, highest]])
        shape = projection_shape(Projections(weights, np.zeros(1, np.int64), np.zeros(1, np.int64), 4))
        assert shape["weight_bits"] == bits
        assert (shape["turn_bits"], shape["low_bits"]) == (0, 0)


def test_codes_are_shifted_down_and_cut_off_at_both_ends():
    projections = Projections(np.array([[3, -2], [0, 1]]), np.array([1, 0]), np.array([-2, 0]), 3)
    codes = np.array([[0, 0], [7, 0], [0, 7], [0, 3], [1, 0]], np.float32)
    # 0, 21, -14, -6 and 3, halved towards minus infinity, from -2 up.
    assert projections.codes(codes).tolist() == [[2, 0], [7, 0], [0, 7], [0, 3], [3, 0]]
    assert projections.inputs.tolist() == [0, 1]
    assert projections.take(np.array([1])).inputs.tolist() == [1]


def test_what_is_not_a_number_counts_as_an_infinity_of_its_sign():
    packed = small(n_projections=2)
    rows = np.zeros((4, packed.n_features), np.float32)
    rows[:] = np.array([np.nan, -np.nan, np.inf, -np.inf], np.float32)[:, None]
    # -np.nan has the sign bit set.
    scores = packed.scores(np.copysign(rows, np.array([1, -1, 1, -1])[:, None]).astype(np.float32))
    assert scores[0].tolist() == scores[2].tolist()
    assert scores[1].tolist() == scores[3].tolist()


# What is kept, and what goes.


def forest_of(rng, coding, features, n_splits=12, thresholds=(3.0, 7.0, 9.0, 12.0)):
    """Return a forest that tests just these features of a coding, projections behind the others."""
    n_tested = coding.used.size + coding.projections.n_projections
    forest = random_forest(rng, (n_splits,) * 6, len(features), 2, thresholds=np.array(thresholds))
    feature = np.where(forest.feature < 0, -1, np.array(features)[np.maximum(forest.feature, 0)])
    return replace(forest, feature=feature.astype(np.int32), n_features=n_tested)


def coded(rng, weights, *, n_features=6, code_bits=4):
    X = rng.normal(size=(200, n_features)).astype(np.float32)
    coding = coded_with_projections(rng, X, len(weights), code_bits)
    return coding._replace(projections=replace(coding.projections, weights=np.array(weights)))


def test_a_feature_that_only_a_projection_uses_stays():
    rng = np.random.default_rng(0)
    coding = coded(rng, [[0, 3, 0, 0, -2, 0]])
    packed = pack_on_codes(forest_of(rng, coding, [0, 6]), coding, leaf_bits=6, missing_values=False)
    assert packed.used.tolist() == [0, 1, 4]
    assert packed.n_used == 3
    assert packed.projections.weights.tolist() == [[0, 3, -2]]
    assert set(packed.typical_values()) == {0, 1, 4}
    assert all(values.size > 2 for values in packed.typical_values().values())
    packed.check()


def test_projections_that_no_split_tests_are_dropped_with_their_features():
    rng = np.random.default_rng(0)
    coding = coded(rng, [[0, 3, 0, 0, -2, 0], [1, 0, 0, 0, 0, 1], [0, 0, 5, 0, 0, 0]])
    packed = pack_on_codes(forest_of(rng, coding, [3, 7]), coding, leaf_bits=6, missing_values=False)
    assert packed.used.tolist() == [0, 3, 5]
    assert packed.projections.weights.tolist() == [[1, 0, 1]]
    assert packed.projections.low.tolist() == coding.projections.low[1:2].tolist()


def test_a_model_none_of_whose_splits_tests_a_projection_has_none():
    rng = np.random.default_rng(0)
    coding = coded(rng, [[0, 3, 0, 0, -2, 0]])
    forest = forest_of(rng, coding, [2, 3])
    packed = pack_on_codes(forest, coding, leaf_bits=6, missing_values=False)
    assert packed.projections is None
    assert packed.layout.n_projections == 0
    plain = coding._replace(projections=None)
    assert packed == pack_on_codes(derive(forest, n_features=6), plain, leaf_bits=6, missing_values=False)
    assert packed.to_forest().n_features == packed.n_features


def test_a_model_may_test_projections_alone():
    rng = np.random.default_rng(0)
    coding = coded(rng, [[1, 2, 3, 4, 5, 6]])
    packed = pack_on_codes(forest_of(rng, coding, [6]), coding, leaf_bits=6, missing_values=False)
    packed.check()
    assert (packed.layout.n_used, packed.layout.n_projections, packed.layout.n_tested) == (6, 1, 7)
    rows = projected_rows(rng, packed, 40)
    np.testing.assert_array_equal(packed.scores(rows), projected_scores(packed, rows))


# How they are written.


@pytest.mark.parametrize("n_projections", [1, 4])
def test_symmetric_trees_take_a_test_a_level(n_projections):
    packed = small(depths=[5, 4, 5], n_projections=n_projections, n_classes=1)
    assert packed.layout.is_symmetric
    assert packed.layout.n_inner == 14
    packed.check()
    rows = projected_rows(np.random.default_rng(0), packed, 60)
    np.testing.assert_array_equal(packed.scores(rows), projected_scores(packed, rows))


SHORT = {
    "pairs": {"sizes": (60,), "n_thresholds": 2, "n_features": 4, "n_classes": 1},
    "gaps": {"sizes": (15,) * 40, "n_thresholds": 12, "n_features": 2, "n_classes": 1},
    "groups": {"sizes": (20,) * 30, "n_features": 3, "n_projections": 2, "code_bits": 10, "n_classes": 1},
}


@pytest.mark.parametrize("name", SHORT)
def test_short_ways_of_tests_hold_projections(name):
    packed = small(**SHORT[name])
    layout = packed.layout
    assert layout.n_projections
    assert bool(layout.n_pairs) == (name in ("pairs", "gaps"))
    assert bool(layout.ask_bits) == (name == "gaps")
    assert bool(layout.group) == (name == "groups")
    packed.check()
    rows = projected_rows(np.random.default_rng(1), packed, 25)
    np.testing.assert_array_equal(packed.scores(rows), projected_scores(packed, rows))
    codes = np.array([codes_with_projections(packed, row) for row in rows], np.float64)
    np.testing.assert_array_equal(packed.scores(rows), packed_scores(packed, codes))


def test_a_table_of_gaps_holds_features_that_only_projections_use():
    rng = np.random.default_rng(0)
    coding = coded(rng, [[1, 2, 0, 4, 5, 6], [1, 0, 0, 0, 0, 3]], code_bits=8)
    forest = forest_of(rng, coding, [0, 3, 6, 7], n_splits=60, thresholds=np.arange(5.0, 250.0, 7.0))
    packed = pack_on_codes(forest.select(np.arange(12) % 6), coding, leaf_bits=6, missing_values=False)
    assert packed.layout.ask_bits
    assert (packed.layout.n_used, np.unique(packed.coded.feature).size - 1) == (5, 4)
    packed.check()
    rows = projected_rows(rng, packed, 40)
    np.testing.assert_array_equal(packed.scores(rows), projected_scores(packed, rows))
    codes = np.array([codes_with_projections(packed, row) for row in rows], np.float32)
    np.testing.assert_array_equal(packed.scores(rows), packed_scores(packed, codes))


@given(SEEDS, BITS, st.sampled_from([None, 3, 40]), st.sampled_from(["one", "class"]), st.sampled_from([None, 5]))
def test_the_size_is_known_before_packing_but_for_leaves_that_turn_out_alike(seed, bits, n_thresholds, scales, book):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 5)).astype(np.float32)
    coding = coded_with_projections(rng, X, 4, bits)
    n_codes = coding.projections.n_codes
    thresholds = rng.choice(np.arange(n_codes - 1.0), n_thresholds or 200)
    forest = random_forest(rng, rng.choice([2, 9, 30], 6).tolist(), 9, 3, weights="sum", thresholds=thresholds)
    options = {"leaf_bits": 7, "scales": scales, "codebook": book, "missing_values": False}
    packed = pack_on_codes(forest, coding, **options)
    assert packed.nbytes <= size_on_codes(forest, coding, **options)


def test_files_without_projections_do_not_speak_of_them(tmp_path):
    rng = np.random.default_rng(0)
    bh.pack(random_forest(rng), threshold_bits=8).save(tmp_path / "plain.bhk")
    small().save(tmp_path / "projected.bhk")
    names = {"n_projections", "weight_bits", "turn_bits", "least_turn", "low_bits", "least_low"}
    assert not names & set(read_container(tmp_path / "plain.bhk").meta["layout"])
    stored = read_container(tmp_path / "projected.bhk").meta["layout"]
    assert {"n_projections", "weight_bits"} <= names & set(stored)
    assert all(LATER[name] == 0 for name in names)


# What cannot be.


def test_a_forest_has_no_projections():
    with pytest.raises(TypeError, match="the model tests 3 projections, weighted sums of features, which a forest"):
        small().to_forest()
    with pytest.raises(TypeError, match="fit it with max_projections=0, or use the packed model"):
        small().to_forest()


def with_projections(packed, **changes):
    """Return the model with other projections of as many weights; their bytes are longer or shorter."""
    after = replace(packed.projections, **changes)
    layout = replace(packed.layout, **projection_shape(after))
    begin, end = (packed.layout.sections[name] for name in ("projections", "trees"))
    data = np.concatenate([packed.data[:begin], pack_projections(after, layout), packed.data[end:]])
    return replace(packed, layout=layout, data=data)


def test_other_projections_are_written_as_they_are():
    packed = small()
    other = with_projections(packed, low=packed.projections.low + 1)
    other.check()
    assert other.projections.low.tolist() == (packed.projections.low + 1).tolist()
    assert with_projections(packed) == packed


@pytest.mark.parametrize(
    ("name", "make", "message"),
    [
        ("weights", lambda p: p.weights * [[0], [1], [1]], "a projection has no weight other than 0"),
        ("turn", lambda p: p.turn * 0 + 32, "the sum of a projection is shifted by 32 bits, of at most 31"),
        ("low", lambda p: p.low * 0 + 2**31 - 1, "the sum of a projection takes more than 32 bits"),
        ("low", lambda p: p.low * 0 - 2**31 + 1, "the sum of a projection takes more than 32 bits"),
    ],
)
def test_sums_that_no_target_computes_are_refused(name, make, message):
    packed = small()
    with pytest.raises(ValueError, match=f"^{message}$"):
        with_projections(packed, **{name: make(packed.projections)}).check()


@pytest.mark.parametrize(
    ("weights", "low", "message"),
    [
        ([[1, 128], [1, 1]], [0, 0], "a weight of a projection takes more than 8 bits"),
        ([[1, -129], [1, 1]], [0, 0], "a weight of a projection takes more than 8 bits"),
        ([[1, 1], [1, 1]], [0, 2**25], "the lowest sums of projections differ by more than 25 bits hold"),
    ],
)
def test_what_no_file_could_hold_is_refused_before_it_is_packed(weights, low, message):
    rng = np.random.default_rng(0)
    coding = coded(rng, [[1, 2], [3, 4]], n_features=2)
    projections = Projections(np.array(weights), np.zeros(2, np.int64), np.array(low), 4)
    with pytest.raises(ValueError, match=f"^{message}$"):
        projections.check()
    coding = coding._replace(projections=projections)
    with pytest.raises(ValueError, match=f"^{message}$"):
        pack_on_codes(forest_of(rng, coding, [0, 2, 3]), coding, leaf_bits=6, missing_values=False)


def test_sums_may_be_as_large_as_32_bits_hold():
    packed = small()
    weights, low = packed.projections.weights, packed.projections.low * 0
    room = 2**31 - 1 - int(np.abs(weights).sum(axis=1).max()) * 255
    with_projections(packed, low=low + room).check()
    with pytest.raises(ValueError, match="more than 32 bits"):
        with_projections(packed, low=low + room + 1).check()


def test_a_weight_of_many_features_may_be_too_much_for_codes_of_16_bits():
    rng = np.random.default_rng(0)
    packed, _ = projected_model(rng, (20, 20), 40, 1, 16, 1, weight=127, share=1.0)
    assert packed.layout.code_bits == 16
    packed.check()
    many = with_projections(packed, weights=np.full_like(packed.projections.weights, 127))
    many.check()
    projections = Projections(np.full((1, 300), 127), np.zeros(1, np.int64), np.zeros(1, np.int64), 16)
    with pytest.raises(ValueError, match="more than 32 bits"):
        projections.check()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_projections": 0}, "0 projections cannot have weights of 4 bits"),
        ({"weight_bits": 0}, "3 projections cannot have weights of 0 bits"),
        ({"missing": "split"}, "projections are of features without missing values, whose codes are those of steps"),
        ({"missing": "left"}, "projections are of features without missing values"),
        ({"grid": "ranks"}, "projections are of features without missing values"),
        ({"n_categorical": 1, "category_bits": 3, "size_bits": 2}, "projections are of features without missing"),
        ({"n_projections": 100}, "19 splits are not 3 trees"),
    ],
)
def test_layouts_that_projections_do_not_go_with_are_refused(changes, message):
    packed = small()
    with pytest.raises(ValueError, match=f"^{message}"):
        replace(packed, layout=replace(packed.layout, **changes)).check()


def test_a_feature_that_nothing_uses_is_refused():
    packed = small(n_features=4, sizes=(2, 2), n_projections=1, seed=3)
    k = next(k for k in range(packed.layout.n_used) if k not in packed.coded.feature)
    weights = packed.projections.weights.copy()
    weights[:, k] = 0
    weights[:, (k + 1) % packed.layout.n_used] |= 1
    with pytest.raises(ValueError, match="a feature is said to be in use, and no split tests it"):
        with_projections(packed, weights=weights).check()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_projections", -1),
        ("n_projections", 2**17),
        ("weight_bits", 9),
        ("turn_bits", 6),
        ("least_turn", 32),
        ("least_turn", -1),
        ("low_bits", 26),
        ("least_low", 2**31),
        ("least_low", 0.5),
    ],
)
def test_a_file_with_such_a_layout_is_refused(name, value, tmp_path):
    small().save(tmp_path / "model.bhk")
    contents = read_container(tmp_path / "model.bhk")
    contents.meta["layout"][name] = value
    write_container(tmp_path / "model.bhk", contents)
    with pytest.raises(bh.ModelFileError, match=name):
        bh.load(tmp_path / "model.bhk")


def naive_reasons(packed):
    """Yield what is wrong with a model whose bytes can be read."""
    layout, coded, projections = packed.layout, packed.coded, packed.projections
    tested = {int(feature) for feature in coded.feature if feature >= 0}
    weights = projections.weights.tolist()
    in_sums = {k for row in weights for k, weight in enumerate(row) if weight}
    if tested - set(range(layout.n_tested)):
        yield "not in use"
    if set(range(layout.n_used)) - tested - in_sums or set(range(layout.n_used, layout.n_tested)) - tested:
        yield "no split tests it"
    for row, turn, low in zip(weights, projections.turn.tolist(), projections.low.tolist(), strict=True):
        if not any(row) or turn > 31:
            yield "no sum"
        if sum(map(abs, row)) * (2**layout.code_bits - 1) + abs(low) >= 2**31:
            yield "32 bits"


@pytest.mark.parametrize("seed", [0, 1])
def test_whatever_bit_is_wrong_a_model_that_passes_tests_what_is_there(seed):
    packed = small(seed, code_bits=6, sizes=(5, 4), n_classes=1)
    assert packed.layout.n_projections > 1
    n_passed = n_refused = 0
    for bit in range(8 * packed.nbytes):
        data = packed.data.copy()
        data[bit // 8] ^= np.uint8(1 << bit % 8)
        damaged = replace(packed, data=data)
        try:
            damaged.check()
        except (ValueError, IndexError):
            n_refused += 1
        else:
            n_passed += 1
            assert not list(naive_reasons(damaged))
            rows = projected_rows(np.random.default_rng(bit), damaged, 3)
            np.testing.assert_array_equal(damaged.scores(rows), projected_scores(damaged, rows))
    assert n_passed
    assert n_refused


def test_categories_are_no_codes_of_projections():
    """A model with both is not made; a layout that says so is refused: see above."""
    rng = np.random.default_rng(0)
    packed = bh.pack(with_sets(rng, random_forest(rng, sizes=(20, 30), weights="sum"), share=0.5))
    layout = replace(packed.layout, n_projections=1, weight_bits=4)
    with pytest.raises(ValueError, match="projections are of features without missing values"):
        Packed(**{**{f: getattr(packed, f) for f in packed.__dataclass_fields__}, "layout": layout}).check()


def test_the_layout_says_where_each_section_is():
    packed = small()
    sections = packed.layout.sections
    size = sections["trees"] - sections["projections"]
    layout = asdict(packed.layout)
    bits = layout["low_bits"] + layout["turn_bits"] + layout["n_used"] * layout["weight_bits"]
    assert size == -(-layout["n_projections"] * bits // 8)
    codes = codes_of(
        projected_rows(np.random.default_rng(0), packed, 9), packed.used, packed.quantizers, missing_values=False
    )
    assert packed.projections.codes(codes).shape == (9, 3)
