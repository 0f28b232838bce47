"""The command `fathom search`, and the search that `fathom report` begins with."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.base.budget import Budget
from fathom.cli import console, outputs
from fathom.cli.limits import Limit
from fathom.cli.options import MANY, Data, Drop, Holidays, Inputs, Json, Paths, Seed, Target, Time, TimeLimit
from fathom.cli.outputs import Output

if TYPE_CHECKING:
    from fathom.base.arrays import Rows
    from fathom.base.files import Facts
    from fathom.data.dataset import Dataset
    from fathom.estimators.search import KernelSearch
    from fathom.search.trace import Trace

Depth = Annotated[int, typer.Option(help="Levels of the search; it stops before when nothing gains.", min=1, max=MANY)]
Variant = Annotated[str, typer.Option(help="interpretability (simple components) or accuracy (nested).")]
Criterion = Annotated[str, typer.Option(help="bic, aic, laplace (evidence of the structure) or cv (held-out density).")]
Beam = Annotated[int, typer.Option(help="Kernels expanded at each level.", min=1, max=MANY)]
Jobs = Annotated[
    int | None, typer.Option(help="Processes on this machine.", show_default="all cores", min=-1, max=MANY)
]
Backend = Annotated[str, typer.Option(help="processes, serial, dask or ray.")]
SAVING = 0.2  # seconds of one free core for the model file and the summary
_ENDED = {"converged": "nothing gains any more", "depth": "at the depth asked for"}
_ENDED |= {"time limit": "at the time limit, which cut it short"}
NO_LIMIT = Budget()
_SCORES = {"bic": "BIC", "aic": "AIC", "laplace": "-2 log evidence", "cv": "-2 log density"}
Address = Annotated[str | None, typer.Option(help="Of the scheduler of a Dask or Ray cluster.")]


def search(
    data: Data,
    out: Annotated[Path, typer.Option(help="The model file to write.", readable=False)] = Path("model.fathom"),
    trace: Annotated[
        Path | None,
        typer.Option(help="Where the path of the search is kept.", readable=False, show_default="OUT.trace.json"),
    ] = None,
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
    backend: Backend = "processes",
    address: Address = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Search for the kernel that explains the data. Interrupted, the same command goes on where it was.

    Example: fathom search airline --depth 4 --out airline.fathom
    """
    from fathom.data.datasets import resolve
    from fathom.estimators.modelfile import save
    from fathom.estimators.search import KernelSearch

    limit = Limit.of(time_limit)
    path = trace if trace is not None else outputs.beside(out, ".trace.json")
    writes = [Output(out), *([Output(path, "--out" if trace is None else "--trace")] if path is not None else [])]
    outputs.check(writes, [outputs.data(data)])
    dataset = with_days(resolve(data, target or None, time_column, drop, inputs), holidays)
    where: Facts = {"n_jobs": jobs, "backend": backend, "address": address, "paths": paths}
    where |= {"time_limit": limit.for_search(SAVING * limit.slowness())}
    where |= {"calendar": dataset.calendar, "terms": dataset.terms}
    model = KernelSearch(depth, variant, criterion=criterion, beam=beam, trace_path=path, random_state=seed, **where)
    start = time.perf_counter()
    found = run_search(model, dataset, own_trace=trace is None, budget=limit.budget)
    save(found, out)
    about = {"seconds": time.perf_counter() - start, "out": str(out), "trace": path and str(path)}
    show_search(found, dataset, about, as_json)


def with_days(dataset: Dataset, country: str | None) -> Dataset:
    """The data set with the public holidays of a country, if one is named."""
    if not country:
        return dataset
    from fathom.data.holidays import with_holidays

    return with_holidays(dataset, country)


def run_search(model: KernelSearch, dataset: Dataset, own_trace: bool, budget: Budget = NO_LIMIT) -> KernelSearch:
    """Search with a progress bar. A trace that nobody asked for and that belongs to another search is begun anew."""
    from fathom.data.dataset import inputs
    from fathom.search.trace import TraceError

    try:
        return _searched(model, dataset, inputs(dataset), budget)
    except TraceError:
        if not (own_trace and model.trace_path is not None and _is_trace(Path(model.trace_path))):
            raise
        Path(model.trace_path).unlink()
    return _searched(model, dataset, inputs(dataset), budget)


def _is_trace(path: Path) -> bool:
    """True for a trace of any search: a file of the user's own is not removed."""
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["format"]) == "fathom trace"
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return False


def _searched(model: KernelSearch, dataset: Dataset, X: Rows, budget: Budget) -> KernelSearch:
    with console.progress("searching") as step:
        best = "noise"

        def on_stage(depth: int, done: int, total: int) -> None:
            told = [f"level {depth}: {done} of {total} candidates", f"best so far {best}", budget.told()]
            step("; ".join(filter(None, told)), depth / (model.depth + 1))

        def on_level(trace: Trace) -> None:
            nonlocal best
            best = trace.best.structure()

        model.fit(X, dataset.y, on_level=on_level, on_stage=on_stage)
    model.columns_ = dataset.columns
    return model


def show_search(model: KernelSearch, dataset: Dataset, about: Facts, as_json: bool) -> None:
    from fathom.kernels.syntax import shortened, to_text

    trace = model.trace_
    levels = [
        {"level": lv.depth, _SCORES[model.criterion]: lv.best.score, "candidates": lv.n_candidates}
        | {"best": lv.best.structure()}
        for lv in trace.levels
    ]
    ties = [{"kernel": m.structure(), "behind by": m.score - trace.best.score} for m in trace.near_ties()]
    if as_json:
        found = {"kernel": to_text(model.kernel_), "log_evidence": model.log_evidence_, "status": trace.status}
        found |= {"approximation": trace.approximation}
        console.show_json(
            {"data": dataset.source, "rows": dataset.n_rows} | found | {"levels": levels, "near_ties": ties} | about
        )
        return
    console.show_table(levels, title=f"{dataset.source}: {dataset.n_rows} rows")
    reach = f"{len(ties)} other model{'s' * (len(ties) != 1)} within reach; forecasts average over them"
    console.show_facts(
        [
            *(("", note) for note in dataset.notes),
            ("kernel", shortened(to_text(console.rounded(model.kernel_)))),
            ("ended", _ENDED.get(trace.status, trace.status)),
            ("near ties", reach if ties else "none"),
            *((("evidence", f"a lower bound, {trace.approximation}"),) if trace.approximation else ()),
            ("searched in", f"{about['seconds']:.1f} s"),
            ("written to", about["out"]),
        ]
    )
