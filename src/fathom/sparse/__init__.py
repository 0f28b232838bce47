"""Gaussian processes through inducing inputs that are integrated out: FITC, VFE and what lies between.

May import `gp` and what is below it.
"""
