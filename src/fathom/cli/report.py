"""The command `fathom report`: a page that explains the data."""

from __future__ import annotations

import shlex
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.base import files
from fathom.cli import console, outputs
from fathom.cli.again import SUFFIXES, python
from fathom.cli.limits import Limit
from fathom.cli.options import MANY, Data, Drop, Holidays, Inputs, Json, Paths, Seed, Target, Time, TimeLimit
from fathom.cli.outputs import Output
from fathom.cli.search import Beam, Criterion, Depth, Jobs, Variant, run_search, with_days

if TYPE_CHECKING:
    from fathom.base.files import Facts
    from fathom.data.columns import Columns
    from fathom.data.dataset import Dataset
    from fathom.estimators.exact import ExactRegressor
    from fathom.estimators.search import KernelSearch


def report(
    data: Data,
    out: Annotated[
        Path | None, typer.Option(help="The file to write.", readable=False, show_default="report.html")
    ] = None,
    model: Annotated[Path | None, typer.Option(help="A model file of these data, instead of a search.")] = None,
    target: Target = None,
    time_column: Time = None,
    drop: Drop = None,
    holidays: Holidays = None,
    inputs: Inputs = None,
    depth: Depth = 10,
    variant: Variant = "interpretability",
    criterion: Criterion = "bic",
    beam: Beam = 1,
    time_limit: TimeLimit = None,
    paths: Paths = 1,
    jobs: Jobs = None,
    horizon: Annotated[
        int | None, typer.Option(help="Steps to look ahead.", show_default="a tenth", min=1, max=MANY)
    ] = None,
    future: Annotated[
        Path | None, typer.Option(help="CSV with the times ahead and the other inputs there.", show_default=False)
    ] = None,
    form: Annotated[str, typer.Option("--format", help="html, markdown or json.")] = "html",
    save_to: Annotated[Path | None, typer.Option("--save", help="Keep the model in this file.", readable=False)] = None,
    forecast: Annotated[
        Path | None, typer.Option(help="Write the forecast, step by step, to this CSV.", readable=False)
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Search for the structure of the data and write a page that explains it.

    Example: fathom report airline --horizon 24 --out airline.html
    """
    from fathom.cli.forecast import check

    limit = Limit.of(time_limit)
    if form not in SUFFIXES:
        raise ValueError(f"--format {form!r}: choose from: {', '.join(SUFFIXES)}")
    if future is not None and horizon is not None:
        raise ValueError("--horizon and --future both say how far to look ahead: choose one")
    path = out if out is not None else Path("report" + SUFFIXES[form])
    trace = outputs.beside(path, ".trace.json") if model is None else None
    writes = [(path, "--out"), (trace, "--out"), (save_to, "--save"), (forecast, "--forecast")]
    reads = [outputs.data(data), outputs.model(model, "--model"), outputs.ahead(future)]
    outputs.check([Output(file, option) for file, option in writes if file is not None], reads)
    loaded = None if model is None else _loaded(model)
    dataset = with_days(_as_known(_read(data, (target, time_column, drop, inputs), loaded, future), loaded), holidays)
    if forecast is not None:
        check(dataset, "--forecast")
    end = _end(dataset, horizon)
    asked: Facts = {"--depth": depth, "--variant": variant, "--criterion": criterion, "--beam": beam}
    asked |= {"--time-limit": time_limit, "--paths": paths}
    if loaded is None:
        options: Facts = {"criterion": criterion, "beam": beam, "n_jobs": jobs, "paths": paths, "random_state": seed}
        found = _search_for_report(trace, dataset, (depth, variant), options, limit)
    else:
        found = loaded
    columns: Facts = {"--target": target, "--time": time_column, "--drop": drop, "--inputs": inputs}
    asked = columns | {"--holidays": holidays, "--out": out, "--model": model} | asked
    asked |= {"--horizon": horizon, "--future": future, "--format": form, "--save": save_to, "--seed": seed}
    asked |= {"--forecast": forecast}
    again = command_line(data, asked), python(data, asked, _USUAL, dataset, end)
    _write_report(found, dataset, (path, save_to, forecast), end, (*again, limit.begun, seed, form, as_json))


def _read(
    data: str,
    asked: tuple[list[str] | None, str | None, list[str] | None, list[str] | None],
    model: ExactRegressor | None,
    future: Path | None,
) -> Dataset:
    """The data set as it was asked for; of a model, with its own columns where nothing else is said."""
    from fathom.data.ahead import read_ahead
    from fathom.data.datasets import resolve

    target, time_column, drop, inputs = asked
    known: Columns | None = getattr(model, "columns_", None)
    if known is not None and inputs is None and target in (None, list(known.target)):
        target, inputs = list(known.target), list(known.names)
        time_column = time_column or _unless_guessed(data, known, drop)
    dataset = resolve(data, target or None, time_column, drop, inputs)
    if future is None:
        return dataset
    times = dataset.X[:, dataset.time or 0]
    return replace(dataset, ahead=read_ahead(future, dataset.columns, times))


def _unless_guessed(data: str, known: Columns, drop: list[str] | None) -> str | None:
    """The time column of a model, unless the data alone would tell: what was guessed is noted on the page."""
    from fathom.data.columns import DataError
    from fathom.data.datasets import resolve

    if known.time is None:
        return None
    with suppress(DataError):
        guessed = resolve(data, list(known.target), None, drop, list(known.names))
        if guessed.time is not None and guessed.names[guessed.time] == known.names[known.time]:
            return None
    return known.names[known.time]


_USUAL: Facts = {
    "--depth": 10,
    "--variant": "interpretability",
    "--criterion": "bic",
    "--beam": 1,
    "--format": "html",
    "--paths": 1,
}


def command_line(data: str, asked: Facts) -> str:
    """The command that does the same again in the folder of the file: options at their defaults are left out."""
    words = ["fathom", "report", Path(data).name if Path(data).suffix else data]
    for option, value in asked.items():
        values = value if isinstance(value, list) else [value]
        words += [w for v in values if v is not None and v != _USUAL.get(option) for w in (option, _named(v))]
    return shlex.join(words)


def _named(value: object) -> str:
    """The text of an option; of a file, its name, for a page that is passed on shows no folders."""
    return value.name if isinstance(value, Path) else str(value)


def _search_for_report(
    trace: Path | None, dataset: Dataset, what: tuple[int, str], options: Facts, limit: Limit
) -> KernelSearch:
    from fathom.estimators.search import KernelSearch

    page = limit.for_page(dataset)
    options |= {"calendar": dataset.calendar, "terms": dataset.terms, "time_limit": limit.for_search(page)}
    return run_search(KernelSearch(*what, trace_path=trace, **options), dataset, own_trace=True, budget=limit.budget)


def _loaded(file: Path) -> ExactRegressor:
    from fathom.estimators.exact import ExactRegressor
    from fathom.estimators.modelfile import load

    found = load(file)
    if not isinstance(found, ExactRegressor):
        raise ValueError(f"--model {file}: a report needs an exact Gaussian process, and this is another kind of model")
    return found


def _as_known(dataset: Dataset, model: ExactRegressor | None) -> Dataset:
    """The data set with the name of the country whose holidays a model was searched with."""
    from fathom.data.holidays import Holidays as Listed

    country = getattr(getattr(model, "columns_", None), "holidays", "")
    return replace(dataset, holidays=Listed(country)) if country else dataset


def _end(dataset: Dataset, horizon: int | None) -> float | None:
    """The value of the input so many steps ahead."""
    if horizon is None:
        return None
    if dataset.rule is None and dataset.n_inputs == 1:
        import numpy as np

        x = np.unique(dataset.X[:, 0])
        return float(x[-1] + horizon * np.median(np.diff(x)))
    if dataset.rule is not None:
        from fathom.cli.forecast import check_horizon

        check_horizon(dataset.rule, float(dataset.X[:, dataset.time].max()), horizon)
    return float(dataset.future(horizon)[-1])


def _write_report(
    found: ExactRegressor,
    dataset: Dataset,
    paths: tuple[Path, Path | None, Path | None],
    end: float | None,
    about: tuple[str, str, float, int, str, bool],
) -> None:
    from fathom.estimators.modelfile import save
    from fathom.report import document

    (path, save_to, forecast), (command, lines, start, seed, form, as_json) = paths, about
    if save_to is not None:
        save(found, save_to)
    trace = getattr(found, "trace_", None)
    spent = sum(level.seconds for level in trace.levels) if trace is not None else 0.0  # part of it in earlier runs
    seconds = max(time.perf_counter() - start, spent)
    made: Facts = {"command": command, "python": lines, "seconds": seconds, "seed": seed, "horizon": end, "form": form}
    said = document.write(found, dataset, path, **made)
    if forecast is not None and (table := said.forecast_whole()) is not None:
        with files.replacing(forecast) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
            stream.write(table.csv())
    if as_json:
        facts: Facts = {"title": said.title, "headline": said.headline, "kernel": said.facts.kernel}
        facts |= {"explained": said.facts.explained, "seconds": seconds, "out": str(path)}
        console.show_json(facts | ({"forecast": str(forecast)} if forecast else {}))
        return
    console.show_lines([said.title, said.headline, *said.notices, ""])
    others = (("model in", save_to), ("forecast in", forecast))
    console.show_facts([("written to", str(path)), *((what, str(file)) for what, file in others if file)])
