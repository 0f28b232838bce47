"""Exact Gaussian processes: prior, posterior and evidence, where to begin learning, and how to learn.

Runs in NumPy without JAX, so that workers of a search start quickly. May import `base` and `kernels`.
"""
