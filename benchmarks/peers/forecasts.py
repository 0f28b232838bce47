"""Forecasts of AutoARIMA, AutoETS and Prophet, for `abcd-extrapolation`; runs in an environment of its own.

    python -m venv peers && peers/bin/pip install statsforecast prophet
    FATHOM_PEERS=peers/bin/python fathom bench abcd-extrapolation

Reads {"y": training values, "dates": of training and test rows, "season": rows in a cycle, "horizon": test rows} from
standard input and writes {model: forecasts} to standard output. It imports nothing of Fathom.
"""

from __future__ import annotations

import json
import logging
import sys


def main() -> None:
    task = json.load(sys.stdin)
    y, season, horizon = task["y"], task["season"], task["horizon"]
    out = {}
    for name, forecaster in (("AutoARIMA", arima), ("AutoETS", ets), ("Prophet", prophet)):
        try:
            out[name] = [float(v) for v in forecaster(y, season, horizon, task["dates"])]
        except Exception as problem:
            print(f"{name}: {problem}", file=sys.stderr)
    json.dump(out, sys.stdout)


def arima(y, season, horizon, dates):
    import numpy as np
    from statsforecast.models import AutoARIMA

    return AutoARIMA(season_length=season).forecast(np.array(y), h=horizon)["mean"]


def ets(y, season, horizon, dates):
    import numpy as np
    from statsforecast.models import AutoETS

    # Holt-Winters seasons longer than 24 rows are refused by ETS itself
    return AutoETS(season_length=season if season <= 24 else 1).forecast(np.array(y), h=horizon)["mean"]


def prophet(y, season, horizon, dates):
    import pandas as pd
    from prophet import Prophet

    logging.disable(logging.WARNING)
    when = pd.to_datetime(dates)
    model = Prophet().fit(pd.DataFrame({"ds": when[: len(y)], "y": y}))
    return model.predict(pd.DataFrame({"ds": when[len(y) :]}))["yhat"]


if __name__ == "__main__":
    main()
