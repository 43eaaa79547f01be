"""Three fits whose every byte follows from rows, seed and number of trials; prints a digest of each.

    python tests/locked_models.py N_JOBS [EXTENSION]

With an extension of the kernels that was compiled in another way, the digests are the same.
"""

import hashlib
import json
import sys
import tempfile
from pathlib import Path


def tables():
    """Return tables whose numbers no version of a library changes, and how they are fitted."""
    import numpy as np
    import pandas as pd

    # A linear congruence instead of NumPy's generators, whose streams may change.
    states = [12345]
    for _ in range(8 * 700):
        states.append((1103515245 * states[-1] + 12345) % 2**31)
    x = (np.array(states[1:]).reshape(700, 8) / 2**31).astype(np.float32)
    frame = pd.DataFrame(x, columns=[f"x{k}" for k in range(8)])
    sums = x[:, 0] + 2 * x[:, 1] * x[:, 2] - x[:, 3] + 0.3 * x[:, 7]
    words = frame.assign(word=np.array(["red", "green", "blue", "black"])[(4 * x[:, 4]).astype(int)])
    shifted = sums + np.where(words["word"] == "red", 0.5, 0.0)
    missing = frame.mask(x < 0.05)
    return {
        "two classes, a categorical column": (words.assign(y=shifted > 0.7), {"budget": 900, "n_trials": 4}),
        "four classes, missing values": (
            missing.assign(y=np.digitize(sums, [0.2, 0.6, 1.0]).astype(str)),
            {"budget": 1500, "n_trials": 4},
        ),
        "regression": (frame.assign(y=sums), {"budget": 700, "n_trials": 4}),
    }


def digests(n_jobs):
    """Return a digest of the saved file of each model."""
    from billhook import fit_table

    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (frame, options) in tables().items():
            packed = fit_table(frame, "y", n_jobs=n_jobs, random_state=3, **options).packed
            packed.save(Path(folder) / "model.bhk")
            found[name] = hashlib.sha256((Path(folder) / "model.bhk").read_bytes()).hexdigest()[:16]
    return found


if __name__ == "__main__":
    if len(sys.argv) > 2:
        from all_kernels import use

        use(sys.argv[2])
    print(json.dumps(digests(int(sys.argv[1])), indent=1))
