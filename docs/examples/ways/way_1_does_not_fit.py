"""
My model does not fit the chip
==============================

From a CSV file to a sketch that switches on a lamp, on an Arduino Uno: 32 KB of flash and 2 KB of RAM for everything.
You need Python; to compile for the board on your machine, ``avr-gcc`` and ``simavr`` too (``make toolchains``).
"""

# sphinx_gallery_thumbnail_number = 1
import shlex
import subprocess
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

folder = Path(tempfile.mkdtemp())


def run(command):
    """Run a command in the folder, and show what it prints."""
    print("$", command)
    print(subprocess.run(shlex.split(command), cwd=folder, capture_output=True, text=True, check=True).stdout)


# %%
# The table
# ---------
# One line a row, one column a measurement, and a column that says what is to be recognised. This one is made up: a
# pump whose bearing wears out shakes more and gets warmer, more so when it runs fast.
rng = np.random.default_rng(0)
n_rows = 3000
speed = rng.integers(600, 3000, n_rows)
wear = rng.beta(0.8, 1.2, n_rows)
rows = pd.DataFrame(
    {
        "speed": speed,
        "shake": (rng.gamma(3, 8, n_rows) * (0.5 + speed / 3000) * (1 + 2.5 * wear)).round(1),
        "warmth": (25 + speed / 150 + 18 * wear + rng.normal(0, 3, n_rows)).round(1),
        "current": (180 + speed / 10 + 40 * wear + rng.normal(0, 15, n_rows)).round(),
        "state": np.where(wear > 0.6, "worn", "fine"),
    }
)
rows[:2500].to_csv(folder / "pump.csv", index=False)
rows[2500:].to_csv(folder / "later.csv", index=False)
print(rows.head(4).to_string(index=False))

# %%
# A forest that does not fit
# --------------------------
# What one would try first: scikit-learn's forest. A node is a feature, a threshold, two children and a value; in 16
# bytes each they take about this much.
from sklearn.ensemble import RandomForestClassifier

import billhook as bh

columns = ["speed", "shake", "warmth", "current"]
rf = RandomForestClassifier(100, random_state=0).fit(rows[:2500][columns].to_numpy(), rows[:2500]["state"])
forest = bh.as_forest(rf)
right = (forest.predict(rows[2500:][columns].to_numpy()) == rows[2500:]["state"]).mean()
print(f"{forest.n_nodes:,} nodes, at 16 bytes each {16 * forest.n_nodes / 1024:,.0f} KB")
print(f"{right:.1%} of later rows are right")

# %%
# One command
# -----------
# ``--reserve`` keeps flash for your own program. What to expect: the search ends when its time is over
# (``--time-limit``; here the number of trials is fixed, so that the page is the same everywhere), and says what it
# found and where it fits.
run("billhook fit pump.csv --label state --target arduino-uno --reserve 29KB --trials 12 --out pump")

# %%
# Expect three things in the folder: the model file, the report, which opens in a browser, and the C project.
for path in sorted((folder / "pump").rglob("*")):
    if path.is_file():
        print(f"{path.stat().st_size:8,}  {path.relative_to(folder)}")

# %%
# Does it do what it did in Python?
# ---------------------------------
# ``make -C pump/c test`` compares the C with the model on this machine. ``billhook measure`` compiles it for the
# board and runs it in an emulator of its processor; *agreement* has to be 100 %.
run("make -C pump/c --no-print-directory test")
run("billhook measure pump/model.bhk later.csv --target arduino-uno")
run("billhook score pump/model.bhk later.csv --label state")

# %%
# What is in it: where the bytes go, and which columns matter.
run("billhook show pump/model.bhk")

# %%
# On rows that came later:
from billhook.tables import features_of

packed = bh.load(folder / "pump" / "model.bhk")
later = rows[2500:]
scores = packed.predict_proba(features_of(later, packed))[:, list(packed.classes).index("worn")]
right = (packed.predict(features_of(later, packed)) == later["state"]).mean()
print(f"{right:.1%} of later rows are right, in {packed.nbytes:,} bytes")

fig, ax = plt.subplots(figsize=(6.4, 3))
for state, colour in (("fine", "C0"), ("worn", "C1")):
    ax.hist(scores[later["state"] == state], bins=np.linspace(0, 1, 26), alpha=0.6, label=state, color=colour)
ax.set(xlabel="probability of 'worn', as the chip computes it", ylabel="later rows")
ax.legend()
plt.show()

# %%
# The sketch
# ----------
# Copy ``pump/c/arduino/model`` into the ``libraries`` of the Arduino IDE, then compile this. The header names the
# features, so that nobody has to count columns.
SKETCH = """\
#include <model.h>

void setup() {
  pinMode(LED_BUILTIN, OUTPUT);
}

void loop() {
  float x[MODEL_N_FEATURES];
  x[MODEL_AT_SPEED] = analogRead(A0) * 3.0;     // your sensors, in the units of the table
  x[MODEL_AT_SHAKE] = analogRead(A1) * 0.3;
  x[MODEL_AT_WARMTH] = analogRead(A2) * 0.1;
  x[MODEL_AT_CURRENT] = analogRead(A3) * 0.5;
  bool is_worn = model_predict(x) == 1;         // in the order of packed.classes: 0 is fine, 1 is worn
  digitalWrite(LED_BUILTIN, is_worn ? HIGH : LOW);
  delay(200);
}
"""
header = (folder / "pump" / "c" / "model.h").read_text()
print("\n".join(line for line in header.splitlines() if "MODEL_AT" in line or "predict(" in line))
print(packed.classes.tolist())

# %%
print(SKETCH)

# %%
# Where to go on
# --------------
# - Too slow? ``--max-cycles``: :doc:`how fast a row is </fit>`.
# - A model that you have already: :doc:`bring your model </models>`.
# - Another board: :doc:`targets </targets>`. MicroPython, Rust or a browser: :doc:`runtimes </runtimes>`.
