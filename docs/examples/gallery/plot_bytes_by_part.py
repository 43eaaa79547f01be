"""
Bytes by part
=============

Where the bytes of a packed model go: the tests, the shapes of the trees, the leaves, and the tables. It tells what to
make smaller: leaves by fewer bits or a codebook, tests by fewer thresholds.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import billhook as bh

X, X_test, y, y_test = train_test_split(*load_digits(return_X_y=True), test_size=0.4, random_state=0)
rf = RandomForestClassifier(16, max_leaf_nodes=32, random_state=0).fit(X, y)
forest = bh.refine(rf, X, y, random_state=0)

exact = {"threshold_bits": "exact", "X": X, "y": y}
models = {
    "8-bit leaves": bh.pack(forest, leaf_bits=8, **exact),
    "4-bit leaves": bh.pack(forest, leaf_bits=4, **exact),
    "2-bit leaves": bh.pack(forest, leaf_bits=2, **exact),
    "64 leaf vectors": bh.pack(forest, leaf_bits=4, codebook=64, **exact),
    "16 leaf vectors": bh.pack(forest, leaf_bits=4, codebook=16, **exact),
}

# %%
# ``layout.sections`` says where each section begins.
GROUPS = {
    "features and thresholds": ("features", "grids", "steps", "sizes", "categories"),
    "sizes of trees": ("trees",),
    "shapes": ("shapes",),
    "tests": ("tests", "pairs"),
    "leaves": ("leaves", "table"),
    "rest": ("factors", "base"),
}


def parts(packed):
    """Return the bytes of each group of sections."""
    names = list(packed.layout.sections)
    starts = list(packed.layout.sections.values())
    size = {name: end - start for name, start, end in zip(names, starts, starts[1:], strict=False)}
    return {group: sum(size[name] for name in members) for group, members in GROUPS.items()}


fig, ax = plt.subplots(figsize=(6.4, 3.8))
left = dict.fromkeys(models, 0)
for group in GROUPS:
    widths = [parts(packed)[group] for packed in models.values()]
    ax.barh(list(models), widths, left=list(left.values()), label=group)
    left = {name: left[name] + width for name, width in zip(models, widths, strict=True)}
for name, packed in models.items():
    print(f"{name:16} {packed.nbytes:6,} bytes, {(packed.predict(X_test) == y_test).mean():.1%} of the test rows")
ax.invert_yaxis()
ax.set(xlabel="bytes", title="One forest: 16 trees, 32 leaves each")
ax.legend(fontsize=9)
plt.show()
