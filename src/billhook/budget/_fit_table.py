"""What `billhook fit` does, from Python: from a table to the most accurate model that fits."""

import secrets
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from billhook._checks import as_bytes, as_int, at_least_one, n_threads_of
from billhook.budget._clock import Clock, in_time
from billhook.budget._columns import check_max_features, notes_on_columns, with_chosen_columns
from billhook.budget._costs import CostScorer, cost_scorer
from billhook.budget._distributed import DaskExecutor, fit_on_cluster
from billhook.budget._encoding import encode_table
from billhook.budget._fit import FitResult, fit
from billhook.budget._layout_in_time import in_time_of_rows
from billhook.budget._limits import limit_for, projections_for
from billhook.budget._output import check_output
from billhook.budget._projecting import check_max_projections
from billhook.budget._record import read_record, settings_to_keep
from billhook.budget._regression_loss import regression_loss
from billhook.budget._scoring import check_scoring
from billhook.budget._search import Search
from billhook.budget._user_model import forest_of_model, notes_on, source_of, user_ensemble_of
from billhook.cluster import Partitions, connect
from billhook.codegen import check_max_cycles, check_name, target_named
from billhook.tables import (
    CategoricalEncoding,
    Encoding,
    Table,
    features_of,
    is_frame,
    read_features,
    read_table,
    table_of_frame,
)


def fit_table(
    table: Any,
    label: str | None = None,
    *,
    budget: int | str | None = None,
    target: str | None = None,
    reserve: int | str = 0,
    max_cycles: int | None = None,
    out: str | PathLike[str] | None = None,
    force: bool = False,
    name: str = "model",
    task: Literal["classification", "regression"] | None = None,
    loss: str | None = None,
    quantile: float | None = None,
    scoring: Any = None,
    class_weight: Any = None,
    costs: Any = None,
    categorical: CategoricalEncoding | None = None,
    group: str | None = None,
    split: str | None = None,
    max_features: int | None = None,
    max_projections: int | None = None,
    model: Any = None,
    time_limit: float | None = 60.0,
    n_trials: int | None = None,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    compare: bool = False,
    scheduler: str | None = None,
    keep_best: bool = False,
    progress: Callable[[Search], None] | None = None,
    log: Callable[[str], None] | None = None,
    started: float | None = None,
    resume: str | PathLike[str] | None = None,
) -> FitResult:
    """Return the most accurate model that fits a number of bytes, or a target, learned from a table.

    Parameters
    ----------
    table : path, data frame or Table
        A CSV, Parquet or ARFF file; a data frame (pandas, polars, pyarrow and others); or what `read_table` returned.
        With a `scheduler`, a folder of files that its workers read.
    label : str
        The column to predict; in a file -1 is the last column, unless one has that name.
    budget : int or str, optional
        How many bytes the packed model may take, as 4096 or "4KB". It, `target` or both must be given.
    target : str, optional
        A target that the model has to fit, with the code that reads it: see `targets`.
    reserve : int or str
        Bytes of the target's flash to keep for your own code.
    max_cycles : int, optional
        The most cycles that a row may take on the target: the C project has the smallest layout that takes no more,
        as `choose_layout` finds it, for which it is compiled and run in an emulator. This takes some seconds more.
        If all take more, it has the fastest that fits, and `FitReport.too_slow` says so.
    out : path, optional
        A folder to write the model file, the report and the C project to; see `FitResult.save`.
    force : bool
        Whether to replace files in `out`.
    name : str
        The prefix of all names in C.
    task : {"classification", "regression"}, optional
        By default text and few different whole numbers are classes.
    loss : {"squared_error", "absolute_error", "huber", "quantile", "poisson"}, optional
        For regression: what is learned, squares by default. Poisson is for counts and predicts exp(score).
    quantile : float, optional
        For ``loss="quantile"``: which one, from 0.001 to 0.999.
    scoring : str or callable, optional
        What is best: a name or a scorer of scikit-learn. By default accuracy; for regression R2, or what corresponds
        to it for the loss: 1 - the mean loss, of that of the best constant (Huber: of absolute errors).
    class_weight : dict or "balanced", optional
    costs : path, or dict of dicts, optional
        What each mistake costs: a table with a row for each true class and a column for each predicted one, or
        ``costs[true][predicted]``. The best model is that of the least mean cost on held-out rows, and classes count
        in learning by what mistakes on them cost, unless `class_weight` is given.
    categorical : {"one_hot", "ordered"}, optional
        What categorical columns become; by default what does better on held-out rows.
    group : str, optional
        A column that is no feature: rows with the same value there, as of one patient, are held out together.
    split : str, optional
        ``"time:COLUMN"``: the latest rows by this column, numbers or dates, are held out. It is no feature.
    max_features : int, optional
        The most columns of the table that the model may read, as each is a sensor, say: the best few are chosen, by
        the rows that are learned from alone. A categorical column counts once, however it is encoded. The model takes
        these columns only, and the report draws the score over their number.
    max_projections : int, optional
        The most weighted sums of features that splits may test beside features; 0 for none. By default as many as do
        best. They take time on the target: a product for each feature.
    model : Forest, fitted estimator, or path of a model file, optional
        An ensemble to compress instead of growing one. Give rows that it has not seen.
    time_limit : float
        The most seconds from the start to the written files; it ends earlier where more time gains nothing. More
        time, better models. If the last model cannot be learned from all rows in time, the report says so.
    n_trials : int, optional
        How many configurations to evaluate, instead of a time limit: the same table and seed give the same model.
    random_state : int or None
        The seed of all that is random; None is another one every time.
    n_jobs : int, optional
        How many configurations to evaluate at a time; -1 is one for each processor.
    compare : bool
        Whether to add to the report what a plain random forest, XGBoost and LightGBM make of the same bytes and the
        same held-out rows, where they are installed; this takes some seconds more.
    scheduler : str, optional
        The address of a Dask scheduler whose workers evaluate the configurations, as "tcp://host:8786".
    keep_best : bool
        Whether Ctrl-C, or too little memory, ends the search and keeps the best model so far; otherwise
        KeyboardInterrupt or MemoryError is raised.
    progress : function, optional
        Called with the search after each batch of trials.
    log : function, optional
        Called with each note on the table, a sentence, as soon as it is read.
    started : float, optional
        When the time began, by `time.perf_counter`; by default when this is called.
    resume : path, optional
        The folder of an earlier fit of the same table, whose best configurations are evaluated first, and none of the
        others again: see `resume_fit`.

    Returns
    -------
    FitResult
        `packed`, `front`, `report`; `save(folder)`.

    Examples
    --------
    >>> import billhook as bh
    >>> from sklearn.datasets import load_iris
    >>> frame = load_iris(as_frame=True).frame
    >>> result = bh.fit_table(frame, "target", budget=300, n_trials=2)
    >>> result.packed.nbytes <= 300
    True
    """
    clock = Clock(checked_time_limit(time_limit, n_trials), started=started)
    of_numbers = regression_loss(loss, quantile)
    if model is not None and of_numbers is not None and of_numbers.name != "squared_error":
        raise ValueError(f"loss={loss!r} is for trees that are grown here: leave it out, or model")
    if costs is not None and scoring is not None:
        raise ValueError(f"costs say what is best, and so does scoring={scoring!r}: leave one of them out")
    check_max_features(max_features, model)
    check_max_projections(max_projections, model)
    check_scoring(scoring)  # before a table is read, which may take long
    limit = limit_for(budget, target, reserve, may_project=model is None and max_projections != 0)
    if max_cycles is not None:
        if target is None:
            raise ValueError("max_cycles are those of a target: say which, as target='arduino-uno'")
        check_max_cycles(max_cycles, target_named(target))
    seed = checked_seed(random_state)
    if n_jobs == 0:
        raise ValueError("n_jobs must be a number of jobs, or -1 for one for each processor, not 0")
    check_name(name)
    if out is not None:
        check_output(out, force=force)
    record = None if resume is None else read_record(resume)
    asked = settings_to_keep(
        table=table,
        label=label,
        budget=budget,
        target=target,
        reserve=reserve,
        max_cycles=max_cycles,
        name=name,
        task=task,
        loss=loss,
        quantile=quantile,
        scoring=scoring,
        class_weight=class_weight,
        costs=costs,
        categorical=categorical,
        group=group,
        split=split,
        max_features=max_features,
        max_projections=max_projections,
        model=model,
        random_state=seed,
    )
    options = {
        "scoring": scoring,
        "clock": clock,
        "n_trials": None if n_trials is None else at_least_one(n_trials, "n_trials"),
        "seed": seed,
        "target": None if target is None else target_named(target),
        "keep_best": keep_best,
        "progress": progress,
    }
    log = log or (lambda _note: None)
    with nullcontext() if scheduler is None else connect(scheduler) as client:
        if isinstance(table, str | PathLike) and Path(table).is_dir():
            if client is None:
                raise ValueError(f"{table} is a folder: its files are read by a cluster, so give its scheduler")
            unsuitable = {"categorical": categorical, "class_weight": class_weight, "model": model, "loss": loss}
            unsuitable |= {"costs": costs, "group": group, "split": split, "compare": compare or None}
            unsuitable |= {"resume": resume, "max_features": max_features, "max_projections": max_projections or None}
            result = _fit_folder(client, Path(table), label, task, limit, options, unsuitable, log)
        else:
            forest = None if model is None else forest_of_model(model)
            if forest is not None and forest.encoding is not None and categorical is not None:
                raise ValueError(
                    f"categorical={categorical!r} is for tables that are encoded here, and the model has an encoding "
                    "of its own: leave categorical out"
                )
            of_reading = clock if n_trials is None else Clock(None)
            with in_time(of_reading, "reading", str(table) if isinstance(table, str | PathLike) else "the table"):
                rounding = "nearest" if forest is None else forest.rounding
                read = _read(table, label, task, rounding, group=group, split=split)
            title, read_notes = read.title, read.notes
            if costs is not None:
                scoring = _scoring_by_cost(costs, read)
                options["scoring"] = scoring
                class_weight = scoring.class_weights() if class_weight is None else class_weight
            for note in read_notes:
                log(note)
            encoded = encode_table(
                read,
                limit,
                categorical=categorical or (None if model is None else "one_hot"),
                model=forest,
                scoring=scoring,
                class_weight=class_weight,
                loss=of_numbers,
                seed=seed,
                clock=clock if n_trials is None else None,
            )
            del read  # its columns, which are in the features now
            kind = {} if forest is not None else _encoding_of(encoded.encoding)
            encoded = with_chosen_columns(encoded, max_features, seed=seed, clock=clock if n_trials is None else None)
            result = fit(
                encoded.rows,
                limit,
                user_ensemble=None if forest is None else user_ensemble_of(forest, source_of(model), encoded.rows),
                executor=None if client is None else DaskExecutor(client),
                n_jobs=n_threads_of(n_jobs),
                compare=compare,
                max_projections=projections_for(max_projections, target, reserve),
                resume=record,
                title=title,
                notes=(*read_notes, *encoded.notes, *notes_on(model)),
                **options,
            )
            if result.packed.encoding is None:
                result = replace(result, packed=result.packed.with_encoding(encoded.encoding))
            of_columns = notes_on_columns(encoded.rows, result.packed.encoding)
            result = replace(result, report=replace(result.report, notes=(*result.report.notes, *of_columns)))
            if result.record is not None:
                result = replace(result, record=replace(result.record, settings=asked | kind))
    if max_cycles is not None and target is not None:
        result = in_time_of_rows(result, target, max_cycles, as_bytes(reserve, "reserve", least=0))
    if out is not None:
        result.save(out, name=name, force=force)
    return result


def _encoding_of(encoding: Encoding) -> dict[str, str]:
    """Return the argument that gives this encoding, if there is only one that does."""
    if any(column.kind == "one_hot" for column in encoding.columns):
        return {"categorical": "one_hot"}
    is_ordered = any(column.kind == "ordered" and len(column.categories) > 2 for column in encoding.columns)
    return {"categorical": "ordered"} if is_ordered else {}


def _scoring_by_cost(costs: Any, table: Table) -> CostScorer:
    """Return the score by a table of costs."""
    if table.task == "regression":
        raise ValueError("costs are those of taking one class for another, and this is regression: leave costs out")
    return cost_scorer(costs, table.y)


def checked_time_limit(time_limit: Any, n_trials: int | None) -> float | None:
    """Return the time limit, or raise ValueError if the search would have no end."""
    if time_limit is None and n_trials is None:
        raise ValueError("say when to stop: time_limit=60 (seconds), or n_trials=50")
    if time_limit is not None and not (isinstance(time_limit, Real) and float(time_limit) > 0.0):
        raise ValueError(f"time_limit must be above 0 seconds, not {time_limit!r}")
    return None if time_limit is None else float(time_limit)


def checked_seed(random_state: int | None) -> int:
    """Return the seed, a new one for None; or raise an error if it is none."""
    if random_state is None:
        return secrets.randbits(31)
    seed = as_int(random_state, "random_state")
    if seed < 0:
        raise ValueError(f"random_state must be at least 0, not {seed}")
    return seed


def _read(
    table: Any, label: str | None, task: str | None, rounding: str, *, group: str | None, split: str | None
) -> Table:
    if isinstance(table, Table):
        if not all(option is None for option in (label, task, group, split)):
            raise ValueError("a Table knows its labels, task and groups: leave label, task, group and split out")
        return table
    if label is None:
        raise ValueError("label must be the name of the column to predict, not None")
    if isinstance(table, str | PathLike):
        return read_table(table, label, task=task, rounding=rounding, group=group, split=split)
    if not is_frame(table):
        raise TypeError(f"table must be the path of a file or a data frame, not {type(table).__name__}")
    return table_of_frame(table, label, task=task, rounding=rounding, group=group, split=split)


def _fit_folder(
    client: Any,
    folder: Path,
    label: str | None,
    task: str | None,
    limit: int,
    options: dict[str, Any],
    unsuitable: dict[str, Any],
    log: Callable[[str], None],
) -> FitResult:
    """Learn from the files of a folder, which the workers read."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name[0] not in "._")
    if not files:
        raise ValueError(f"{folder} has no files")
    for option, value in unsuitable.items():
        if value is not None:
            raise ValueError(f"{option} must be None for a folder of files on a cluster, not {value!r}")
    if label is None:
        raise ValueError("label must be the name of the column to predict, not None")
    first = read_table(files[0], label, task=task)
    for note in first.notes:
        log(note)
    partitions = Partitions.from_files(client, files, label=label)
    is_classification = first.task == "classification"
    result = fit_on_cluster(
        client, partitions, limit, is_classification=is_classification, title=str(folder), **options
    )
    examples = features_of(read_features(files[0], label), result.packed)[:1_000]
    return replace(result, examples=examples)
