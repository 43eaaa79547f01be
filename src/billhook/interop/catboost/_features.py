"""The features of a CatBoost model, and what its splits ask of them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from billhook._files import ModelFileError
from billhook.interop.catboost._json import list_of, numbers_of, record_of, text_in, whole_number
from billhook.tables import MOST_NAMED, EncodedColumn, Encoding, is_number

OF_ALL = ("feature_id", "feature_index", "feature_name", "flat_feature_index")
OF_FLOAT = (*OF_ALL, "borders", "has_nans", "nan_value_treatment")
OF_CATEGORICAL = (*OF_ALL, "values")
NAN_TREATMENTS = ("AsIs", "AsFalse", "AsTrue")
MOST_FEATURES = 2**31 - 1
# What CatBoost makes of booleans, and what a data frame here.
BOOLEANS = {"0": "false", "1": "true"}


class NumberedTests(NamedTuple):
    """All that splits of a model ask, in CatBoost's order, in which splits refer to it by number.

    The arrays have one entry more at the end, for leaves, whose number is -1.

    Attributes
    ----------
    feature : int32 array
        Counted among all features.
    threshold : float64 array
        The largest value that goes left: the border, a float32 number.
    missing_left : bool array
    asks_category : bool array
    categories : list
        For a question of a category the places in the encoding of those that go left; None for a threshold.
    asked : dict
        The question, as a split says it (its type, the number of the feature in its kind, the border or the hash), to
        its number.
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    asks_category: NDArray[np.bool_]
    categories: list[NDArray[np.int64] | None]
    asked: dict[tuple[str, int, float], int]


class Features(NamedTuple):
    """What a forest has to know of the features."""

    n_features: int
    names: tuple[str, ...] | None
    encoding: Encoding | None
    tests: NumberedTests


class _Question(NamedTuple):
    feature: int
    threshold: float
    missing_left: bool
    categories: NDArray[np.int64] | None


def features_of(info: Any) -> Features:
    """Return the features that `features_info` of a JSON model lists."""
    known = ("float_features", "categorical_features", "ctrs", "cat_features_hash")
    info = record_of(info, known, "features_info")
    floats = [record_of(one, OF_FLOAT, "a float feature") for one in list_of(info.get(known[0]), known[0])]
    texts = [record_of(one, OF_CATEGORICAL, "a categorical feature") for one in list_of(info.get(known[1]), known[1])]
    names = _names([*floats, *texts])
    for same_kind in (floats, texts):
        if len({one["feature_index"] for one in same_kind}) < len(same_kind):
            raise ModelFileError("two features of a kind have the same feature_index")
    _refuse_ctrs(list_of(info.get("ctrs"), "ctrs"), texts, names)
    names_of_hashes = _names_of_hashes(info.get("cat_features_hash"))
    columns = [EncodedColumn(name) for name in names]
    questions: dict[tuple[str, int, float], _Question] = {}
    for one in floats:
        questions |= _of_float(one)
    for one in texts:
        place = one["flat_feature_index"]
        columns[place], asked = _of_categorical(one, names[place], names_of_hashes)
        questions |= asked
    encoding = Encoding(tuple(columns)) if texts else None
    tests = _tests(questions)
    if encoding is not None and tests.asks_category.any():
        _refuse_only_numbers(encoding, names_of_hashes)
    has_names = any(one["feature_id"] for one in [*floats, *texts])
    return Features(len(names), tuple(names) if has_names else None, encoding, tests)


def name_of(name: str) -> str:
    """Return what messages call a feature: its name, or its number."""
    return f"number {name}" if name.isdecimal() else repr(name)


def _names(features: list[dict[str, Any]]) -> list[str]:
    """Return the names of all features in their order; one without a name is called by its place, as in a frame."""
    names: dict[int, str] = {}
    for one in features:
        whole_number(one.get("feature_index"), 0, MOST_FEATURES, "a feature's feature_index")
        place = whole_number(one.get("flat_feature_index"), 0, MOST_FEATURES, "a feature's flat_feature_index")
        if place in names:
            raise ModelFileError(f"feature {place} is there twice")
        names[place] = text_in(one.get("feature_id"), "a feature's feature_id") or str(place)
    if not names:
        raise ModelFileError("the model has no features")
    if max(names) >= len(names):
        absent = next(place for place in range(len(names)) if place not in names)
        raise TypeError(
            f"as_forest reads features that are numbers or categories; feature number {absent} is neither: drop "
            "text and embedding features before training"
        )
    return [names[place] for place in range(len(names))]


def _of_float(one: dict[str, Any]) -> dict[tuple[str, int, float], _Question]:
    treatment, has_nans = one.get("nan_value_treatment"), one.get("has_nans")
    if treatment not in NAN_TREATMENTS or not isinstance(has_nans, bool):
        raise ModelFileError(f"a feature's nan_value_treatment {treatment!r}, has_nans {has_nans!r} is not known")
    # It puts infinity in the place of NaN only where there was one in training; else NaN is not above any border.
    missing_left = not (has_nans and treatment == "AsTrue")
    borders = numbers_of(one.get("borders"), "borders")
    if (np.diff(borders) <= 0.0).any():
        raise ModelFileError("the borders of a feature do not rise")
    with np.errstate(over="ignore"):
        # The digits are those of a float32 number, which is a little more or less.
        threshold = borders.astype(np.float32).astype(np.float64)
    place, index = one["flat_feature_index"], one["feature_index"]
    return {
        ("FloatFeature", index, border): _Question(place, exact, missing_left, None)
        for border, exact in zip(borders.tolist(), threshold.tolist(), strict=True)
    }


def _of_categorical(
    one: dict[str, Any], name: str, names_of_hashes: dict[int, str]
) -> tuple[EncodedColumn, dict[tuple[str, int, float], _Question]]:
    """Return how a column of categories becomes a feature, and what splits ask of it."""
    hashes = [whole_number(value, -(2**31), 2**31 - 1, "a hash") for value in list_of(one.get("values"), "values")]
    if any(value % 2**32 not in names_of_hashes for value in hashes):
        raise TypeError(
            f"the feature {name_of(name)} is split by categories, of which CatBoost keeps hashes only: have it write "
            "their names, from the rows it was trained on, model.save_model('model.json', format='json', pool=X), "
            "and read it with billhook.load('model.json')"
        )
    categories = [names_of_hashes[value % 2**32] for value in hashes]
    places = {category: [place] for place, category in enumerate(categories)}
    if set(categories) <= set(BOOLEANS):
        for category in list(categories):
            places[category].append(len(categories))
            categories.append(BOOLEANS[category])
    if len(categories) > MOST_NAMED:
        raise TypeError(
            f"the feature {name_of(name)} is split by {len(categories):,} categories, and a column can have "
            f"{MOST_NAMED:,}: group rare categories before training"
        )
    questions: dict[tuple[str, int, float], _Question] = {
        ("OneHotFeature", one["feature_index"], value): _Question(
            one["flat_feature_index"], 0.0, False, np.array(places[names_of_hashes[value % 2**32]])
        )
        for value in hashes
    }
    # Of a column that no split asks for, any text will do.
    return EncodedColumn(name, "ordered", tuple(categories) or ("",)), questions


def _names_of_hashes(entries: Any) -> dict[int, str]:
    names: dict[int, str] = {}
    for entry in list_of(entries, "cat_features_hash"):
        entry = record_of(entry, ("hash", "value"), "an entry of cat_features_hash")
        number = whole_number(entry.get("hash"), 0, 2**32 - 1, "a hash")
        names[number] = text_in(entry.get("value"), "the name of a category")
    # Tables have no spaces around texts, and one category for true, True and TRUE.
    seen: dict[str, str] = {}
    for name in names.values():
        plain = name.lower() if name.lower() in BOOLEANS.values() else name.strip()
        other = seen.setdefault(plain, name)
        if name != name.strip() or name != other:
            raise TypeError(
                f"the category {name!r} cannot be told from {other.strip()!r} in a table: give it another name "
                "before training"
            )
    return names


def _refuse_only_numbers(encoding: Encoding, names_of_hashes: dict[int, str]) -> None:
    """Raise TypeError if a data frame for this model may hold nothing but numbers.

    It could not be told from one that holds the features, the places of the categories, if the names are the same.
    """
    names = tuple(column.name for column in encoding.columns)
    if encoding.feature_names == names and all(map(is_number, names_of_hashes.values())):
        which = ", ".join(name_of(column.name) for column in encoding.columns if column.kind != "number")
        raise TypeError(
            f"all categories of this model, of the feature {which}, are numbers, and a table of them cannot be told "
            "from one of features: give categories names that are no numbers, for example 'c7' for 7, before training"
        )


def _refuse_ctrs(ctrs: list[Any], texts: list[dict[str, Any]], names: list[str]) -> None:
    """Raise TypeError, with the names of the features, if splits ask for statistics of categories."""
    if not ctrs:
        return
    place_of = {one["feature_index"]: one["flat_feature_index"] for one in texts}
    elements = [
        element for ctr in ctrs if isinstance(ctr, dict) for element in list_of(ctr.get("elements"), "elements")
    ]
    numbers = [element.get("cat_feature_index") for element in elements if isinstance(element, dict)]
    asked = sorted({place_of[number] for number in numbers if type(number) is int and number in place_of})
    which = ", ".join(name_of(names[place]) for place in asked) or "of categories"
    raise TypeError(
        f"as_forest does not read counters (CTR) of categories, which this model has for the feature {which}: train "
        "with one_hot_max_size=255, or as many as it has categories, or encode the feature as numbers before training"
    )


def _tests(questions: dict[tuple[str, int, float], _Question]) -> NumberedTests:
    of_leaves = _Question(-1, 0.0, False, None)
    feature, threshold, missing_left, categories = zip(*questions.values(), of_leaves, strict=True)
    return NumberedTests(
        np.array(feature, np.int32),
        np.array(threshold, np.float64),
        np.array(missing_left, np.bool_),
        np.array([places is not None for places in categories]),
        list(categories),
        {asked: number for number, asked in enumerate(questions)},
    )
