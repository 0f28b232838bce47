"""From a fitted model to facts: every part taken by itself, measured and checked.

- `gather` does it all. `anatomy` evaluates the parts, `factors` reads their kernels, `selection` puts them in order.
- `shape`, `rhythm`: curves of one input. `effects`: several inputs. `uncertainty`: intervals of the parameters.
- `future`: what may come, and whether models agree on it. `checks` tests the fit, by `statistics`.

May import `facts`, `model` and `numbers`.
"""
