"""The command `fathom compare`: models scored on the same folds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fathom.cli import console
from fathom.cli.fit import header
from fathom.cli.options import Data, Drop, Inputs, Json, Seed, Target, Time

if TYPE_CHECKING:
    from fathom.base.files import Facts
    from fathom.data.dataset import Dataset
    from fathom.estimators.comparison import Row


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
    inputs: Inputs = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Cross-validate models on the same folds.

    Example: fathom compare motorcycle --models gp,svgp,mean --folds 3
    """
    from fathom.data.datasets import resolve
    from fathom.estimators import comparison as comparing

    specs = comparing.split_models(models)
    for spec in specs:
        comparing.find(spec)  # a misspelt name is told before any data are read
    dataset = resolve(data, target or None, time_column, drop, inputs)
    with console.progress("comparing") as step:

        def on_fold(spec: str, fold: int) -> None:
            done = specs.index(spec) + (fold - 1) / folds
            step(f"{spec}, fold {fold} of {folds}", done / len(specs))

        rows = comparing.compare(dataset, specs, folds, seed, on_fold)
    if not any(row.scores for row in rows):
        raise ValueError(f"no model could be scored: {'; '.join(row.footnote() for row in rows)}")
    _show_comparison(rows, dataset, {"folds": folds, "seed": seed}, as_json)


def _show_comparison(rows: list[Row], dataset: Dataset, about: Facts, as_json: bool) -> None:
    from fathom.estimators.comparison import best_rows

    averages = [row.averages() for row in rows]
    if as_json:
        found = [r.averages() | {"model": r.model, "failures": r.failures} for r in rows]
        console.show_json({"data": dataset.source, "rows": dataset.n_rows} | about | {"models": found})
        return
    best = best_rows(averages)
    units = ", ".join(header(dataset)(name) for name in dataset.target)
    notes = [f"Means over {about['folds']} folds, in the units of {units}; coverage is of 90 % intervals."]
    if dataset.time is not None:
        notes.append("Folds are random rows: for a series this scores filling gaps, not forecasting.")
    notes += dataset.choice
    console.show_table(
        [{"model": row.model} | mean for row, mean in zip(rows, averages, strict=True)],
        footnotes=[*notes, *filter(None, (row.footnote() for row in rows))],
        best=lambda column, row: best.get(column) == row,
    )
