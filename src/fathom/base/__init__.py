"""The ground floor: arrays of NumPy or JAX, factorisation, compilation, optimisers, files, what parameters may be, many
tasks at once.

Nothing here knows what a Gaussian process is. Imports nothing of fathom.
"""
