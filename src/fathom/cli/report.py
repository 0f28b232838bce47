"""The command `fathom report`: a page that explains the data."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.cli import console, outputs
from fathom.cli.options import MANY, Data, Drop, Json, Seed, Target, Time, TimeLimit
from fathom.cli.outputs import Output
from fathom.cli.search import Beam, Criterion, Depth, Jobs, Variant, run_search

if TYPE_CHECKING:
    from fathom.base.files import Facts
    from fathom.data.dataset import Dataset
    from fathom.estimators.exact import ExactRegressor
    from fathom.estimators.search import KernelSearch

SUFFIXES = {"html": ".html", "markdown": ".md", "json": ".json"}


def report(
    data: Data,
    out: Annotated[
        Path | None, typer.Option(help="The file to write.", readable=False, show_default="report.html")
    ] = None,
    model: Annotated[Path | None, typer.Option(help="A model file of these data, instead of a search.")] = None,
    target: Target = None,
    time_column: Time = None,
    drop: Drop = None,
    depth: Depth = 10,
    variant: Variant = "interpretability",
    criterion: Criterion = "bic",
    beam: Beam = 1,
    time_limit: TimeLimit = None,
    jobs: Jobs = None,
    horizon: Annotated[
        int | None, typer.Option(help="Steps to look ahead.", show_default="a tenth", min=1, max=MANY)
    ] = None,
    form: Annotated[str, typer.Option("--format", help="html, markdown or json.")] = "html",
    save_to: Annotated[Path | None, typer.Option("--save", help="Keep the model in this file.", readable=False)] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Search for the structure of the data and write a page that explains it.

    Example: fathom report airline --horizon 24 --out airline.html
    """
    from fathom.data.datasets import resolve

    if form not in SUFFIXES:
        raise ValueError(f"--format {form!r}: choose from: {', '.join(SUFFIXES)}")
    path = out if out is not None else Path("report" + SUFFIXES[form])
    trace = outputs.beside(path, ".trace.json") if model is None else None
    writes = [(path, "--out"), (trace, "--out"), (save_to, "--save")]
    reads = [outputs.data(data), outputs.model(model, "--model")]
    outputs.check([Output(file, option) for file, option in writes if file is not None], reads)
    dataset = resolve(data, target or None, time_column, drop)
    end = _end(dataset, horizon)
    start = time.perf_counter()
    if model is None:
        options: Facts = {"criterion": criterion, "beam": beam, "time_limit": time_limit, "n_jobs": jobs}
        found = _search_for_report(trace, dataset, (depth, variant), options | {"random_state": seed})
    else:
        found = _loaded(model)
    asked: Facts = {"--target": target, "--time": time_column, "--drop": drop, "--out": out, "--model": model}
    asked |= {"--depth": depth, "--variant": variant, "--criterion": criterion, "--beam": beam}
    asked |= {"--time-limit": time_limit, "--horizon": horizon, "--format": form, "--save": save_to, "--seed": seed}
    _write_report(found, dataset, path, save_to, end, (command_line(data, asked), start, seed, form, as_json))


_USUAL = {"--depth": 10, "--variant": "interpretability", "--criterion": "bic", "--beam": 1, "--format": "html"}


def command_line(data: str, asked: Facts) -> str:
    """The command that does the same again: options at their defaults are left out."""
    words = ["fathom", "report", data]
    for option, value in asked.items():
        values = value if isinstance(value, list) else [value]
        words += [w for v in values if v is not None and v != _USUAL.get(option) for w in (option, str(v))]
    return shlex.join(words)


def _search_for_report(trace: Path | None, dataset: Dataset, what: tuple[int, str], options: Facts) -> KernelSearch:
    from fathom.estimators.search import KernelSearch

    return run_search(KernelSearch(*what, trace_path=trace, **options), dataset, own_trace=True)


def _loaded(file: Path) -> ExactRegressor:
    from fathom.estimators.exact import ExactRegressor
    from fathom.estimators.modelfile import load

    found = load(file)
    if not isinstance(found, ExactRegressor):
        raise ValueError(f"--model {file}: a report needs an exact Gaussian process, and this is another kind of model")
    return found


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
    path: Path,
    save_to: Path | None,
    end: float | None,
    about: tuple[str, float, int, str, bool],
) -> None:
    from fathom.estimators.modelfile import save
    from fathom.report import document

    command, start, seed, form, as_json = about
    if save_to is not None:
        save(found, save_to)
    trace = getattr(found, "trace_", None)
    spent = sum(level.seconds for level in trace.levels) if trace is not None else 0.0  # part of it in earlier runs
    seconds = max(time.perf_counter() - start, spent)
    said = document.write(found, dataset, path, command=command, seconds=seconds, seed=seed, horizon=end, form=form)
    if as_json:
        facts = {"title": said.title, "headline": said.headline, "kernel": said.facts.kernel}
        console.show_json(facts | {"explained": said.facts.explained, "seconds": seconds, "out": str(path)})
        return
    console.show_lines([said.title, said.headline, ""])
    console.show_facts([("written to", str(path)), *((("model in", str(save_to)),) if save_to else ())])
