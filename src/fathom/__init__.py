"""Fathom: Gaussian processes from a CSV to an explanation."""
