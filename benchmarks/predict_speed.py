"""How fast is `Forest.predict_proba` beside scikit-learn, ONNX Runtime and lleaves? One thread, one run, ratios.

    python benchmarks/predict_speed.py                # those of the others that are installed
    pip install '.[benchmark]'                        # all of them

Forests of 256 and 8 trees, two classes, 14 features: the EEG data set where BILLHOOK_DATA names a folder that has it,
else made-up rows of the same shape. Times are the best of several rounds, in which all take turns.
"""

import os
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

import billhook as bh

ROUNDS = 7


def rows():
    path = Path(os.environ.get("BILLHOOK_DATA", "")) / "eeg.parquet"
    if path.exists():
        import pandas as pd

        table = pd.read_parquet(path)
        return "eeg", np.ascontiguousarray(table.drop(columns="label"), np.float32), table["label"].to_numpy()
    X, y = make_classification(15_000, 14, n_informative=10, flip_y=0.05, random_state=0)
    return "made-up rows", X.astype(np.float32), y


def onnx_runtime(model, X):
    """Return a function like predict_proba, run by ONNX Runtime on one thread."""
    import onnxruntime
    from skl2onnx import to_onnx

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    proto = to_onnx(model, X[:1], options={id(model): {"zipmap": False}})
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda X: session.run(["probabilities"], {name: X})[0]


def lleaves(model, X):
    """Return a function from rows to the probability of the second class, compiled by lleaves.

    lleaves reads LightGBM's text files, so the forest is written as one: a regression whose leaves hold
    P(class 2) / trees.
    """
    if sum(member.get_n_leaves() for member in model.estimators_) > 50_000:
        raise ImportError("it compiles so many leaves for more than five minutes")
    import tempfile

    import lleaves as compiler

    text = ["tree", "version=v4", "num_class=1", "num_tree_per_iteration=1", "label_index=0"]
    text += [f"max_feature_idx={X.shape[1] - 1}", "objective=regression"]
    text += ["feature_names=" + " ".join(f"f{i}" for i in range(X.shape[1]))]
    text += [
        "feature_infos=" + " ".join(["[-1e308:1e308]"] * X.shape[1]),
        "tree_sizes=" + " ".join(["1"] * len(model)),
    ]
    for number, member in enumerate(model.estimators_):
        tree = member.tree_
        splits, leaves = np.flatnonzero(tree.children_left >= 0), np.flatnonzero(tree.children_left < 0)
        name = np.empty(tree.node_count, int)
        name[splits], name[leaves] = np.arange(splits.size), -1 - np.arange(leaves.size)
        columns = {
            "split_feature": tree.feature[splits],
            "threshold": tree.threshold[splits],
            "decision_type": np.full(splits.size, 2),
            "left_child": name[tree.children_left[splits]],
            "right_child": name[tree.children_right[splits]],
            "leaf_value": tree.value[leaves, 0, 1] / len(model),
        }
        text += ["", f"Tree={number}", f"num_leaves={leaves.size}", "num_cat=0"]
        text += [f"{key}={' '.join(map(repr, column.tolist()))}" for key, column in columns.items()]
        text += ["is_linear=0", "shrinkage=1"]
    text += ["", "end of trees", "", "pandas_categorical:[]", ""]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.txt"
        path.write_text("\n".join(text))
        compiled = compiler.Model(model_file=path)
        compiled.compile()
    return lambda X: compiled.predict(X, n_jobs=1)


def contestants(model, X):
    """Return every tool that is here, as a function from rows to probabilities, checked against scikit-learn's."""
    model.set_params(n_jobs=1)
    tools = {"scikit-learn": model.predict_proba, "Billhook": bh.as_forest(model).predict_proba}
    expected = model.predict_proba(X[:2000])[:, 1]
    for name, build in {"ONNX Runtime": onnx_runtime, "lleaves": lleaves}.items():
        try:
            tools[name] = build(model, X)
        except (ImportError, AttributeError) as error:  # lleaves needs an llvmlite before 0.45
            print(f"  {name}: not measured ({error})")
    for name, tool in tools.items():
        answer = tool(X[:2000])
        error = np.abs((answer[:, 1] if answer.ndim == 2 else answer) - expected).max()
        if error > 1e-5:
            print(f"  {name}: probabilities differ by up to {error:.2g}")
    return tools


def best_times(tools, X, repeat):
    """Return the shortest time of each tool, all taking turns."""
    best = dict.fromkeys(tools, np.inf)
    for _ in range(ROUNDS):
        for name, tool in tools.items():
            start = time.perf_counter()
            for _ in range(repeat if name != "scikit-learn" else max(1, repeat // 50)):
                tool(X)
            elapsed = time.perf_counter() - start
            best[name] = min(best[name], elapsed / (repeat if name != "scikit-learn" else max(1, repeat // 50)))
    return best


def main():
    name, X, y = rows()
    print(f"{name}: {X.shape[0]:,} x {X.shape[1]}, best of {ROUNDS} rounds, one thread\n")
    for n_trees, max_leaves in ((256, 64), (256, 1024), (8, 64)):
        model = RandomForestClassifier(n_trees, max_leaf_nodes=max_leaves, random_state=0, n_jobs=-1).fit(X, y)
        print(f"{n_trees} trees x {max_leaves} leaves")
        tools = contestants(model, X)
        batch = best_times(tools, X, 1)
        single = best_times(tools, X[:1], 100)
        print(f"  {'':14}{'all rows: ns/(row, tree)':>26}{'times faster':>14}{'one row: µs':>14}{'times faster':>14}")
        for tool in tools:
            print(
                f"  {tool:14}{batch[tool] / len(X) / n_trees * 1e9:26.1f}{batch['scikit-learn'] / batch[tool]:14.1f}"
                f"{single[tool] * 1e6:14.1f}{single['scikit-learn'] / single[tool]:14.0f}"
            )
        print()


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the other tools
        main()
