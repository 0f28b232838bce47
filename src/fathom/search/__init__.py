"""The structure search: which kernels to try next, how good they are, and how to spend the time.

- `run`: levels and stages. `grammar`: what comes next. `score`, `criteria`: how good it is (long series: `inducing`).
- `guards`: what is refused though it scores well. `average`: forecasts by all models within reach. `trace`: the path.

Workers run it without JAX. May import `gp`, `sparse` and what is below them.
"""
