"""Deep GPs by sampling (DGPS thesis, chapter 4): inducing values are parameters, hidden values are drawn.

On few rows several starts climb together (`deep.training.lbfgs`), ranked by draws that none of them has seen. The first
few get a Gaussian about their values (`deep.laplace`) and are compared once more by the same objective, now with the KL
of it: of a sharp peak, or where the Gaussian reaches further than the curvature holds, little is left. Predictions
average them. Layers that start together seldom find what one layer less can do; further starts are therefore the best
models of one layer less, with a layer before the last that begins by passing its inputs on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import softmax

from fathom.base import linalg
from fathom.base.arrays import Array
from fathom.base.compiling import compiled, precision
from fathom.base.parameters import Constraints, Integer
from fathom.deep.build import Architecture, Beginning, build
from fathom.deep.ensemble import Ensemble
from fathom.deep.laplace import laplace, points
from fathom.deep.layer import Layer
from fathom.deep.model import DeepGP
from fathom.deep.objective import Objective, joint, predictive
from fathom.deep.predict import NEGLIGIBLE
from fathom.deep.training.lbfgs import End, Rows, Watch, climbed, history
from fathom.deep.training.loop import Trained
from fathom.inference.base import Task
from fathom.inference.gradient import Gradient
from fathom.sparse.inducing import standard_start

CLIMBED = 100_000  # rows times numbers of inducing points: beyond them minibatches take over
FEW = 10  # starts that are compared once more, and averaged
NATS = 4.0  # of the objective, by which a model of the average weighs e times less
GROWN = 3  # models of one layer less that are starts too
SPREAD = 1.0  # of the logarithms of kernel parameters of all starts but the first
SHAKE = 0.5  # and of their hidden whitened values, which makes smooth functions of them


class DGPS(Gradient):
    """Sampling (Vafa's DGPS): pseudo data as parameters, learnt from several starts and averaged.

    Parameters
    ----------
    n_samples : int
        Draws of each row in training.
    n_restarts : int
        Starts that climb together, where the climb is by "lbfgs".
    optimizer : "lbfgs", "adam" or None
        All rows at once from several starts, or minibatches. None: "lbfgs" unless rows times the coordinates and values
        of inducing points are over 100,000.
    estimator : "factorised" or "joint"
        "joint" as printed in the thesis: no minibatches, higher variance.
    prior : "whitened" or "density"
        Of the inducing values; under the thesis's "density" inducing inputs like to meet.
    posterior : "laplace" or "point"
        A Gaussian about the inducing values, by the curvature of the objective; or values that are certain, as in the
        thesis.
    """

    name: ClassVar[str] = "sampling"
    n_inducing: ClassVar[int] = 20
    dtype: ClassVar[str] = "float64"

    parameter_constraints: ClassVar[Constraints] = {
        "n_samples": [Integer(1)],
        "n_restarts": [Integer(1)],
        "optimizer": [None, "lbfgs", "adam"],
        "estimator": ["factorised", "joint"],
        "prior": ["whitened", "density"],
        "posterior": ["laplace", "point"],
    }

    def __init__(
        self,
        n_samples: int = 10,
        n_restarts: int = 10,
        optimizer: str | None = None,
        estimator: str = "factorised",
        prior: str = "whitened",
        posterior: str = "laplace",
    ):
        self.n_samples = n_samples
        self.n_restarts = n_restarts
        self.optimizer = optimizer
        self.estimator = estimator
        self.prior = prior
        self.posterior = posterior

    def beginning(self) -> Beginning:
        """Point values, and a little noise on hidden outputs."""
        return Beginning(q="point", noise=0.03, hidden_noise=1e-4)

    def ending(self) -> Beginning:
        """A full q(v) about the point values, unless these are to be certain."""
        return replace(self.beginning(), q="full") if self.posterior == "laplace" else self.beginning()

    def loss(self) -> Objective:
        """Minus the Monte-Carlo likelihood and the prior of the inducing values."""
        data = joint if self.estimator == "joint" else predictive
        return Objective(data, self.n_samples, density=self.prior == "density")

    def finished(self, model: DeepGP, task: Task, n_seen: int) -> DeepGP:
        """The model with a Gaussian about its values."""
        if self.posterior == "point":
            return model
        return laplace(model, self.loss(), *task.rows, task.seed, n_seen)

    def resumed(self, model: DeepGP) -> DeepGP:
        """The model with its values as parameters again."""
        return points(model) if self.posterior == "laplace" else model

    def learn(self, task: Task) -> Ensemble:
        """Climb from several starts where rows are few, and train on minibatches where they are many."""
        if not self._climbs(task):
            return super().learn(task)
        with precision(task.arch.dtype):
            return Ensemble.of(self.climb(task), task.seed)

    def _climbs(self, task: Task) -> bool:
        """True if all rows are seen at once: as asked for, else if they are few, or must be (joint)."""
        if self.optimizer is not None:
            return self.optimizer == "lbfgs"
        if task.features is not None:
            return False
        return self.estimator == "joint" or len(task.X) * task.arch.n_numbers(task.X.shape[1]) <= CLIMBED

    # -- a climb from several starts ---------------------------------------------------------------------------

    def climb(self, task: Task) -> Trained:
        """The best of several starts, averaged; when the time is over, where they have come to."""
        stages, said = self._stages(task), task.training
        watch = Watch(len(task.X), len(stages), said.time_limit or np.inf, task.on_check)
        rows, ends = Rows.of(self.loss(), *task.rows, task.arch.dtype), list[End]()
        for stage in stages:
            models = [self.start(stage, i) for i in range(self.n_restarts)]
            models += [grown(end.model, models[0]) for end in ends[:GROWN]]
            ends = climbed(models, rows, task.seed, said.n_steps, watch)
        ends, shares = self._averaged_ends(task, rows, ends, watch)
        best = int(np.argmax(shares))
        trained = Trained(ends[best].model, ends[best].iterations)
        trained.parts = [(float(shares[i]), ends[i].model) for i in np.argsort(-shares, kind="stable") if shares[i] > 0]
        trained.history = history(ends, best, len(task.X), watch.seconds())
        trained.status = "time limit" if watch.over() else trained.status
        if not np.isfinite(ends[best].value):
            trained.status = "diverged"
            trained.notes.append("no start could be evaluated: the model is where the first one began")
        return trained

    def _stages(self, task: Task) -> list[Task]:
        """Climbs of one layer more each, this one last, where models of one can be starts of the next."""
        if self.n_restarts == 1 or not grows(task.arch, task.X.shape[1]):
            return [task]
        shallower = replace(task.arch, widths=task.arch.widths[:-1])
        return [*self._stages(replace(task, arch=shallower)), task]

    def _averaged_ends(self, task: Task, rows: Rows, ends: list[End], watch: Watch) -> tuple[list[End], np.ndarray]:
        """The ends, of which the first have a Gaussian, and how much each of these weighs.

        Point values are not averaged. When the time is over, no more than the first end gets a Gaussian.
        """
        if self.posterior == "point":
            return ends, np.ones(1)
        found: list[End] = []
        for end in ends[:FEW]:
            if found and watch.over():
                break
            found.append(end._replace(model=self.finished(end.model, task, len(task.X))))
        shares = averaged([rows.worth(end.model, task.seed + 13) for end in found])
        return [*found, *ends[len(found) :]], shares

    def start(self, task: Task, i: int) -> DeepGP:
        """Start i (DGPS thesis, 4.3).

        Hidden layers pass their inputs on, and the values of the last one are the targets nearest to its inducing
        inputs. The first start is as plain as that, the others are shaken.
        """
        arch, (X, Y) = task.arch, task.rows
        model = build(jax.random.key(task.seed * 1000 + i), arch, self.beginning(), X, Y, task.n_classes)
        rng, layers, H = np.random.default_rng([task.seed, i]), [], np.asarray(X, dtype=float)
        for depth, layer in enumerate(model.layers):
            last = depth == len(model.layers) - 1
            Z = np.asarray(layer.Z, dtype=float)
            if last:
                values = np.zeros((layer.width, Z.shape[1])) if task.n_classes else _nearest(H, Y, Z, layer.width)
            else:
                passed = Z[:, :, np.arange(layer.width) % Z.shape[2]]
                values = np.stack([passed[u % len(Z), :, u] for u in range(layer.width)]) * (layer.slope is None)
            layers.append(_valued(layer, values, rng, i, 0.0 if last else SHAKE))
            slope = np.eye(H.shape[1], layer.width) if layer.slope is None else np.asarray(layer.slope)
            H = np.hstack([H @ slope, X]) if arch.connected and not last else H @ slope
        return eqx.tree_at(lambda old: old.layers, model, tuple(layers))


def averaged(worth: Sequence[float]) -> np.ndarray:
    """Weights of models with these objectives.

    Of Gaussians that hardly overlap, the mixture with weights ∝ exp(objective) has the highest objective. That is for
    rows that chose nothing; these have made the models, and `NATS` of their objective are worth one.
    """
    if not np.isfinite(worth).any():
        return np.eye(len(worth))[0]
    shares = softmax(np.asarray(worth, dtype=float) / NATS)
    shares = np.where(shares > NEGLIGIBLE, shares, 0.0)
    return shares / shares.sum()


def grows(arch: Architecture, d: int) -> bool:
    """Whether a model of one layer less can be made one of these by a layer that passes its inputs on."""
    if not arch.widths or arch.connected or arch.mean != "linear" or isinstance(arch.kernel, (tuple, list)):
        return False
    return arch.widths[-1] == (d, *arch.widths)[-2]


def grown(shallow: DeepGP, model: DeepGP) -> DeepGP:
    """The shallower model with the last hidden layer of `model`, its values as they are, put before its last one."""
    *before, last = shallow.layers
    between = model.layers[-2]
    Z = np.broadcast_to(np.asarray(last.Z)[:1], between.Z.shape)
    # between inducing inputs that lie several lengthscales apart nothing would be passed on
    theta = standard_start(between.form.kernel, between.width, spread=max(1.0, float(np.std(Z))))
    passing = (Z, np.eye(between.width), np.zeros(between.width), np.broadcast_to(theta, between.theta.shape))
    own = tuple(jnp.asarray(a, between.Z.dtype) for a in passing)
    between = eqx.tree_at(lambda old: (old.Z, old.slope, old.offset, old.theta), between, own)
    layers = (*before, between, last)
    return eqx.tree_at(lambda old: (old.layers, old.likelihood), model, (layers, shallow.likelihood))


def _nearest(H: np.ndarray, Y: np.ndarray, Z: np.ndarray, width: int) -> np.ndarray:
    """Targets (W, M) of the rows nearest to the inducing inputs."""
    Y = np.where(np.isnan(Y), 0.0, Y)
    nearest = [np.argmin(((H[:, None] - z) ** 2).sum(-1), 0) for z in Z]
    return np.stack([Y[nearest[w % len(Z)], w] for w in range(width)])


def _valued(layer: Layer, values: np.ndarray, rng: np.random.Generator, i: int, shake: float) -> Layer:
    """The layer with these inducing values u = Lv; for all starts but the first, v and the kernel are shaken."""
    dtype = layer.mean.dtype
    theta = np.asarray(layer.theta) + SPREAD * (i > 0) * rng.standard_normal(layer.theta.shape)
    layer = eqx.tree_at(lambda old: old.theta, layer, jnp.asarray(theta, dtype))
    mean = np.asarray(_whitened(layer, jnp.asarray(values, dtype)))
    mean = mean + shake * (i > 0) * rng.standard_normal(mean.shape)
    return eqx.tree_at(lambda old: old.mean, layer, jnp.asarray(mean, dtype))


@compiled(brief=True)
def _whitened(layer: Layer, values: Array) -> Array:
    """v = L⁻¹u (W, M), with jitter enough for any u."""
    half = linalg.whitening(layer._cross(layer.Z, layer.Z), 1e-3)
    half = jnp.broadcast_to(half, (layer.width, *half.shape[1:]))
    return jnp.einsum("wij,wj->wi", half, values)
