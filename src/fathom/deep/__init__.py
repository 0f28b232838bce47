"""Sparse and deep Gaussian processes trained by stochastic gradients.

Three axes, three modules: what is believed about the inducing values (`layer`), how a hidden value passes through a
layer (`propagate`), what is optimised (`objective`). A named method is a row of the table in `methods`.
"""
