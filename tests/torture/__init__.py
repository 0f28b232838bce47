"""Odd files, odd commands, damaged models and hopeless fits, made from a seed: `make torture` tries all of them.

A part is a module with `FULL`, the number of its cases, and `run(cases, seed)`; case i of a seed is always the same.
Each part has an oracle: it knows what it wrote, so it knows what may be read. A small sample runs in the suite.
"""
