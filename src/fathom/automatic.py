"""The commands of the Automatic Statistician: `fathom search` and `fathom report`."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from fathom import console
from fathom.options import Data, Drop, Json, Seed, Target, Time

Depth = Annotated[int, typer.Option(help="Levels of the search; it stops before when nothing gains.", min=1)]
Variant = Annotated[str, typer.Option(help="interpretability (simple components) or accuracy (nested).")]
Criterion = Annotated[str, typer.Option(help="bic, aic, laplace (evidence of the structure) or cv (held-out density).")]
Beam = Annotated[int, typer.Option(help="Kernels expanded at each level.", min=1)]
TimeLimit = Annotated[float | None, typer.Option(help="Stop after so many seconds with what there is.")]
Jobs = Annotated[int | None, typer.Option(help="Processes on this machine.", show_default="all cores")]
Backend = Annotated[str, typer.Option(help="processes, serial, dask or ray.")]
_ENDED = {"converged": "nothing gains any more", "depth": "at the depth asked for"}
_SCORES = {"bic": "BIC", "aic": "AIC", "laplace": "-2 log evidence", "cv": "-2 log density"}
SUFFIXES = {"html": ".html", "markdown": ".md", "json": ".json"}
Address = Annotated[str | None, typer.Option(help="Of the scheduler of a Dask or Ray cluster.")]


def search(
    data: Data,
    out: Annotated[Path, typer.Option(help="The model file to write.")] = Path("model.fathom"),
    trace: Annotated[
        Path | None, typer.Option(help="Where the path of the search is kept.", show_default="OUT.trace.json")
    ] = None,
    target: Target = None,
    time_column: Time = None,
    drop: Drop = None,
    depth: Depth = 10,
    variant: Variant = "interpretability",
    criterion: Criterion = "bic",
    beam: Beam = 1,
    time_limit: TimeLimit = None,
    jobs: Jobs = None,
    backend: Backend = "processes",
    address: Address = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Search for the kernel that explains the data. Interrupted, the same command goes on where it was."""
    from fathom.datasets import resolve
    from fathom.kernelsearch import KernelSearch
    from fathom.modelfile import save

    console.check_folder(out)
    dataset = resolve(data, target or None, time_column, drop)
    where: dict[str, Any] = {"n_jobs": jobs, "backend": backend, "address": address, "time_limit": time_limit}
    path = trace if trace is not None else out.with_name(out.name + ".trace.json")
    model = KernelSearch(depth, variant, criterion=criterion, beam=beam, trace_path=path, random_state=seed, **where)
    start = time.perf_counter()
    found = run_search(model, dataset, own_trace=trace is None)
    save(found, out)
    console.wrote(out)
    show_search(found, dataset, {"seconds": time.perf_counter() - start, "out": str(out), "trace": str(path)}, as_json)


def run_search(model: Any, dataset: Any, own_trace: bool) -> Any:
    """Search with a progress bar. A trace that nobody asked for and that belongs to another search is begun anew."""
    from fathom.compare import inputs
    from fathom.search.trace import TraceError

    if own_trace and model.trace_path is not None:
        try:
            return _searched(model, dataset, inputs(dataset))
        except TraceError:
            Path(model.trace_path).unlink(missing_ok=True)
    return _searched(model, dataset, inputs(dataset))


def _searched(model: Any, dataset: Any, X: Any) -> Any:
    path = Path(model.trace_path) if model.trace_path is not None else None
    with console.progress("searching") as step:
        best = "noise"

        def on_stage(depth: int, done: int, total: int) -> None:
            step(f"level {depth}: {done} of {total} candidates; best so far {best}", depth / (model.depth + 1))

        def on_level(trace: Any) -> None:
            nonlocal best
            best = trace.best.structure()
            if path is not None:
                console.wrote(path)

        model.fit(X, dataset.y, on_level=on_level, on_stage=on_stage)
    model.columns_ = dataset.columns
    return model


def show_search(model: Any, dataset: Any, about: dict[str, Any], as_json: bool) -> None:
    from fathom.kernels.syntax import to_text

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
            ("kernel", to_text(console.rounded(model.kernel_))),
            ("ended", _ENDED.get(trace.status, trace.status)),
            ("near ties", reach if ties else "none"),
            *((("evidence", f"a lower bound, {trace.approximation}"),) if trace.approximation else ()),
            ("searched in", f"{about['seconds']:.1f} s"),
            ("written to", about["out"]),
        ]
    )


# -- report ------------------------------------------------------------------------------------------------------


def report(
    data: Data,
    out: Annotated[Path | None, typer.Option(help="The file to write.", show_default="report.html")] = None,
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
    horizon: Annotated[int | None, typer.Option(help="Steps to look ahead.", show_default="a tenth", min=1)] = None,
    form: Annotated[str, typer.Option("--format", help="html, markdown or json.")] = "html",
    save_to: Annotated[Path | None, typer.Option("--save", help="Keep the model in this file.")] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Search for the structure of the data and write a page that explains it."""
    from fathom.datasets import resolve

    if form not in SUFFIXES:
        raise ValueError(f"--format {form!r}: choose from: {', '.join(SUFFIXES)}")
    path = out if out is not None else Path("report" + SUFFIXES[form])
    for file in filter(None, (path, save_to)):
        console.check_folder(file)
    dataset = resolve(data, target or None, time_column, drop)
    end = _end(dataset, horizon)
    start = time.perf_counter()
    if model is None:
        options: dict[str, Any] = {"criterion": criterion, "beam": beam, "time_limit": time_limit, "n_jobs": jobs}
        found = _search_for_report(path, dataset, (depth, variant), options | {"random_state": seed})
    else:
        found = _loaded(model)
    asked: dict[str, Any] = {"--target": target, "--time": time_column, "--drop": drop, "--out": out, "--model": model}
    asked |= {"--depth": depth, "--variant": variant, "--criterion": criterion, "--beam": beam}
    asked |= {"--time-limit": time_limit, "--horizon": horizon, "--format": form, "--save": save_to, "--seed": seed}
    _write_report(found, dataset, path, save_to, end, (command_line(data, asked), start, seed, form, as_json))


_USUAL = {"--depth": 10, "--variant": "interpretability", "--criterion": "bic", "--beam": 1, "--format": "html"}


def command_line(data: str, asked: dict[str, Any]) -> str:
    """The command that does the same again: options at their defaults are left out."""
    words = ["fathom", "report", data]
    for option, value in asked.items():
        values = value if isinstance(value, list) else [value]
        words += [w for v in values if v is not None and v != _USUAL.get(option) for w in (option, str(v))]
    return shlex.join(words)


def _search_for_report(path: Path, dataset: Any, what: tuple[int, str], options: dict[str, Any]) -> Any:
    from fathom.kernelsearch import KernelSearch

    trace = path.with_name(path.name + ".trace.json")
    return run_search(KernelSearch(*what, trace_path=trace, **options), dataset, own_trace=True)


def _loaded(file: Path) -> Any:
    from fathom.modelfile import load

    found = load(file)
    if not hasattr(found, "posterior_"):
        raise ValueError(f"--model {file}: a report needs an exact Gaussian process, and this is another kind of model")
    return found


def _end(dataset: Any, horizon: int | None) -> float | None:
    """The value of the input so many steps ahead."""
    if horizon is None:
        return None
    if dataset.rule is None and dataset.n_inputs == 1:
        import numpy as np

        x = np.unique(dataset.X[:, 0])
        return float(x[-1] + horizon * np.median(np.diff(x)))
    return float(dataset.future(horizon)[-1])


def _write_report(
    found: Any,
    dataset: Any,
    path: Path,
    save_to: Path | None,
    end: float | None,
    about: tuple[str, float, int, str, bool],
) -> None:
    from fathom.modelfile import save
    from fathom.report import document

    command, start, seed, form, as_json = about
    if save_to is not None:
        save(found, save_to)
        console.wrote(save_to)
    trace = getattr(found, "trace_", None)
    spent = sum(level.seconds for level in trace.levels) if trace is not None else 0.0  # part of it in earlier runs
    seconds = max(time.perf_counter() - start, spent)
    said = document.write(found, dataset, path, command=command, seconds=seconds, seed=seed, horizon=end, form=form)
    console.wrote(path)
    if as_json:
        facts = {"title": said.title, "headline": said.headline, "kernel": said.facts.kernel}
        console.show_json(facts | {"explained": said.facts.explained, "seconds": seconds, "out": str(path)})
        return
    console.show_lines([said.title, said.headline, ""])
    console.show_facts([("written to", str(path)), *((("model in", str(save_to)),) if save_to else ())])
