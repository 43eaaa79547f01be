from typing import Any

from billhook.cli.options._command import Command
from billhook.cli.options._help import HelpFormatter, examples


def add_to(commands: Any) -> None:
    """Add `billhook fit`."""
    parser = commands.add_parser(
        "fit",
        allow_abbrev=False,
        help="learn the most accurate model for a number of bytes or a target",
        description="Learn from a table the most accurate model that fits a number of bytes, or a target. Writes the "
        "model, a C project that tests itself, and a report.",
        epilog=examples(
            "billhook fit --demo --out digits",
            "billhook fit wine.csv --label kind --budget 4KB --out wine",
            "billhook fit wine.csv --label kind --target arduino-uno --reserve 20KB --out wine",
            "billhook fit wine.csv --label kind --target arduino-uno --budget 4KB --max-cycles 20000 --out wine",
            "billhook fit wine.csv --label kind --budget 4KB --trials 50 --seed 1 --out wine",
            "billhook fit wine.csv --label kind --budget 4KB --max-features 3 --out wine",
            "billhook fit --resume wine --time-limit 600",
        ),
        formatter_class=HelpFormatter,
    )
    parser.add_argument("table", nargs="?", metavar="TABLE", help="rows to learn from: CSV, Parquet or ARFF")
    data = parser.add_argument_group("data")
    data.add_argument("--label", metavar="COLUMN", help="the column to predict; -1 is the last one")
    data.add_argument("--task", choices=("classification", "regression"), help="if it is guessed wrong")
    data.add_argument("--class-weight", choices=("balanced",), help="count rare classes as much as others")
    data.add_argument(
        "--categorical",
        choices=("one_hot", "ordered"),
        help="how categorical columns are encoded (default: what does better on held-out rows)",
    )
    data.add_argument("--group", metavar="COLUMN", help="hold out rows with the same value there together")
    data.add_argument("--split", metavar="time:COLUMN", help="hold out the latest rows by this column")
    data.add_argument(
        "--max-features", type=int, metavar="N", help="read at most N columns of the table, as few sensors: the best"
    )
    data.add_argument(
        "--max-projections",
        type=int,
        metavar="N",
        help="at most N weighted sums of columns that splits may test, 0 for none (default: what does best)",
    )
    data.add_argument("--demo", action="store_true", help="learn scikit-learn's digits: needs no table")
    size = parser.add_argument_group("size of the model")
    size.add_argument("--budget", metavar="SIZE", help="how many bytes the model may take, as 4KB")
    size.add_argument("--target", metavar="NAME", help="a target it has to fit: see `billhook targets`")
    size.add_argument("--reserve", metavar="SIZE", default=0, help="bytes of its flash for your own code, as 20KB")
    size.add_argument(
        "--max-cycles",
        type=int,
        metavar="N",
        help="most cycles a row may take on the target: chooses the smallest layout of the C code that takes no more",
    )
    search = parser.add_argument_group("search")
    search.add_argument(
        "--time-limit",
        type=float,
        default=60.0,
        metavar="S",
        help="the most seconds from the start to the written files (default: 60)",
    )
    search.add_argument(
        "--trials", type=int, metavar="N", help="evaluate so many configurations, instead of a time: repeatable"
    )
    search.add_argument(
        "--loss",
        metavar="NAME",
        help="of regression: squared_error (default), absolute_error, huber, quantile, poisson",
    )
    search.add_argument("--quantile", type=float, metavar="Q", help="for --loss quantile: which one, as 0.9")
    search.add_argument(
        "--metric",
        "--scoring",
        dest="scoring",
        metavar="NAME",
        help="what is best, by any name of scikit-learn's scorers: accuracy, balanced_accuracy, f1_macro, ... "
        "(default: accuracy or r2)",
    )
    search.add_argument(
        "--costs",
        metavar="FILE",
        help="what each mistake costs, instead: a table, a row for each true class, a column for each predicted one",
    )
    search.add_argument(
        "--model",
        metavar="FILE",
        help="compress this saved forest or model of another library, instead of growing one",
    )
    search.add_argument("--seed", type=int, default=0, metavar="N", help="of all that is random (default: 0)")
    search.add_argument(
        "--jobs", type=int, default=-1, metavar="N", help="configurations at a time (default: one a core)"
    )
    search.add_argument(
        "--backend",
        choices=("threads", "dask"),
        default="threads",
        help="where they are evaluated (default: threads)",
    )
    search.add_argument(
        "--resume",
        metavar="DIR",
        help="go on searching where the fit in this folder ended, with what was asked for then, and write it anew",
    )
    search.add_argument(
        "--compare",
        action="store_true",
        help="report what a random forest, XGBoost and LightGBM make of the same bytes",
    )
    search.add_argument("--scheduler", metavar="ADDRESS", help="of the Dask cluster, as tcp://10.0.0.1:8786")
    output = parser.add_argument_group("output")
    output.add_argument("--out", metavar="DIR", help="the folder to write to")
    output.add_argument("--force", action="store_true", help="replace files in DIR")
    output.add_argument("--name", default="model", help="prefix of all names in C (default: %(default)s)")
    parser.set_defaults(run=Command("fit"))
