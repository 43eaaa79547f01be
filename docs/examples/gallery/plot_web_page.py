"""
A web page with WebAssembly
===========================

A model as a page that predicts from a form in the browser, and opens from a disk without a network: a reader of 7 KB
as WebAssembly, and the model as a *blob* that can be replaced.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

import billhook as bh

frame = load_wine(as_frame=True).frame
frame["target"] = "cultivar " + frame["target"].astype(str)
result = bh.fit_table(frame, "target", budget=512, n_trials=4)
print(result.packed)

# %%
# The page asks only for the columns that the model looks at.
sizes = {}
with tempfile.TemporaryDirectory() as folder:
    try:
        files = bh.emit(result.packed, Path(folder, "page"), runtime="web", name="wine")
    except bh.MissingToolError as missing:  # it takes clang and lld, or zig, to compile the reader
        print(missing)
        files = ()
    for path in files:
        sizes[path.name] = path.stat().st_size
        print(f"{sizes[path.name]:8,}  {path.name}")

# %%
# What is loaded: all of it is a small picture's worth.
fig, ax = plt.subplots(figsize=(6.4, 2.6))
shown = {name: size for name, size in sizes.items() if not name.endswith((".md", ".mts"))}
bars = ax.barh(list(shown), list(shown.values()))
ax.bar_label(bars, fmt="{:,.0f}", padding=4)
ax.invert_yaxis()
ax.set(xlabel="bytes", title="A page that tells three wines apart")
ax.margins(x=0.15)
plt.show()

# %%
# In a program of your own::
#
#     import { load } from "./billhook.mjs";
#     const model = await load(new URL("./wine.bhm", import.meta.url));
#     model.predict(model.encode({ alcohol: 13.2, proline: 1050 }));
#
# :doc:`More on runtimes </runtimes>`.
