"""
Quantiles in one kilobyte
=========================

What will the value be at least, and at most? Two models of half a kilobyte each predict the 0.1 and the 0.9 quantile
of a number, from growing to the C with the loss that belongs to it.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import billhook as bh

rng = np.random.default_rng(0)
hour = rng.uniform(0, 24, 3000)
load = 20 + 15 * np.sin((hour - 8) / 24 * 2 * np.pi) + rng.gamma(2, 1 + 3 * (hour > 16), hour.size)
frame = pd.DataFrame({"hour": hour, "load": load})

# %%
models = {
    quantile: bh.fit_table(frame, "load", budget=512, loss="quantile", quantile=quantile, n_trials=3).packed
    for quantile in (0.1, 0.5, 0.9)
}

# %%
fresh = np.linspace(0, 24, 400, dtype=np.float32)[:, None]
fig, ax = plt.subplots()
ax.plot(hour[:800], load[:800], ".", color="0.75", markersize=4)
for quantile, packed in models.items():
    ax.plot(fresh, packed.predict(fresh), label=f"{quantile:.0%} are below, {packed.nbytes} bytes")
    below = (load < packed.predict(hour.astype(np.float32)[:, None])).mean()
    print(f"{quantile:.0%} asked for, {below:.1%} of the rows are below")
ax.set(xlabel="hour", ylabel="load", xticks=range(0, 25, 6))
ax.legend(loc="upper left")
plt.show()
