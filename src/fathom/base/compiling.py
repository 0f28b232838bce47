"""Compiled functions, with XLA's settings for a CPU.

Most of what a small fit waits for is compilation. XLA's newer way to emit code for fused loops (jaxlib 0.10.2) takes up
to twice as long to compile as the older one, whose code is as fast in double precision; where the older one is gone,
the newer one is used.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import ParamSpec, TypeVar, overload

P = ParamSpec("P")
R = TypeVar("R")

QUICK: dict[str, bool | int] = {"xla_cpu_use_fusion_emitters": False}
BRIEF: dict[str, bool | int] = {"xla_backend_optimization_level": 0}


@overload
def compiled(function: Callable[P, R]) -> Callable[P, R]: ...


@overload
def compiled(*, brief: bool) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def compiled(
    function: Callable[P, R] | None = None, *, brief: bool = False
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """The function, compiled when it is first called for arrays of some shapes; everything that is no array is fixed.

    `brief`: for what runs a few times only; without optimisation it is compiled in half of the time.
    """
    if function is None:
        return lambda function: _compiled(function, QUICK | (BRIEF if brief else {}))
    return _compiled(function, QUICK)


def _compiled(function: Callable[P, R], options: dict[str, bool | int]) -> Callable[P, R]:
    @functools.cache
    def jitted() -> Callable[P, R]:
        import equinox as eqx

        found: Callable[P, R] = eqx.filter_jit(function, compiler_options=known(tuple(options.items())))  # type: ignore[call-overload]
        return found

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return jitted()(*args, **kwargs)

    return call


@functools.cache
def known(options: tuple[tuple[str, bool | int], ...]) -> dict[str, bool | int]:
    """Those of the compiler's options that this jaxlib has."""
    import jax

    def works(option: tuple[str, bool | int]) -> bool:
        try:
            jax.jit(lambda: 0, compiler_options=dict([option])).lower().compile()
        except RuntimeError as problem:
            if "No such" not in str(problem):
                raise
            return False
        return True

    return dict(option for option in options if works(option))


@contextlib.contextmanager
def precision(dtype: str) -> Iterator[None]:
    """Inside, JAX computes in "float32" or "float64", whatever the user's configuration is, which stays as it was."""
    import jax

    with jax.enable_x64(dtype == "float64"):
        yield
