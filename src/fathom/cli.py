"""The command line: parse, call, print.

Nothing heavy loads before a command needs it, so that `fathom --help` answers at once. Failures and interrupts are
turned into exit statuses in `console.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import fathom
from fathom import automatic, console, fitting
from fathom.options import DATA_HELP, Data, Drop, Json, Seed, Target, Time

app = typer.Typer(
    name="fathom",
    cls=console.Commands,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Gaussian processes from a CSV to an explanation.",
)


def main() -> None:
    """Run the command line; does not return."""
    console.keep_compiled()
    app(prog_name="fathom")


def _version(asked: bool) -> None:
    if asked:
        print(f"fathom {fathom.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _start(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())


app.command()(fitting.fit)
app.command()(automatic.search)
app.command()(automatic.report)


# -- predict -----------------------------------------------------------------------------------------------------


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file that `fathom fit` wrote.", show_default=False)],
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="Where to predict: " + DATA_HELP, show_default=False)
    ] = None,
    horizon: Annotated[int | None, typer.Option(help="Continue the series by so many steps instead.")] = None,
    quantiles: Annotated[str, typer.Option(help="Levels between 0 and 1.")] = "0.05,0.5,0.95",
    function: Annotated[bool, typer.Option("--function", help="Predict the function, without noise.")] = False,
    out: Annotated[Path | None, typer.Option(help="The CSV to write.", show_default="standard output")] = None,
    as_json: Json = False,
) -> None:
    """Predict from a model file, at the rows of a CSV or beyond the end of the series."""
    from fathom import forecast
    from fathom.modelfile import load

    levels = forecast.read_levels(quantiles)
    if (data is None) == (horizon is None):
        raise ValueError("say where to predict: either a CSV with the inputs (DATA) or --horizon H")
    if out is not None:
        console.check_folder(out)
    fitted = load(model)
    places = forecast.rows_of(fitted, data) if data is not None else forecast.future(fitted, int(horizon or 0))
    table = forecast.predict(fitted, places, levels, observed=not function)
    if out is not None:
        with console.replacing(out) as path, path.open("w", encoding="utf-8", newline="") as stream:
            stream.write(table.csv())
    if as_json:
        rows = [dict(zip(table.header, row, strict=True)) for row in table.rows]
        console.show_json({"model": str(model), "rows": len(rows), "out": out and str(out), "forecast": rows})
    elif out is None:
        print(table.csv(), end="")
    else:
        print(f"{len(table.rows)} rows written to {out}")


# -- compare -----------------------------------------------------------------------------------------------------


@app.command()
def compare(
    data: Data,
    models: Annotated[
        str,
        typer.Option(help="Separated by commas: mean, linear, search, and those of fit (gp:KERNEL has a kernel)."),
    ] = "gp,linear,mean",
    folds: Annotated[int, typer.Option(help="Parts of the data, each held out once.")] = 5,
    target: Target = None,
    time_column: Time = None,
    drop: Drop = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Cross-validate models on the same folds."""
    from fathom import compare as comparing
    from fathom.datasets import resolve

    specs = comparing.split_models(models)
    for spec in specs:
        comparing.find(spec)  # a misspelt name is told before any data are read
    dataset = resolve(data, target or None, time_column, drop)
    with console.progress("comparing") as step:

        def on_fold(spec: str, fold: int) -> None:
            done = specs.index(spec) + (fold - 1) / folds
            step(f"{spec}, fold {fold} of {folds}", done / len(specs))

        rows = comparing.compare(dataset, specs, folds, seed, on_fold)
    if not any(row.scores for row in rows):
        raise ValueError(f"no model could be scored: {'; '.join(row.footnote() for row in rows)}")
    _show_comparison(rows, dataset, {"folds": folds, "seed": seed}, as_json)


def _show_comparison(rows: list[Any], dataset: Any, about: dict[str, Any], as_json: bool) -> None:
    from fathom.compare import best_rows

    averages = [row.averages() for row in rows]
    if as_json:
        found = [r.averages() | {"model": r.model, "failures": r.failures} for r in rows]
        console.show_json({"data": dataset.source, "rows": dataset.n_rows} | about | {"models": found})
        return
    best = best_rows(averages)
    units = ", ".join(fitting.header(dataset)(name) for name in dataset.target)
    notes = [f"Means over {about['folds']} folds, in the units of {units}; coverage is of 90 % intervals."]
    if dataset.time is not None:
        notes.append("Folds are random rows: for a series this scores filling gaps, not forecasting.")
    console.show_table(
        [{"model": row.model} | mean for row, mean in zip(rows, averages, strict=True)],
        footnotes=[*notes, *filter(None, (row.footnote() for row in rows))],
        best=lambda column, row: best.get(column) == row,
    )


# -- data sets and benchmarks ------------------------------------------------------------------------------------


@app.command()
def datasets(as_json: Json = False) -> None:
    """List the data sets at hand."""
    import os

    from fathom import datasets as known

    found = [known.describe(name) for name in known.names()]
    rows = [{**vars(info), "targets": list(info.targets)} for info in found]
    folder = os.environ.get(known.VARIABLE) or None
    if as_json:
        console.show_json({known.VARIABLE: folder, "datasets": rows})
        return
    shown = ("name", "rows", "inputs", "targets", "source")
    table = [{key: ", ".join(row[key]) if key == "targets" else row[key] for key in shown} for row in rows]
    hint = f"Set {known.VARIABLE} to a folder with a catalog.toml and its data sets are listed here too."
    console.show_table(table, footnotes=[] if folder else [hint])


@app.command()
def bench(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Left out: list them.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A smoke version, in seconds.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for NAME.json and, if there is a plot, NAME.png.")] = Path(
        "results"
    ),
    as_json: Json = False,
) -> None:
    """Run a benchmark: a table or figure of a paper, ours beside theirs."""
    from fathom import bench as registry

    if name is None:
        rows = [{"name": b.name, "what": b.description} for b in registry.benchmarks().values()]
        console.show_json({"benchmarks": rows}) if as_json else console.show_table(rows)
        return
    benchmark = registry.find(name)
    out.mkdir(parents=True, exist_ok=True)
    with console.progress(benchmark.name) as step:
        result, module = registry.run(benchmark, quick, lambda text: step(text, 0.0))
    written = out / f"{benchmark.name}.json"
    with console.replacing(written) as path:
        path.write_text(console.json_text(result) + "\n", encoding="utf-8")
    if hasattr(module, "plot"):
        with console.replacing(written.with_suffix(".png")) as path:
            module.plot(result, path)
    if as_json:
        console.show_json(result)
    else:
        console.show_table(result["rows"], result["title"], [*result["notes"], f"Written to {written}"])
