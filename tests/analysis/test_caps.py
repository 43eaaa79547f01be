from fractions import Fraction

import numpy as np
import pytest

from billhook.analysis import write_report, write_tables
from billhook.analysis._caps import checked_caps
from made_up_studies import study

RESULTS = study(("eeg",), ("RF", "RE"), folds=1)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ((32, 64, 128, 256), ["32", "64", "128", "256"]),
        ([0.5, 2.0], ["0.5", "2"]),
        (np.array([4, 8]), ["4", "8"]),
        (np.array([0.25, 16.0]), ["0.25", "16"]),
        ((cap for cap in (1, Fraction(3, 2))), ["1", "1.5"]),
        ([64], ["64"]),
        (range(1, 9), list("12345678")),
        ([1 / 1024, 2**30], ["0.0009765625", "1073741824"]),
    ],
)
def test_caps_are_numbers_as_one_would_write_them(given, found):
    assert [str(cap) for cap in checked_caps(given)] == found


@pytest.mark.parametrize(
    ("caps", "error", "words"),
    [
        (64, TypeError, r"caps must be a list of sizes in KB, as in \(32, 64\), not 64"),
        ("32", TypeError, "caps must be a list of sizes in KB, .* not '32'"),
        (None, TypeError, "caps must be a list of sizes in KB, .* not None"),
        (("32", 64), TypeError, "a cap must be a number of KB, not '32'"),
        ((True, 64), TypeError, "a cap must be a number of KB, not True"),
        ((), ValueError, "caps must be 1 to 8 sizes in KB, not 0"),
        (range(1, 10), ValueError, "caps must be 1 to 8 sizes in KB, not 9"),
        ((0, 32), ValueError, "a cap must be a positive number of KB, not 0"),
        ((-1.5, 32), ValueError, "a cap must be a positive number of KB, not -1.5"),
        ((float("nan"),), ValueError, "a cap must be a positive number of KB, not nan"),
        ((float("inf"),), ValueError, r"a cap must be from 1 byte to 1 TB \(1073741824 KB\), not inf KB"),
        ((10**400,), ValueError, "a cap must be from 1 byte to 1 TB"),
        ((0.0005,), ValueError, "a cap must be from 1 byte to 1 TB .* not 0.0005 KB"),
        ((64, 32, 128), ValueError, r"ascending order, each once, but 64 comes before 32; use \(32, 64, 128\)"),
        ((32, 32.0), ValueError, r"ascending order, each once, but 32 comes before 32; use \(32,\)"),
    ],
)
def test_what_is_wrong_with_caps_is_said_and_nothing_is_written(caps, error, words, tmp_path):
    with pytest.raises(error, match=words):
        write_report(RESULTS, tmp_path / "report.html", caps=caps)
    with pytest.raises(error, match=words):
        write_tables(RESULTS, tmp_path / "tables", caps=caps)
    assert list(tmp_path.iterdir()) == []
