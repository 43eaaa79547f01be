"""The data sets of a study."""

from functools import lru_cache
from hashlib import sha256

import numpy as np

from billhook._checks import resolve_name
from billhook.datasets import DataSet, load, load_table, names
from billhook.study._study import DataSource
from billhook.tables import EncodedColumn, Encoding

BUILT_IN = ("breast_cancer", "digits", "iris", "wine")


def load_source(source: DataSource, *, download: bool = True) -> DataSet:
    """Return a data set of a study: a table, one of scikit-learn's, or one of the paper's."""
    if source.path is not None:
        assert source.label is not None
        return load_table(
            source.path,
            source.label,
            name=source.name,
            task="classification",
            missing=source.missing,
            split=source.split,
        )
    if source.name in BUILT_IN:
        return _built_in(source.name)
    known = {name: name for name in (*names(), *BUILT_IN)}
    return load(resolve_name(source.name, known, "there is no data set"), download=download)


@lru_cache(maxsize=1)
def load_again(source: DataSource, contents: str) -> DataSet:
    """Return a data set with these contents, that of the last call without reading it again."""
    data = load_source(source, download=False)
    if contents_of(data) != contents:
        raise ValueError(f"{source.name} has changed while the study was running: put it back, and run it again")
    return data


def contents_of(data: DataSet) -> str:
    """Return a text that tells contents from others: features, labels, and a given split."""
    digest = sha256(repr((data.X.shape, data.feature_names)).encode())
    digest.update(np.ascontiguousarray(data.X).tobytes())
    digest.update(repr(data.y.tolist()).encode())
    for rows in (data.train, data.test):
        digest.update(b"" if rows is None else np.asarray(rows, np.int64).tobytes())
    return digest.hexdigest()[:32]


def _built_in(name: str) -> DataSet:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    names = tuple(str(feature) for feature in bunch.feature_names)
    X = np.asarray(bunch.data, np.float32)
    encoding = Encoding(tuple(EncodedColumn(feature) for feature in names))
    return DataSet(name, X, bunch.target, np.unique(bunch.target), names, None, None, encoding)
