"""A program that uses every kernel through the public functions, and prints a digest of each result.

python tests/all_kernels.py [EXTENSION]     with the extension that is installed, or one compiled in another way
"""

import hashlib
import json
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location

NAME = "billhook.kernels._native"


def use(path):
    """Have `import billhook` find this extension in the place of its own."""
    loader = ExtensionFileLoader(NAME, path)
    module = module_from_spec(spec_from_file_location(NAME, path, loader=loader))
    loader.exec_module(module)
    sys.modules[NAME] = module


def digest(*arrays):
    """Return a few letters that differ if a bit does."""
    import numpy as np

    whole = hashlib.sha256()
    for array in arrays:
        array = np.ascontiguousarray(array)
        whole.update(f"{array.dtype} {array.shape}".encode())
        whole.update(array.tobytes())
    return whole.hexdigest()[:16]


def note_calls(unused):
    """Have each function that is called taken off `unused`, by all who import it from now on."""
    from billhook import kernels

    def noting(name, function):
        def call(*arguments):
            unused.discard(name)
            return function(*arguments)

        return call

    for name in kernels.__all__:
        function = getattr(kernels, name)
        if callable(function) and name != "Walker":  # no number; nor a type, which annotations name
            unused.add(name)
            setattr(kernels, name, noting(name, function))


def grown_trees():
    """Yield names and digests of trees: all losses, kinds of rows and ways to choose a split."""
    import numpy as np

    from billhook.growing import BinnedRows, Boosting, grow_random_forest

    rng = np.random.default_rng(2)

    def rows_of(n_rows, n_bins, missing=0.0, common=0.0):
        codes = rng.integers(0, n_bins, (n_rows, 6)).astype(np.uint16 if n_bins > 255 else np.uint8)
        codes[rng.random(codes.shape) < common] = 1
        has_missing = np.arange(6) % 2 < (missing > 0.0)
        codes[(rng.random(codes.shape) < missing) & has_missing] = n_bins
        return BinnedRows.of(codes, n_bins + has_missing, has_missing)

    def digest_of(trees):
        fields = ("feature", "bin", "missing_left", "value", "gain", "n_rows", "row_weight")
        return digest(*(getattr(tree, name) for tree in trees for name in fields))

    kinds = {
        "dense": rows_of(300, 16),
        "sparse": rows_of(300, 16, common=0.8),
        "missing": rows_of(300, 16, missing=0.2),
        "many bins": rows_of(300, 20_000),
        "sparse, many bins": rows_of(300, 20_000, missing=0.1, common=0.8),
        "wide codes": rows_of(300, 600, missing=0.1),
        "many rows": rows_of(66_000, 16, missing=0.1),
        "sparse, many rows": rows_of(66_000, 16, common=0.8),
    }
    for kind, rows in kinds.items():
        number = rows.columns[0] - 2.0 * (rows.columns[1] > 5) + rng.normal(size=rows.n_rows)
        weight = rng.uniform(0.5, 2.0, rows.n_rows)
        # Histograms of many bins and many classes take most of the time of this program under a sanitizer.
        is_small = rows.n_rows < 1000 and "many bins" not in kind
        for loss in ("squared", "absolute", "poisson", "logistic"):
            target = {"poisson": np.floor(np.abs(number)), "logistic": number > 7.0}.get(loss, number)
            boosting = Boosting(rows, target, weight, loss=loss, max_leaves=9)
            yield f"grow, {loss}, {kind}", digest_of([boosting.grow() for _ in range(2)])
        for n_classes in (3, 11, 18, 30, 40) if is_small else (3,):
            target = rng.integers(0, n_classes, rows.n_rows)
            for more in ({}, {"reuse_factor": 2.0}, {"max_tests": 5}):
                boosting = Boosting(rows, target, weight, loss="softmax", n_classes=n_classes, max_leaves=5, **more)
                yield f"grow, {n_classes}, {more}, {kind}", digest_of([boosting.grow() for _ in range(2)])
            for is_extra in (False, True):
                forest = grow_random_forest(
                    rows, target, weight, n_classes=n_classes, n_trees=2, max_leaves=9, max_features=2,
                    is_extra=is_extra,
                )  # fmt: skip
                yield f"random forest, {n_classes}, {is_extra}, {kind}", digest_of(forest)
        for is_extra in (False, True):
            forest = grow_random_forest(
                rows, number, weight, n_classes=None, n_trees=2, max_leaves=9, max_features=6, is_extra=is_extra
            )
            yield f"random forest, numbers, {is_extra}, {kind}", digest_of(forest)


def learned_projections():
    """Yield names and digests: sums of features, of every loss and several numbers of classes."""
    import numpy as np

    from billhook.growing import learn_projections

    rng = np.random.default_rng(4)
    codes = rng.integers(0, 256, (700, 9)).astype(np.float32)
    number = codes[:, 0] - 2.0 * codes[:, 1] + codes[:, 2] + rng.normal(0, 20, 700)
    weight = rng.uniform(0.5, 2.0, 700)
    for n_projections in (1, 8, 19):
        for loss, n_classes in (("squared", 1), ("logistic", 1), ("softmax", 3), ("softmax", 11), ("softmax", 26)):
            target = {"squared": number, "logistic": number > 0}.get(loss, rng.integers(0, n_classes, 700))
            found = learn_projections(
                codes, target, weight, loss=loss, n_classes=n_classes, n_projections=n_projections, n_epochs=3
            )
            yield f"projections, {n_projections}, {loss}, {n_classes}", digest(found)


def coded_rows():
    """Yield names and digests: quantizers fitted to features of several kinds, and the codes of rows."""
    import numpy as np

    from billhook.packing import code_features

    rng = np.random.default_rng(3)
    X = np.exp(rng.normal(0, 3, (3000, 21)) * np.arange(21) / 20).astype(np.float32)
    X[:, ::5] = np.rint(X[:, ::5] * 10) - 20
    for missing in (0.0, 0.1):
        X[rng.random(X.shape) < missing] = np.nan
        for bits in (2, 4, 8, 12, 16):
            coded = code_features(X, bits, 500)
            steps = [(steps.power, steps.offset, steps.scale, steps.bits) for steps in coded.coding.quantizers]
            yield f"code, {missing}, {bits}", digest(steps, coded.codes.keep()[:])


def read_texts():
    """Yield names and digests: a model of LightGBM as text, trees in JSON, and a message of protocol buffers."""
    from pathlib import Path
    from tempfile import TemporaryDirectory

    import numpy as np

    import billhook as bh
    from billhook.interop._json_parts import decode_trees
    from billhook.interop._message import Message
    from made_up_lightgbm import model_text

    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.txt"
        path.write_text(model_text(np.random.default_rng(4), (1, 9, 40), kinds=(0, 1, 2, 9)))
        forest = bh.load(path)
    yield "text", digest(forest.threshold, forest.value, forest.row_weight, forest.set_bits, forest.left)
    data = json.dumps({"trees": [{"a": [k, "]"]} for k in range(20)]}).encode()
    message = Message(memoryview(b"\x40\x01\x40\x80\x01\x4a\x02ab" * 9 + b"\x3a\x03\x07\xff\x7f"))
    yield "message", digest(message.integers(8), message.integers(7), [bytes(one) for one in message.all_bytes(9)])
    yield "JSON", digest([tree["a"][0] for tree in decode_trees(data)["trees"]])


def results():
    """Yield names and digests."""
    import numpy as np
    from sklearn.datasets import make_classification, make_regression
    from sklearn.ensemble import (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )

    import billhook as bh
    from billhook.refinement import KnownTests, choose_splits
    from in_parts import Here, refined_in_parts
    from made_up import random_forest, rows_of_categories, tricky_rows, with_sets

    made_up = random_forest(np.random.default_rng(0), sizes=(1, 5, 40, 63, 200))
    for n_rows in (1, 9, 700):
        rows = tricky_rows(np.random.default_rng(1), n_rows, 3)
        yield f"walk {n_rows}", digest(made_up.apply(rows), made_up.decision_function(rows), made_up.predict(rows))

    per_class = random_forest(np.random.default_rng(0), sizes=(5, 32) * 6, per_class=True)
    rows = tricky_rows(np.random.default_rng(1), 700, 3)
    yield "walk, a class a tree", digest(per_class.predict_proba(rows), per_class.predict(rows.astype(np.float64)))

    categorical = with_sets(np.random.default_rng(2), made_up, n_sets=30)
    plainly = with_sets(np.random.default_rng(2), made_up, n_sets=30)
    plainly.__dict__["_tables"] = None
    for n_rows in (1, 9, 700):
        rows = rows_of_categories(np.random.default_rng(1), n_rows, 3)
        for dtype in (np.float32, np.float64):
            found = [(one.apply(rows), one.predict(rows.astype(dtype))) for one in (categorical, plainly)]
            yield f"walk, categories, {n_rows}, {np.dtype(dtype)}", digest(*found[0], *found[1])

    # As if it were too large to be laid out.
    rows = tricky_rows(np.random.default_rng(1), 90, 3)
    plain = random_forest(np.random.default_rng(0), sizes=(1, 5, 40, 63, 200))
    plain.__dict__["_tables"] = None
    yield "walk, plainly", digest(plain.apply(rows), plain.decision_function(rows), plain.predict(rows))

    X, y = make_regression(500, 6, noise=5.0, random_state=0)
    counts = HistGradientBoostingRegressor(loss="poisson", max_iter=12, random_state=0).fit(X, np.abs(y).round())
    refined = bh.refine(bh.as_forest(counts), X, np.abs(y).round(), epochs=3, validation_fraction=None)
    yield "refine, poisson", digest(refined.value)

    X, y = make_classification(500, 9, n_informative=6, n_classes=5, flip_y=0.1, random_state=0)
    tree_by_class = HistGradientBoostingClassifier(max_iter=4, max_leaf_nodes=8, random_state=0).fit(X, y)
    for loss in ("cross_entropy", "mse", "squared_hinge"):
        refined = bh.refine(tree_by_class, X, y, loss=loss, epochs=3, validation_fraction=None)
        yield f"refine bcd, a tree for each class, {loss}", digest(refined.value)

    for n_classes in (1, 2, 3, 18):
        if n_classes == 1:
            X, y = make_regression(500, 6, noise=5.0, random_state=0)
            y = np.abs(y / 50.0)
            model = RandomForestRegressor(12, max_leaf_nodes=24, random_state=0).fit(X, y)
            losses = ["mse", "absolute", "huber"]
        else:
            X, y = make_classification(500, 9, n_informative=6, n_classes=n_classes, flip_y=0.1, random_state=0)
            model = RandomForestClassifier(12, max_leaf_nodes=24, random_state=0).fit(X, y)
            losses = ["cross_entropy", "mse", "squared_hinge"]
        forest = bh.as_forest(model)
        yield f"predict, {n_classes}", digest(forest.predict(X), forest.predict(X[:1]), forest.decision_function(X))
        for loss in losses:
            for solver, more in [
                ("bcd", {}),
                ("bcd", {"penalty": "group_l1", "strength": 2.0}),
                ("sgd", {"step_size": 0.01}),
                ("sgd", {"step_size": 0.01, "optimizer": "adam"}),
                ("sgd", {"step_size": 0.01, "batch_gradient": "last"}),
                ("sgd", {"step_size": 0.01, "batch_gradient": "mean", "refine_weights": True}),
            ]:
                if "penalty" in more and n_classes == 1:
                    continue
                refined = bh.refine(
                    forest, X, y, loss=loss, solver=solver, epochs=3, validation_fraction=None, random_state=0, **more
                )
                yield f"refine {solver} {more}, {loss}, {n_classes}", digest(refined.value, refined.tree_weight)
            holder = Here(forest, X, np.asarray(y), np.ones(len(y)), loss, 3)
            yield (
                f"refine in parts, {loss}, {n_classes}",
                digest(refined_in_parts(forest, holder, loss).value),
            )
            merged = bh.merge(forest, X, y, max_leaves=100, loss=loss)
            yield f"merge, {loss}, {n_classes}", digest(merged.value, merged.threshold)
            tests = KnownTests(merged, np.asarray(X, np.float32))
            chosen = choose_splits(tests, y, loss=loss, sample_weight=np.full(len(y), 1.25))
            yield f"choose splits, {loss}, {n_classes}", digest(chosen.feature, chosen.threshold, chosen.row_weight)
            if loss in ("cross_entropy", "mse"):
                for options in [{}, {"codebook": 16}, {"codebook": 16, "scales": "class"}]:
                    if n_classes <= 2 and options:
                        continue
                    packed = bh.pack(merged, X=X, y=y, loss=loss, leaf_bits=5, **options)
                    scores = packed.decision_function(X)
                    yield f"pack {options}, {loss}, {n_classes}", digest(scores, packed.predict(X))
        if n_classes > 2:
            packed = bh.pack(forest, codebook=8)
            yield f"pack without rows, {n_classes}", digest(packed.predict(X))
        for method in bh.pruning_methods():
            if method.reference.startswith("your own") or (n_classes == 1 and not method.regression):
                continue
            chosen = bh.prune(forest, X, y, method=method.name, n_trees=4, random_state=0)
            yield f"prune {method.name}, {n_classes}", digest(chosen.offset, chosen.threshold, chosen.tree_weight)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        use(sys.argv[1])
    never_called = set()
    note_calls(never_called)
    found = (
        dict(results()) | dict(grown_trees()) | dict(learned_projections()) | dict(coded_rows()) | dict(read_texts())
    )
    print(json.dumps(found | {"never called": sorted(never_called)}, indent=1))
