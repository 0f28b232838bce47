"""Gaussian processes that see one row after the other, in constant memory.

- `recursion`: the active set: one row in, one row out. `rows`: one row of a stream, foretold, scored and learnt, with
  noise that is constant or follows the inputs, and several rates of forgetting. `answers`: what it says of new rows.
- `parameters`: those of the kernels, from a few hundred rows. `online`: a stream in its course. `change`: whether it
  has changed. `way`, `seeding`: how rows pass through hidden layers, and how these begin.

May import `deep` and what is below it.
"""
