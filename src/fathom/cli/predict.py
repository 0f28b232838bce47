"""The command `fathom predict`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fathom.base import files
from fathom.cli import console, outputs
from fathom.cli.options import DATA_HELP, MANY, Json
from fathom.cli.outputs import Output


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file that `fathom fit` wrote.", show_default=False)],
    data: Annotated[
        str | None, typer.Argument(metavar="DATA", help="Where to predict: " + DATA_HELP, show_default=False)
    ] = None,
    horizon: Annotated[int | None, typer.Option(help="Continue the series by so many steps instead.", max=MANY)] = None,
    future: Annotated[
        Path | None, typer.Option(help="Continue the series by the times of this CSV, which has the other inputs too.")
    ] = None,
    quantiles: Annotated[str, typer.Option(help="Levels between 0 and 1.")] = "0.05,0.5,0.95",
    function: Annotated[bool, typer.Option("--function", help="Predict the function, without noise.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="The CSV to write.", readable=False, show_default="standard output")
    ] = None,
    as_json: Json = False,
) -> None:
    """Predict from a model file, at the rows of a CSV or beyond the end of the series.

    Example: fathom predict airline.fathom --horizon 24 --out forecast.csv
    """
    from fathom.cli import forecast
    from fathom.estimators.modelfile import load

    levels = forecast.read_levels(quantiles)
    if [data, horizon, future].count(None) != 2:
        raise ValueError("say where to predict: either a CSV with the inputs (DATA) or --horizon H, or --future CSV")
    if out is not None:
        outputs.check([Output(out)], [outputs.model(model), outputs.data(data), outputs.ahead(future)])
    fitted = load(model)
    if data is not None:
        places = forecast.rows_of(fitted, data)
    else:
        places = forecast.known(fitted, future) if future is not None else forecast.future(fitted, int(horizon or 0))
    table = forecast.predict(fitted, places, levels, observed=not function)
    if out is not None:
        with files.replacing(out) as path, path.open("w", encoding="utf-8", newline="") as stream:
            stream.write(table.csv())
    if as_json:
        rows = [dict(zip(table.header, row, strict=True)) for row in table.rows]
        console.show_json({"model": str(model), "rows": len(rows), "out": out and str(out), "forecast": rows})
    elif out is None:
        console.show_csv(table.csv())
    else:
        console.say(f"{len(table.rows)} rows written to {out}")
