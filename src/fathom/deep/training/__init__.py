"""How a deep GP is trained, whatever its method.

- `loop`: minibatches, held-out looks, undone steps. `steps`: Adam and natural gradients. `checkpoint`: a run on disk.
- `schedule`: how long, by held-out parts. `calibration`: the width of intervals. `lbfgs`: all rows, many starts.

May import the other files of `deep`.
"""
