"""Sequential inference for deep GPs (Wang et al.): rows pass once, as particles, and teach every layer in turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fathom.base.files import Facts
from fathom.base.parameters import Constraints, Integer, Number
from fathom.deep.build import Architecture
from fathom.deep.predict import AS_LEARNT, Mixture, Scales
from fathom.deep.training.loop import Entry
from fathom.gp.learn import with_noise
from fathom.inference.base import Inference, Task, Training
from fathom.kernels.algebra import bind
from fathom.kernels.base import Kernel
from fathom.kernels.syntax import parse
from fathom.streams.online import Online, Plan, learnt_from
from fathom.streams.seeding import learnt_deeply
from fathom.streams.way import Way

if TYPE_CHECKING:
    from fathom.streams.rows import Foretold

NODES = 30  # of the quadrature that compares classes


class Sequential(Inference):
    """Particles through layers of sparse online GPs: a pass over the rows, and any number of rows after.

    Parameters
    ----------
    n_particles : int
        Draws of the hidden layers for each row.
    episodes : int
        Passes over the rows, each after learning every layer's kernel. Series ask for two, tables for one.
    update : "adf", "plug-in" or "trajectory"
        What a hidden layer learns from a row: the pseudo-observation that takes its outputs' moments before the row to
        those after it; their mean after it, as if it had been seen; or one particle's way through all layers.
    activation : None or "logistic"
        What is passed on of hidden outputs h: h, or 1/(1 + exp(−h)).
    noise : "constant" or "heteroscedastic"
        With the second the log of the noise is a process over the last hidden layer.
    forgetting : float
        1 keeps everything; 0.999 forgets half in some 700 rows.
    """

    name: ClassVar[str] = "sequential"
    dtype: ClassVar[str] = "float64"
    uses: ClassVar[tuple[str, ...]] = ()
    parameter_constraints: ClassVar[Constraints] = {
        "n_particles": [Integer(1)],
        "episodes": [Integer(1)],
        "update": ["adf", "plug-in", "trajectory"],
        "activation": [None, "logistic"],
        "noise": ["constant", "heteroscedastic"],
        "forgetting": [Number(above=0, most=1)],
    }

    def __init__(
        self,
        n_particles: int = 100,
        episodes: int = 1,
        update: str = "adf",
        activation: str | None = None,
        noise: str = "constant",
        forgetting: float = 1.0,
    ):
        self.n_particles = n_particles
        self.episodes = episodes
        self.update = update
        self.activation = activation
        self.noise = noise
        self.forgetting = forgetting

    def check(self, arch: Architecture, training: Training) -> None:
        super().check(arch, training)
        if arch.dtype != self.dtype:
            raise ValueError(f"dtype {arch.dtype!r} means nothing to {self.name!r}, which computes in float64")
        if arch.connected:
            raise ValueError(f"input_connected means nothing to {self.name!r}: use 'dsvi' or 'dspp'")

    def learn(self, task: Task) -> Course:
        """The stream after its episodes over all rows."""
        if task.features is not None:
            raise ValueError(f"inference={self.name!r} takes no feature extractor: use 'svgp'")
        learn = learnt_deeply if task.arch.widths else learnt_from
        Y = one_of_k(task.Y, task.n_classes) if task.n_classes else task.Y
        stream = learn(self._plan(task), task.X, Y)
        return Course(stream, task.seed, task.n_classes, [_entry(stream, len(task.X))])

    def follow(self, learnt: Course, task: Task) -> Foretold:
        """Foretell and learn further rows in turn."""
        return learnt.stream.go_on(task.X, one_of_k(task.Y, task.n_classes) if task.n_classes else task.Y)

    def go_on(self, learnt: Course, task: Task, n_seen: int) -> Course:
        """The stream with further rows."""
        self.follow(learnt, task)
        learnt.history.append(_entry(learnt.stream, n_seen))
        return learnt

    def restored(self, task: Task, facts: Facts, arrays: Mapping[str, np.ndarray]) -> Course:
        """The stream of a file."""
        stream = Online.restored(facts["stream"], arrays, task.X.shape[1])
        return Course(stream, facts["seed"], task.n_classes, facts["history"])

    def _plan(self, task: Task) -> Plan:
        sizes = (task.X.shape[1], *task.arch.widths)
        given = task.arch.kernel if isinstance(task.arch.kernel, tuple) else (task.arch.kernel,) * len(sizes)
        if len(given) != len(sizes):
            raise ValueError(f"{len(given)} kernels were given for {len(sizes)} layers: name one, or one for each")
        kernels = [with_noise(bind(_parsed(k), n)) for k, n in zip(given, sizes, strict=True)]
        way = Way(self.n_particles, self.update, self.activation == "logistic")  # type: ignore[arg-type]
        varying, rates = self.noise == "heteroscedastic", (float(self.forgetting),)
        main = (kernels[-1], None, task.arch.n_inducing, rates, self.episodes, varying, task.seed)
        return Plan(*main, tuple(kernels[:-1]), tuple(task.arch.widths), way)


@dataclass
class Course:
    """A stream that was learnt, and how it answers."""

    stream: Online
    seed: int
    n_classes: int
    history: list[Entry]
    notes: list[str] = field(default_factory=list)
    scales: Scales = AS_LEARNT
    status: str = "done"
    best_step: int = 0
    beta: float = 1.0

    def predict(self, X: np.ndarray, observed: bool = True) -> Mixture:
        """A Gaussian (S, N, P) for each particle, of new observations or of the function, at X (N, D)."""
        return self.stream.predict(X, observed)

    def probabilities(self, X: np.ndarray) -> np.ndarray:
        """Probabilities (N, C) that a class has the largest indicator."""
        if not self.n_classes:
            raise ValueError("this model was learnt from numbers: it has no classes")
        means, variances, weights = self.stream.predict(X)
        found = np.einsum("s,snc->nc", weights, largest(means, np.sqrt(variances)))
        return found / found.sum(1, keepdims=True)

    def functions(self, X: np.ndarray, n: int, seed: int) -> np.ndarray:
        """Whole functions (n, N, P) at the rows of X (N, D)."""
        return self.stream.functions(X, n, seed)

    def to_state(self) -> tuple[Facts, dict[str, np.ndarray]]:
        """Plain values for JSON, and the arrays of the stream."""
        facts, arrays = self.stream.to_state()
        return {"stream": facts, "seed": self.seed, "history": self.history}, arrays


def one_of_k(labels: np.ndarray, n_classes: int) -> np.ndarray:
    """Indicators (N, C) of labels (N, 1), of mean zero and variance one if classes are equally frequent."""
    share = 1 / n_classes
    return np.asarray((np.eye(n_classes)[labels[:, 0].astype(int)] - share) / np.sqrt(share * (1 - share)))


def largest(mean: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """Probabilities (…, C) that each of independent Gaussians is the largest, by quadrature."""
    from scipy.special import ndtr

    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    found = np.zeros_like(mean)
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        at = mean + sd * node  # (…, C)
        below = ndtr((at[..., :, None] - mean[..., None, :]) / sd[..., None, :])
        np.einsum("...cc->...c", below)[...] = 1.0
        found += weight * below.prod(-1)
    return found


def _parsed(kernel: str | Kernel | None) -> Kernel:
    return parse(kernel or "SE") if isinstance(kernel, str | None) else kernel


def _entry(stream: Online, n_seen: int) -> Entry:
    return {"step": n_seen, "objective": stream.watch.score}
