"""Compiled functions, with XLA's settings for a CPU.

Most of what a small fit waits for is compilation. XLA's newer way to emit code for fused loops (jaxlib 0.10.2) takes up
to twice as long to compile as the older one, whose code is as fast in double precision; where the older one is gone,
the newer one is used.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

QUICK = {"xla_cpu_use_fusion_emitters": False}
BRIEF = {"xla_backend_optimization_level": 0}


def compiled(function: Callable[..., Any] | None = None, *, brief: bool = False) -> Any:
    """The function, compiled when it is first called for arrays of some shapes; everything that is no array is fixed.

    `brief`: for what runs a few times only; without optimisation it is compiled in half of the time.
    """
    if function is None:
        return functools.partial(compiled, brief=brief)

    @functools.cache
    def jitted() -> Callable[..., Any]:
        import equinox as eqx

        options: dict[str, Any] = {"compiler_options": known(tuple((QUICK | (BRIEF if brief else {})).items()))}
        return eqx.filter_jit(function, **options)

    return functools.wraps(function)(lambda *args, **kwargs: jitted()(*args, **kwargs))


@functools.cache
def known(options: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    """Those of the compiler's options that this jaxlib has."""
    import jax

    def works(option: tuple[str, Any]) -> bool:
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
