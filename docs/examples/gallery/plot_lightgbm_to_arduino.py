"""
LightGBM to Arduino
===================

A LightGBM model is read exactly, packed, and written as an Arduino library. Nothing is trained again, and the numbers
say what each step costs.
"""

import tempfile
from pathlib import Path

import lightgbm
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import billhook as bh

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
model = lightgbm.LGBMClassifier(n_estimators=25, num_leaves=6, verbose=-1, n_jobs=1, random_state=0)
model.fit(X_train, y_train)

# %%
# Exactly: the same scores, to the last bit.
forest = bh.as_forest(model)
assert (forest.decision_function(X_test) == model.predict(X_test, raw_score=True)).all()
print(forest)

# %%
# Fewer bits: what is lost, and what is won.
steps = {}
for bits in (16, 8, 6, 4, 3, 2):
    packed = bh.pack(forest, threshold_bits="exact", leaf_bits=bits, X=X_train)
    steps[bits] = packed.nbytes, (packed.predict(X_test) == y_test).mean()
    print(f"{bits:2} bits a leaf: {packed.nbytes:6,} bytes, {steps[bits][1]:.1%}")

fig, ax = plt.subplots()
ax.axhline((model.predict(X_test) == y_test).mean(), color="0.6", linestyle="--", label="LightGBM")
ax.plot([size for size, _ in steps.values()], [accuracy for _, accuracy in steps.values()], "o-", label="packed")
for bits, (size, accuracy) in steps.items():
    ax.annotate(f"{bits} bits", (size, accuracy), xytext=(4, -14), textcoords="offset points", fontsize=9)
ax.set(xlabel="bytes", ylabel="accuracy on test rows", title="250 trees of 6 leaves")
ax.legend()
plt.show()

# %%
# An Arduino library: copy the folder into the IDE's ``libraries``.
packed = bh.pack(forest, threshold_bits="exact", leaf_bits=4, X=X_train)
with tempfile.TemporaryDirectory() as folder:
    for path in bh.emit(packed, Path(folder, "digits"), target="arduino-uno", name="digits", X=X_test):
        print(f"{path.stat().st_size:8,}  {path.relative_to(folder)}")
    sketch = next(Path(folder).rglob("*.ino")).read_text()
print(sketch)
