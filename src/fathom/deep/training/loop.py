"""Training that a person can leave alone: minibatches, schedule, held-out stop, undone steps, checkpoints.

The stream of minibatches depends on the seed and the step only, so a run that was killed goes on to the same answer.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from fathom.base.arrays import Array
from fathom.deep.model import DeepGP
from fathom.deep.objective import Loss
from fathom.deep.predict import AS_LEARNT, Scales
from fathom.deep.training.calibration import plain, profile, score
from fathom.deep.training.steps import Knobs, State, begin, run

if TYPE_CHECKING:
    from fathom.deep.training.checkpoint import Trees

CHUNK = 10  # steps in one compiled call
CHECKS = 30  # looks at the held-out rows in one run
MOST_RETRIES = 6  # halvings of the rate before training gives up
LARGEST_RISE = 50.0  # of the loss per row: more is a divergence


def whole(n_steps: float) -> int:
    """About so many steps in whole chunks: a shorter last one would be compiled for itself."""
    return max(CHUNK, round(n_steps / CHUNK) * CHUNK)


Entry = TypedDict(  # of a history
    "Entry",
    {"step": int, "objective": float, "seconds": NotRequired[float], "validation NLL": NotRequired[float | None]},
)
OnCheck = Callable[[Entry, int], None]  # hears of an entry and of all steps there will be


@dataclass(frozen=True)
class Settings:
    """How long and how fast. Everything that decides the answer."""

    n_steps: int = 1000
    batch_size: int = 256
    rate: float = 0.03
    beta: float = 1.0
    validation: float = 0.0  # part of the rows held out; training ends with the best step seen there
    _: KW_ONLY
    part: int = 0  # which part, when all are held out in turn
    seed: int = 0
    natural: float = 0.0  # natural-gradient step of the last layer's q(v); 0: Adam moves it
    stop_at: int | None = None  # end here, on the schedule of n_steps: for a refit on all rows
    n_rows: int | None = None  # rows the objective stands for, when more were seen than are given


@dataclass
class Trained:
    """What came out. `status` is "done", "time limit" or "diverged"."""

    model: DeepGP
    best_step: int
    parts: list[tuple[float, DeepGP]] = field(default_factory=list)  # of an average, with `model` first, if it is one
    history: list[Entry] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    status: str = "done"
    profiles: dict[int, np.ndarray] = field(default_factory=dict)  # by step: what held-out rows say, see `profile`
    scales: Scales = AS_LEARNT  # the factors of predictive variances that held-out rows ask for


def train(
    loss: Loss,
    model: DeepGP,
    X: np.ndarray,
    Y: np.ndarray,
    settings: Settings,
    *,
    time_limit: float | None = None,
    keep: Path | None = None,
    on_check: OnCheck | None = None,
) -> Trained:
    """Make the loss small on standardised rows; NaN in Y marks a missing output."""
    return _Training(loss, model, X, Y, settings, keep).run(time_limit, on_check)


class _Training:
    """One run in progress: a state that moves in chunks, and the best model seen."""

    def __init__(self, loss: Loss, model: DeepGP, X: np.ndarray, Y: np.ndarray, settings: Settings, keep: Path | None):
        self.loss, self.settings, self.keep = loss, settings, keep
        self.dtype = model.layers[0].Z.dtype
        order = np.random.default_rng([settings.seed, 7]).permutation(len(X))
        first, end = (round((settings.part + i) * settings.validation * len(X)) for i in (0, 1))
        end = min(end, first + len(X) - 1)
        self.held, rows = np.sort(order[first:end]), np.sort(np.concatenate([order[:first], order[end:]]))
        self.X, self.Y = (np.asarray(a, self.dtype) for a in (X, Y))
        self.rows, self.batch = rows, min(settings.batch_size, len(rows))
        self.key = jax.random.key(settings.seed)
        self.state = _replicated(begin(model, settings.natural > 0))
        self.trained = Trained(model, 0)
        self.best, self.slow, self.seconds = -math.inf, 0, 0.0
        self.fingerprint = _fingerprint(loss, settings, model, self.X, self.Y)
        if keep is not None and keep.exists():
            self._resume(keep)

    def run(self, time_limit: float | None, on_check: OnCheck | None) -> Trained:
        """Steps until the schedule, the time or the patience with divergence is over."""
        end = self.settings.stop_at or self.settings.n_steps
        every = max(CHUNK, math.ceil(self.settings.n_steps / CHECKS / CHUNK) * CHUNK)
        stream, begun = self._stream(), time.monotonic() - self.seconds
        costs: list[float] = []
        while (step := int(self.state.step)) < end:
            costs += self._chunk(next(stream), min(CHUNK, end - step))
            if self.trained.status == "diverged":
                break
            step = int(self.state.step)
            self.seconds = time.monotonic() - begun
            over = time_limit is not None and self.seconds > time_limit
            if step % every == 0 or step >= end or over:
                self._check(step, float(np.mean(costs)), on_check)
                costs = []
            if over and step < end:
                self.trained.status = "time limit"
                break
        if not len(self.held):
            self.trained.model, self.trained.best_step = self.state.model, int(self.state.step)
        else:
            self.trained.scales = score(self.trained.profiles[self.trained.best_step])[1]
        return self.trained

    # -- steps -------------------------------------------------------------------------------------------------

    def _stream(self) -> Iterator[np.ndarray]:
        """Stacks of row numbers (CHUNK, b) from the present step on: permutations, one after the other."""
        position, n, size = int(self.state.step) * self.batch, len(self.rows), CHUNK * self.batch
        while True:
            first, offset = divmod(position, n)
            epochs = range(first, (position + size - 1) // n + 1)
            orders = [np.random.default_rng([self.settings.seed, 11, e]).permutation(n) for e in epochs]
            chosen = np.concatenate(orders)[offset : offset + size]
            yield self.rows[chosen].reshape(CHUNK, self.batch)
            position += size

    def _chunk(self, rows: np.ndarray, n: int) -> list[float]:
        """Some steps; those that diverge are undone and tried again at half the rate, and half again."""
        Xs, Ys = (_sharded(jnp.asarray(a[rows[:n]])) for a in (self.X, self.Y))
        while True:
            moved, losses = run(self.loss, self.state, Xs, Ys, self.key, self._knobs())
            costs = np.asarray(losses, dtype=float)
            if self._sound(costs):
                self.state = moved
                return [float(c) for c in costs]
            self.slow += 1
            if self.slow > MOST_RETRIES:
                self.trained.status = "diverged"
                self.trained.notes.append(
                    f"training stopped at step {int(self.state.step)}: it diverged even at 1/{2 ** (self.slow - 1)} "
                    "of the learning rate; the model is that of the last good step"
                )
                return [float("nan")]

    def _sound(self, costs: np.ndarray) -> bool:
        usual = [h["objective"] for h in self.trained.history[-5:] if h["objective"] is not None]
        limit = -min(usual) + LARGEST_RISE if usual else math.inf
        return bool(np.all(np.isfinite(costs)) and (np.mean(costs) < limit))

    def _knobs(self) -> Knobs:
        s = self.settings
        n_rows = s.n_rows or len(self.rows)
        numbers = (s.rate * 0.5**self.slow, s.n_steps, s.beta, n_rows, s.natural * 0.5**self.slow)
        return Knobs(*(jnp.asarray(x, self.dtype) for x in numbers))

    # -- looking at held-out rows ------------------------------------------------------------------------------

    def _check(self, step: int, cost: float, on_check: OnCheck | None) -> None:
        nll = None
        if len(self.held):
            told = profile(self.state.model, self.X[self.held], self.Y[self.held], self.key)
            self.trained.profiles[step] = told
            nll = -plain(told) / self.Y[self.held].size
            worth = score(told)[0]
            if worth > self.best or self.trained.best_step == 0:
                self.best, self.trained.model, self.trained.best_step = worth, self.state.model, step
        entry: Entry = {"step": step, "seconds": self.seconds, "objective": -cost, "validation NLL": nll}
        self.trained.history.append(entry)
        if self.keep is not None:
            self._store(self.keep)
        if on_check is not None:
            on_check(entry, self.settings.stop_at or self.settings.n_steps)

    def _store(self, path: Path) -> None:
        facts = {"fingerprint": self.fingerprint, "history": self.trained.history, "best": self.best}
        facts |= {"best_step": self.trained.best_step, "slow": self.slow, "seconds": self.seconds}
        from fathom.deep.training import checkpoint  # of long trainings only

        checkpoint.write(path, facts, self._trees())

    def _trees(self) -> Trees:
        told = np.stack([*self.trained.profiles.values()] or [np.zeros((1, 1), np.float32)])
        return {"state": self.state, "best": self.trained.model, "profiles": told}

    def _resume(self, path: Path) -> None:
        from fathom.deep.training import checkpoint

        facts, trees = checkpoint.read(path, self.fingerprint, self._trees())
        self.state, self.trained.model = _replicated(trees["state"]), trees["best"]
        self.trained.history, self.trained.best_step = facts["history"], facts["best_step"]
        if len(self.held):
            steps = [int(entry["step"]) for entry in facts["history"]]
            self.trained.profiles = dict(zip(steps, np.asarray(trees["profiles"]), strict=True))
        self.best, self.slow, self.seconds = facts["best"], facts["slow"], facts["seconds"]


def _fingerprint(loss: Loss, settings: Settings, model: DeepGP, X: np.ndarray, Y: np.ndarray) -> str:
    """Tells trainings apart that may not continue each other."""
    shapes = [leaf.shape for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_array))]
    facts = [type(loss).__name__, asdict(loss), asdict(settings), shapes]  # type: ignore[call-overload]
    named = json.dumps(facts, sort_keys=True, default=lambda function: function.__qualname__)
    digest = hashlib.sha256(named.encode())
    for array in (X, Y):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


# -- several devices -------------------------------------------------------------------------------------------------


def _mesh() -> jax.sharding.Mesh:
    return jax.make_mesh((len(jax.devices()),), ("rows",), axis_types=(jax.sharding.AxisType.Auto,))


def _sharded(stack: Array) -> Array:
    """Minibatches with their rows spread over the devices, when there are several and they divide the rows."""
    n = len(jax.devices())
    if n == 1 or stack.shape[1] % n:
        return stack
    return jax.device_put(stack, NamedSharding(_mesh(), PartitionSpec(None, "rows")))


def _replicated(state: State) -> State:
    if len(jax.devices()) == 1:
        return state
    arrays, rest = eqx.partition(state, eqx.is_array)
    return eqx.combine(jax.device_put(arrays, NamedSharding(_mesh(), PartitionSpec())), rest)
