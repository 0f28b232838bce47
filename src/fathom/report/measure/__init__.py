"""From a fitted model to facts: every part taken by itself, measured and checked.

- `gather` does it all. `anatomy` reads the kernels of parts and evaluates them, `selection` puts them in order.
- `shape`: curves of one input. `effects`: several inputs. `uncertainty`: intervals of the parameters.
- `folds`: cycles within one period. `anomalies`: observations that do not fit. `forecast_table`: the steps ahead.
- `future`: what may come, and whether models agree on it. `checks` tests the fit, by `statistics`.

May import `facts`, `model` and `numbers`.
"""
