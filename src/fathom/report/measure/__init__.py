"""From a fitted model to facts: every part taken by itself, measured and checked.

- `gather` does it all. `anatomy` reads the kernels of parts and evaluates them, `selection` puts them in order.
- `shape`: curves of one input; `course`: how large they are, and where they peak; `trend`: what they do together.
- `effects`: several inputs. `uncertainty`: intervals of the parameters. `steps`: the steps of a time.
- `folds`: cycles within one period. `anomalies`: observations that do not fit. `forecast_table`: the steps ahead.
- `outlook`: the forecast of one model. `future`: what may come, and whether models agree on it.
- `checks` tests the fit, by `statistics`.

May import `facts`, `model` and `numbers`.
"""
