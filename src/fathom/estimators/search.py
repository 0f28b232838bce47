"""The structure search as an estimator: finds a kernel, and forecasts with all that are within reach of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self, get_args

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from fathom.base import linalg
from fathom.base.arrays import Array, RandomState, seed_of
from fathom.base.execute import BACKENDS, Executor, executor
from fathom.base.files import Facts
from fathom.base.parameters import PATH, RANDOM_STATE, Constraints, Each, Integer, Number, check_parameters
from fathom.base.stored import entries, entry
from fathom.data.columns import Columns
from fathom.data.dataset import Dataset
from fathom.estimators.exact import ExactRegressor
from fathom.estimators.given import standard
from fathom.gp.evidence import Mean
from fathom.gp.learn import posterior_of
from fathom.kernels.algebra import bind
from fathom.kernels.syntax import parse, to_text
from fathom.predictive import Predictive
from fathom.process import Process
from fathom.search.average import Member, members_of
from fathom.search.grammar import default_grammar
from fathom.search.inducing import process_of
from fathom.search.run import OnLevel, OnStage, Settings, search
from fathom.search.score import Criterion
from fathom.search.trace import Trace

if TYPE_CHECKING:
    from fathom.base.arrays import Rows
    from fathom.report.contents import Report


class KernelSearch(ExactRegressor):
    """Searches the language of kernels for the structure of the data (Duvenaud thesis, chapter 3).

    Parameters
    ----------
    depth : int
        Levels of the search; it stops before when nothing gains.
    variant : "interpretability" or "accuracy"
        Whether products are distributed after every step, which keeps components simple to describe.
    base : names of the base kernels to combine.
    criterion : "bic", "aic", "laplace" or "cv"
        What ranks the best of each level. "laplace" integrates over the parameters, "cv" is the density of held-out
        blocks; candidates race on BIC before.
    beam : int
        Kernels expanded at each level.
    time_limit : seconds, or None
        What is left of it when the search has ended goes to further searches with other seeds.
    n_jobs, backend, address : where candidates are fitted: in this process, in others ("processes"), or on a Dask or
        Ray cluster at an address. The answer does not depend on it.
    trace_path : where the path is written after every level; the same search resumes from it.
    random_state : int, Generator, RandomState or None
        Same seed, same answer; None is a new one every time, or that of the trace that the search resumes from.

    Attributes
    ----------
    kernel_ : the winner, in the user's units. trace_ : the path. members_ : the models that forecasts average, with
    their weights. caution_ : how many times the variance of the function is, beyond the end of a series, what the
    models say of it: learnt from their past forecasts.
    """

    parameter_constraints: ClassVar[Constraints] = {
        "depth": [Integer(1)],
        "variant": ["interpretability", "accuracy"],
        "base": [Each("names", [str])],
        "criterion": get_args(Criterion),
        "beam": [Integer(1)],
        "time_limit": [None, Number(above=0)],
        "n_jobs": [None, -1, Integer(1)],
        "backend": BACKENDS,
        "address": [None, str],
        "trace_path": PATH,
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        depth: int = 10,
        variant: str = "interpretability",
        base: tuple[str, ...] = ("SE", "Lin", "Per", "C", "WN"),
        criterion: str = "bic",
        *,
        beam: int = 1,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        backend: str = "processes",
        address: str | None = None,
        trace_path: str | Path | None = None,
        random_state: RandomState = None,
    ):
        self.depth = depth
        self.variant = variant
        self.base = base
        self.criterion = criterion
        self.beam = beam
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.backend = backend
        self.address = address
        self.trace_path = trace_path
        self.random_state = random_state

    def fit(self, X: Rows, y: Rows, on_level: OnLevel | None = None, on_stage: OnStage | None = None) -> Self:
        """Search for the kernel of inputs X (N, D) and one output y (N)."""
        check_parameters(self)
        inputs, y = self._checked(X, y)
        if y.ndim == 2 and y.shape[1] > 1:
            raise ValueError(f"KernelSearch explains one output, y has {y.shape[1]}: choose a column")
        y = np.asarray(column_or_1d(y, warn=True))
        self._single = True
        self.scaler_ = standard(inputs, y)
        X_std, Y_std = self.scaler_.x(inputs), self.scaler_.y(y.reshape(-1, 1))
        path = None if self.trace_path is None else Path(self.trace_path)
        with executor(self.backend, self.n_jobs, self.address) as pool, linalg.calm_threads(len(X_std)):  # type: ignore[arg-type]
            self.trace_: Trace = search(
                X_std,
                Y_std[:, 0],
                self._search_settings(X_std.shape[1], self._seed(path)),
                pool,
                time_limit=self.time_limit,
                trace_path=path,
                on_level=on_level,
                on_stage=on_stage,
            )
            self.result_ = None
            self._set_posterior(posterior_of(self.trace_.best.parsed(), X_std, Y_std, "zero"))
            self._remember(*self._members(X_std, Y_std[:, 0], pool), X_std, Y_std)
        return self

    def _search_settings(self, n_inputs: int, seed: int) -> Settings:
        grammar = default_grammar(n_inputs, self.variant, tuple(self.base))  # type: ignore[arg-type]
        return Settings(grammar, self.depth, self.criterion, self.beam, seed)  # type: ignore[arg-type]

    def _seed(self, trace: Path | None) -> int:
        """The seed of the search; one that is left open is that of the trace to resume from."""
        if self.random_state is None and trace is not None and trace.exists():
            return int(Trace.read(trace).settings["seed"])
        return seed_of(self.random_state)

    def _members(self, X: np.ndarray, y: np.ndarray, pool: Executor) -> tuple[list[Member], float]:
        """The winner and its near-ties, with weights from past forecasts when there is one input to look back along."""
        models = (self.trace_.best, *self.trace_.near_ties())
        kernels = [model.parsed() for model in models]
        if X.shape[1] == 1:
            return members_of(kernels, X, y, pool)
        weights = np.exp(-0.5 * (np.array([m.score for m in models]) - models[0].score))
        weights = weights / weights.sum()
        return [Member(k, float(w), i, False) for i, (k, w) in enumerate(zip(kernels, weights, strict=True))], 1.0

    def _remember(self, members: list[Member], caution: float, X: np.ndarray, Y: np.ndarray) -> None:
        self.members_, self.caution_ = members, caution
        own = self.posterior_  # exact however many rows there are; the others only up to a size
        self.posteriors_: list[Process] = [
            own if m.kernel == own.kernel else process_of(m.kernel, X, Y) for m in members
        ]

    def predict_dist(self, X: Rows, observed: bool = True) -> Predictive:
        """The mixture of all models within reach, weighted by their past forecasts."""
        X_std = self._inputs(X)
        parts = [self._predictive(p.mean(X_std), self._cautious_var(p, X_std, observed)) for p in self.posteriors_]
        return Predictive.mixture(parts, [member.weight for member in self.members_])

    def _predicted_mean(self, X: Rows) -> np.ndarray:
        return self.predict_dist(X).mean()  # of the average, not of the best model alone

    def _cautious_var(self, process: Process, X: np.ndarray, observed: bool) -> Array:
        """The variance, that of the function widened beyond the end of the data."""
        function = process.var(X)
        noise = process.var(X, noise=True) - function if observed else 0.0
        beyond = (X.shape[1] == 1) & (X[:, 0] > self.posterior_.X[:, 0].max())
        return noise + np.where(beyond, self.caution_, 1.0) * function

    def report(self, path: str | Path, dataset: Dataset | None = None, horizon: float | None = None) -> Report:
        """Write what was found as a self-contained HTML page; returns its facts and words.

        `dataset` lends names, units and dates; without it they are those known from fitting, and the data too.
        """
        from fathom.report import document

        check_is_fitted(self)
        seconds = sum(level.seconds for level in self.trace_.levels)
        own = self._own_data() if dataset is None else dataset
        return document.write(self, own, path, seed=self.trace_.settings["seed"], horizon=horizon, seconds=seconds)

    def _own_data(self) -> Dataset:
        """The data of the fit, with as much as is known of their columns."""
        p, s = self.posterior_, self.scaler_
        width = p.X.shape[1]
        names = self._names() or (["x"] if width == 1 else [f"x{i}" for i in range(width)])
        c: Columns = getattr(self, "columns_", None) or Columns(tuple(names), ("y",))
        kind = c.rule.kind if c.rule is not None else None
        return Dataset(
            *(s.x_back(p.X), s.y_back(p.Y)[:, 0], c.names, c.target or ("y",)),
            units=c.units,
            time=c.time,
            time_kind=kind,
            rule=c.rule,
            source="the data of the model",
        )

    # -- model files -------------------------------------------------------------------------------------------

    def _mean(self) -> Mean:
        return "zero"

    def _saved_params(self) -> Facts:
        path = None if self.trace_path is None else str(self.trace_path)
        return {
            **self.get_params(),
            "base": list(self.base),
            "trace_path": path,
            "random_state": self.trace_.settings["seed"],
        }

    def to_state(self) -> tuple[Facts, dict[str, np.ndarray]]:
        description, arrays = super().to_state()
        members = [[to_text(m.kernel), m.weight, m.place, m.persistent] for m in self.members_]
        return description | {"trace": self.trace_.to_json(), "members": members, "caution": self.caution_}, arrays

    @classmethod
    def from_state(cls, description: Facts, arrays: dict[str, np.ndarray]) -> Self:
        model = super().from_state(description, arrays)
        model.base = tuple(model.base)
        model.trace_ = Trace.from_json(entry(description, "trace", str))
        X, Y = arrays["X"], arrays["Y"]
        members = [_member(told, X.shape[1]) for told in entries(description, "members", list)]
        model._remember(members, entry(description, "caution", float), X, Y)
        return model


def _member(told: list[object], n_inputs: int) -> Member:
    """A model of the average, as it stands in a file."""
    facts = dict(zip(Member._fields, told, strict=True))
    kernel, weight = bind(parse(entry(facts, "kernel", str)), n_inputs), entry(facts, "weight", float)
    return Member(kernel, weight, entry(facts, "place", int), entry(facts, "persistent", bool))
