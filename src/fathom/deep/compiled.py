"""How everything here is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx

# On a CPU, jaxlib 0.10.2 sometimes never finishes a call whose operations it has scheduled to run beside each other:
# all its threads wait. Training steps of the γ-robust deep GP on 7,000 rows hung in four of five runs, and in none
# of eight with this scheduler off.
OPTIONS = {"xla_cpu_enable_concurrency_optimized_scheduler": False}


F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """The function compiled for the shapes it meets; what is no array is part of the program."""
    return eqx.filter_jit(function, compiler_options=OPTIONS)  # type: ignore[call-overload]
