"""What tools/mutants changes in Python and C, and whether it tells mutants that tests notice from others."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tools"))

from mutation.c_places import c_mutated, c_places  # noqa: E402
from mutation.python_places import mutated, python_places  # noqa: E402


def changes_in_python(text):
    return [ast.unparse(mutated(text, place.index)[0]) for place in python_places("x", "x.py", text)]


def changes_in_c(text):
    return [c_mutated(text, place.index)[0] for place in c_places("x", "x.c", text)]


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("a <= b", ["a < b"]),
        ("a < b < c", ["a <= b < c", "a < b <= c"]),
        ("a += 1", ["a -= 1", "a += 2"]),
        ("x = not a", ["x = not not a"]),
        ("x = -a", ["x = +a"]),
        ("x = 1 if a else False", ["x = 1 if not a else False", "x = 2 if a else False", "x = 1 if a else True"]),
        ("x: Array[1] = 2", ["x: Array[1] = 3"]),
        ('"""1 < 2"""', []),
    ],
)
def test_python_is_changed_in_one_place_at_a_time(text, changes):
    assert changes_in_python(text) == changes


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("int f(int *a) { return a[i] < *b; }", ["int f(int *a) { return a[i] <= *b; }"]),
        ("x = a * b;", ["x = a + b;"]),
        ("x = &a;", []),
        (
            "static PyObject *f(const Trees *t, EntryEnd *e) { return N * a; }",
            ["static PyObject *f(const Trees *t, EntryEnd *e) { return N + a; }"],
        ),
        ("if (f(a)) b;", ["if (!(f(a))) b;"]),
        ("x = 0x1Fu;", ["x = (0x1Fu + 1);"]),
        ("x = 7u; /* 1 < 2 */", ["x = 8u; /* 1 < 2 */"]),
        ("#define A 1 + \\\n 2\nx = a->b;", []),
        ("i++;", ["i--;"]),
        ("x = -a;", ["x = +a;"]),
        ("x >>= k;", ["x <<= k;"]),
    ],
)
def test_c_is_changed_in_one_place_at_a_time(text, changes):
    assert changes_in_c(text) == changes


def test_a_place_is_known_again_when_other_functions_have_changed():
    before = {place.key for place in python_places("x", "x.py", "def f(a):\n    return a < 1")}
    after = {
        place.key for place in python_places("x", "x.py", "def g(a):\n    return a < 1\ndef f(a):\n    return a < 1")
    }
    assert len(before) == 2
    assert before < after


def test_mutants_are_run_against_the_tests_that_reach_them_and_not_twice(tmp_path):
    pytest.importorskip("coverage")
    results = tmp_path / "results.jsonl"
    command = [sys.executable, ROOT / "tools" / "mutants", "--seed", "1", "--kept", tmp_path, "--results", results]
    for _ in range(2):
        done = subprocess.run([*command, "html:25"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        said = [json.loads(line) for line in results.read_text().splitlines()]
        assert len(said) == 25
    killed = [one for one in said if one["killed"]]
    assert killed
    assert all(one["n_run"] is None or 0 < one["n_run"] <= one["n_tests"] for one in killed)
    assert f"html: {len(killed)} of 25 killed" in done.stdout
