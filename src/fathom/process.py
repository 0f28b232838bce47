"""What predicts: a distribution over functions that can be asked at any inputs."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from fathom.base.arrays import Array


@runtime_checkable
class Process(Protocol):
    """Prior, posterior, or one component of it. Means are (N*, P): one column for each output.

    `noise=True` asks about a new observation instead of the function.
    """

    def mean(self, X: Array) -> Array: ...

    def var(self, X: Array, noise: bool = False) -> Array: ...

    def cov(self, X: Array, noise: bool = False) -> Array: ...

    def sample(self, key: object, X: Array, n: int = 1, noise: bool = False) -> Array: ...
