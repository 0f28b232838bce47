"""What a stream has taught so far, in standard units: parameters from some rows, everything else row by row."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.base.compiling import precision
from fathom.base.files import Facts
from fathom.base.stored import Damaged, array
from fathom.kernels.algebra import bind
from fathom.kernels.base import Kernel
from fathom.kernels.syntax import parse, to_text
from fathom.streams.change import Watch
from fathom.streams.parameters import MOST, Parameters, parameters
from fathom.streams.way import ONE, Way

if TYPE_CHECKING:
    from fathom.streams.recursion import State
    from fathom.streams.rows import Foretold, Law, Memory

WARM = 50  # rows that set the units and first parameters of a stream
NEVER = 2**62  # rows
AGAIN = 4  # parameters are learnt again when so many times as many rows have passed


@dataclass(frozen=True)
class Plan:
    """How a stream is learnt: the kernel in standard units, `keep` for the parameters that the caller has set."""

    kernel: Kernel
    keep: tuple[bool, ...] | None
    budget: int
    rates: tuple[float, ...] = (1.0,)
    episodes: int = 2  # 0: the kernel is used as it is
    varying: bool = False  # noise that follows the inputs
    seed: int = 0
    hidden: tuple[Kernel, ...] = ()  # of the hidden layers
    widths: tuple[int, ...] = ()
    way: Way = ONE

    def rng(self, at: int) -> np.random.Generator:
        """Draws that depend on the seed and on how many rows have passed."""
        return np.random.default_rng([self.seed, at])


@dataclass
class Online:
    """A stream in its course."""

    plan: Plan
    found: Parameters
    memory: Memory
    watch: Watch
    recent: tuple[np.ndarray, np.ndarray]  # the last rows, from which parameters are learnt again
    next_look: int  # rows after which they are

    # -- learning ------------------------------------------------------------------------------------------------

    def go_on(self, X: np.ndarray, Y: np.ndarray) -> Foretold:
        """Foretell and learn further rows in turn, and parameters at set numbers of rows."""
        import jax

        told, start = [], 0
        while start < len(X):
            stop = min(len(X), start + self.next_look - self.watch.seen)
            missing = np.flatnonzero(np.isnan(Y[start:stop]).any(1))
            if len(missing) and self.memory.f.B.shape[1] < Y.shape[1]:  # from here on outputs know different things
                stop = start + int(missing[0])
                self._apart()
            if stop > start:
                told.append(self._rows(X[start:stop], Y[start:stop]))
            if self.watch.seen == self.next_look:
                self._look_again()
            start = stop
        found: Foretold = jax.tree.map(lambda *parts: np.concatenate(parts), *told)
        return found

    def _rows(self, X: np.ndarray, Y: np.ndarray) -> Foretold:
        from fathom.streams.rows import learn_rows

        with precision("float64"):
            memory, told = learn_rows(self._law(), self.plan.way, self.memory, X, Y)
        self.memory = kept(memory)
        self.watch.look((Y - told.mean) / np.sqrt(told.var), np.asarray(told.log_density))
        self.recent = tuple(np.concatenate([a, b])[-MOST:] for a, b in zip(self.recent, (X, Y), strict=True))  # type: ignore[assignment]
        return told

    def _law(self) -> Law:
        from fathom.streams.rows import law_of

        return law_of(self.found, self.plan.rates, self.plan.seed)

    def _apart(self) -> None:
        """Give every output a covariance of its own; so far they are equal."""
        f = self.memory.f
        self.memory = self.memory._replace(f=f._replace(B=np.repeat(f.B, f.mean.shape[2], axis=1)))

    def _look_again(self) -> None:
        """Learn parameters from the recent rows, and carry what all rows have taught over to them."""
        from fathom.streams.rows import carried

        old, start = self.found, self.plan
        with precision("float64"):
            old_law = self._law()
        self.found = parameters(
            start.kernel, *self.recent, start.varying, start.rng(self.watch.seen), start.keep, old.kernel
        )
        self.next_look *= AGAIN
        with precision("float64"):
            self.memory = kept(carried(old_law, self._law(), self.memory))

    # -- answers -------------------------------------------------------------------------------------------------

    def predict(self, X: np.ndarray, observed: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Means and variances (S, N, P) and weights (S) of new observations, or of the function, at X (N, D)."""
        from fathom.streams.answers import predict

        with precision("float64"):
            return predict(self._law(), self.plan.way, self.memory, X, observed)

    def parts(self, X: np.ndarray) -> tuple[tuple[Kernel, ...], np.ndarray, np.ndarray]:
        """The additive parts of the kernel with their posterior means (parts, N, P) and variances at X (N, D)."""
        from fathom.streams.answers import parts

        with precision("float64"):
            return parts(self._law(), self.found.kernel, self.memory, X)

    def functions(self, X: np.ndarray, n: int, seed: int) -> np.ndarray:
        """Whole functions (n, N, P) drawn at the rows of X (N, D), without noise."""
        from fathom.streams.answers import functions

        with precision("float64"):
            return functions(self._law(), self.plan.way, self.memory, X, n, seed)

    # -- files ---------------------------------------------------------------------------------------------------

    def to_state(self) -> tuple[Facts, dict[str, np.ndarray]]:
        """Plain values for JSON, and arrays."""
        plan, found = self.plan, self.found
        facts: Facts = {name: getattr(plan, name) for name in _PLAIN} | {"way": asdict(plan.way)}
        facts |= {"kernel": to_text(plan.kernel), "learnt": to_text(found.kernel)}
        facts |= {"hidden": [to_text(kernel) for kernel in found.hidden]}
        facts |= {"log noise": None if found.log_noise is None else to_text(found.log_noise)}
        facts |= {"watch": self.watch.to_facts(), "next look": self.next_look}
        states = {f"h{i}": state for i, state in enumerate(self.memory.hidden)} | {"f": self.memory.f}
        states |= {} if self.memory.g is None else {"g": self.memory.g}
        arrays = {f"{k}.{name}": np.asarray(v, float) for k, s in states.items() for name, v in s._asdict().items()}
        X, Y = self.recent
        arrays |= {"scores": np.asarray(self.memory.scores), "level": found.level, "recent.X": X}
        return facts, arrays | {"recent.Y": np.nan_to_num(Y), "recent.known": (~np.isnan(Y)).astype(float)}

    @classmethod
    def restored(cls, facts: Facts, arrays: Mapping[str, np.ndarray], n_inputs: int) -> Online:
        """The inverse of `to_state`."""
        from fathom.streams.rows import Memory

        plain: Facts = {name: tuple(v) if isinstance(v := facts[name], list) else v for name in _PLAIN}
        sizes = (n_inputs, *plain["widths"])
        rates, n_outputs = len(plain["rates"]), len(array(arrays, "level", None))
        places = int(plain["budget"]) + 1
        hidden = tuple(bind(parse(text), n) for text, n in zip(facts["hidden"], sizes[:-1], strict=True))
        kernel, learnt = (bind(parse(facts[name]), sizes[-1]) for name in ("kernel", "learnt"))
        noise = None if facts["log noise"] is None else bind(parse(facts["log noise"]), sizes[-1])
        pairs = itertools.pairwise(sizes)
        below = tuple(_state(arrays, f"h{i}", rates, places, *pair) for i, pair in enumerate(pairs))
        f, g = (_state(arrays, k, rates, places, sizes[-1], n_outputs) if k in "f" or noise else None for k in "fg")
        memory = Memory(below, f, g, array(arrays, "scores", rates))  # type: ignore[arg-type]
        plan = Plan(kernel, way=Way(**facts["way"]), hidden=hidden, **plain)
        known = arrays["recent.known"] > 0
        recent = (arrays["recent.X"], np.where(known, arrays["recent.Y"], np.nan))
        found = Parameters(learnt, noise, arrays["level"], hidden)
        return cls(plan, found, memory, Watch.from_facts(facts["watch"]), recent, int(facts["next look"]))


def _state(arrays: Mapping[str, np.ndarray], k: str, rates: int, places: int, d: int, p: int) -> State:
    """The arrays of one process, each of the shape that it must have."""
    from fathom.streams.recursion import State

    B = array(arrays, f"{k}.B", rates, None, places, places)
    if B.shape[1] not in (1, p):
        raise Damaged(f"array '{k}.B' holds {B.shape[1]} covariances for {p} outputs")
    shapes = {"A": (places, d), "used": (places,), "mean": (places, p), "Q": (places, places), "seen": ()}
    found = {name: array(arrays, f"{k}.{name}", rates, *shape) for name, shape in shapes.items()}
    return State(**found | {"B": B, "seen": found["seen"].astype(np.int64)})


_PLAIN = ("keep", "budget", "rates", "episodes", "varying", "seed", "widths")  # of a plan, as JSON has them


def kept(memory: Memory) -> Memory:
    """The memory as arrays of NumPy, which keep their precision wherever they are taken."""
    import jax

    found: Memory = jax.tree.map(np.asarray, memory)
    return found


def begun(plan: Plan, found: Parameters, n_inputs: int, n_outputs: int) -> Online:
    """A stream before its first row; its parameters stay until they are told to be looked at."""
    from fathom.streams.rows import begin, law_of

    with precision("float64"):
        law = law_of(found, plan.rates, plan.seed)
        memory = kept(begin(law, plan.widths, plan.budget, n_inputs, n_outputs))
    return Online(plan, found, memory, Watch(), (np.zeros((0, n_inputs)), np.zeros((0, n_outputs))), NEVER)


def learnt_from(plan: Plan, X: np.ndarray, Y: np.ndarray) -> Online:
    """Parameters and rows, both from X (N, D) and Y (N, P): as many episodes of the two as the plan asks for."""
    found, before = Parameters(plan.kernel, None, np.zeros(Y.shape[1])), None
    for episode in range(plan.episodes):
        found = parameters(plan.kernel, X, Y, plan.varying, plan.rng(episode), plan.keep, before)
        before = found.kernel
    stream = begun(plan, found, X.shape[1], Y.shape[1])
    if len(X):
        stream.go_on(X, Y)
    stream.next_look = AGAIN * max(len(X), WARM) if plan.episodes else NEVER
    return stream


def spread_so_far(Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance (P) of a further row, from the rows (n, P) so far; 0 and 1 before there is any."""
    n = (~np.isnan(Y)).sum(0)
    mean = np.nansum(Y, 0) / np.maximum(n, 1)
    var = np.nansum((Y - mean) ** 2, 0) / np.maximum(n - 1, 1)
    wide = np.where(var > 0, var, np.maximum(mean**2, 1.0))  # of one row, or of equal ones
    return mean, np.where(n > 0, wide * (1 + 1 / np.maximum(n, 1)), 1.0)
