"""
I compare pruning methods
=========================

A study is a TOML file: data sets, base ensembles, methods. One command runs it, as often interrupted as you like; one
makes a page of the results, one the tables and figures for a paper.
"""

# sphinx_gallery_thumbnail_number = 2
import shlex
import subprocess
import tempfile
from pathlib import Path

import billhook as bh

folder = Path(tempfile.mkdtemp())


def run(command):
    """Run a command in the folder, and show what it prints."""
    print("$", command)
    print(subprocess.run(shlex.split(command), cwd=folder, capture_output=True, text=True, check=True).stdout)


# %%
# The study
# ---------
# Four small data sets, a forest of 32 trees, five ways to make it smaller. The paper's study is the same with more of
# everything: ``billhook study run paper``.
STUDY = """\
name = "five ways"
data = ["breast_cancer", "digits", "iris", "wine"]
folds = 3
bases = ["random_forest"]
trees = 32
max_leaves = [8, 32]
n_trees = [2, 4, 8, 16]
caps = [8, 16, 32]

[[methods]]
label = "RF"                    # the first trees: what every method has to beat

[[methods]]
label = "RE"
prune = "reduced_error"

[[methods]]
label = "IC"
prune = "individual_contribution"

[[methods]]
label = "COMP"
prune = "complementariness"

[[methods]]
label = "BCD"                   # the first trees, leaf values refined
refine = { solver = "bcd", epochs = 8 }
"""
(folder / "mine.toml").write_text(STUDY)
run("billhook study run mine.toml --out results --jobs 1")

# %%
# The page
# --------
# One HTML file with a slider for the size, tables, plots and tests. It loads nothing from elsewhere.
run("billhook study report results --out report.html")
print(f"{(folder / 'report.html').stat().st_size / 1024:,.0f} KB")

# %%
# The same numbers in Python
# --------------------------
# A row per run; then a row per configuration, means over the folds.
results = bh.study.results(folder / "results")
table = bh.analysis.configurations(results)
areas = bh.analysis.areas(table)
print(areas.round(4))

# %%
# Which methods differ? Friedman's test, then Wilcoxon's with Holm's correction. Four data sets cannot show a
# difference, and the diagram says so: a bar joins methods that do not differ.
compared = bh.analysis.compare(areas)
print(compared.mean_ranks.round(2))
ranks = bh.analysis.critical_difference_diagram(compared)

# %%
# Accuracy over size, and what fits.
curves = bh.analysis.accuracy_over_memory(table, "digits")
print(bh.analysis.best_below(table, 16).round(3))

# %%
# The tables for a paper
# ----------------------
# ``billhook study tables`` writes all of them as CSV, LaTeX, PNG and PDF. One by hand:
print(bh.analysis.to_latex(areas, caption="Area under the Pareto front.", label="tab:areas"))

# %%
# Where to go on
# --------------
# - :doc:`Studies </study>`: the file, interruptions, Dask. :doc:`Analysis </analysis>`: how everything is computed.
# - :doc:`The paper's study, run again </results/paper>`.
