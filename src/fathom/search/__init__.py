"""The structure search: which kernels to try next, how good they are, and how to spend the time."""
