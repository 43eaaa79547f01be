"""Messages of the library, as the command line prints them."""

import pytest

from billhook.cli._messages import as_options


@pytest.mark.parametrize(
    "message",
    [
        "data/target=uno/x.csv: there is no such file",
        "data/budget=4/n_trees/x.csv is not a Parquet file",
        "target=uno.csv: there is no such file",
        "n_trees.csv: there is no such file",
        "rows.csv has no column 'size=1'; its columns are 'size=2', 'time_limit=3'",
        """rows.csv has no column "it's budget='4KB'"; did you mean 'n_trees'?""",
        "the label column 'label' must not be empty, says 'task must be None, not 1'",
        "see `billhook fit budget=4`",
        r"C:\data\target=1\x.csv is empty",
    ],
)
def test_what_the_user_wrote_stays_as_it_is(message):
    assert as_options(message) == message


@pytest.mark.parametrize(
    ("message", "translated"),
    [
        ("scikit-learn's digits: task='regression' overrides", "scikit-learn's digits: --task regression overrides"),
        (
            "'a' has numbers: task='regression' overrides",
            "'a' has numbers: --task regression overrides",
        ),
        ("data/x.csv: use n_trees=8, or time_limit=0.5.", "data/x.csv: use --trees 8, or --time-limit 0.5."),
        (
            "leave out those that are missing (skip_missing=True)",
            "leave out those that are missing (--skip-missing)",
        ),
        ("or allow any version (any_version=True)", "or allow any version (--any-version)"),
        ("class_weight must be None for regression, not 'balanced'", "leave --class-weight out for regression"),
        ("n_trials must be None, not 5: too many", "leave --trials out: too many"),
        ("n_trials must be 1 or more, not 'n_trials'", "--trials must be 1 or more, not 'n_trials'"),
    ],
)
def test_parameters_become_options(message, translated):
    assert as_options(message) == translated
