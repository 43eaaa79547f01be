import pytest

from billhook._checks import as_bytes


@pytest.mark.parametrize(
    ("given", "expected"),
    [("4KB", 4096), ("4 KB", 4096), ("4kb", 4096), ("4096", 4096), (4096, 4096), ("1.5MB", 1_572_864), (" 7 B ", 7)],
)
def test_sizes(given, expected):
    assert as_bytes(given) == expected


@pytest.mark.parametrize("given", ["-1", "", "KB", "4 pounds", "4,5KB", "1e3", "nan", "0", "0.5"])
def test_what_is_no_size(given):
    with pytest.raises(ValueError, match=r"--budget must be .*, not '"):
        as_bytes(given, "--budget")


@pytest.mark.parametrize("given", [0, -3])
def test_too_few_bytes(given):
    with pytest.raises(ValueError, match=f"must be at least one byte, not {given}"):
        as_bytes(given)


@pytest.mark.parametrize("given", [None, 4.5, True, [4096]])
def test_what_is_no_number(given):
    with pytest.raises((TypeError, ValueError), match="size must be"):
        as_bytes(given)
