"""The structure search as an estimator: finds a kernel, and forecasts with all that are within reach of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self, get_args

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from fathom.base import linalg
from fathom.base.arrays import Array, RandomState, seed_of
from fathom.base.budget import Budget
from fathom.base.execute import BACKENDS, Executor, executor
from fathom.base.files import Facts
from fathom.base.parameters import PATH, RANDOM_STATE, Constraints, Each, Integer, Number, check_parameters
from fathom.base.stored import entries, entry
from fathom.data.columns import Columns
from fathom.data.dataset import Dataset
from fathom.data.holidays import Holidays
from fathom.estimators.exact import ExactRegressor
from fathom.estimators.given import standard
from fathom.gp.evidence import Mean
from fathom.gp.learn import posterior_of
from fathom.kernels.algebra import bind, rescale
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

AVERAGING, MOST_AVERAGING = 0.1, 60.0  # of a time limit, kept for past forecasts; and seconds


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
        How long `fit` may take: the level at work then ends with what it has found. A share is kept for the average.
    paths : int
        Searches with other seeds, one after the other, of which the best counts.
    n_jobs, backend, address : where candidates are fitted: in this process, in others ("processes"), or on a Dask or
        Ray cluster at an address. The answer does not depend on it.
    trace_path : where the path is written after every level; the same search resumes from it.
    calendar : for each input the periods, in its own units, at which a cycle is expected, such as `Dataset.calendar`
        A fitted period near one of them is set to it unless the evidence objects.
    terms : kernels, as text in the units of the inputs, that may join the sum as they stand; variances are learnt
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
        "paths": [Integer(1)],
        "n_jobs": [None, -1, Integer(1)],
        "backend": BACKENDS,
        "address": [None, str],
        "trace_path": PATH,
        "calendar": [Each("tuples of periods, one for each input", [Each("periods", [Number(above=0)])])],
        "terms": [Each("texts of kernels", [str])],
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
        paths: int = 1,
        n_jobs: int | None = None,
        backend: str = "processes",
        address: str | None = None,
        trace_path: str | Path | None = None,
        calendar: tuple[tuple[float, ...], ...] = (),
        terms: tuple[str, ...] = (),
        random_state: RandomState = None,
    ):
        self.depth = depth
        self.variant = variant
        self.base = base
        self.criterion = criterion
        self.beam = beam
        self.time_limit = time_limit
        self.paths = paths
        self.n_jobs = n_jobs
        self.backend = backend
        self.address = address
        self.trace_path = trace_path
        self.calendar = calendar
        self.terms = terms
        self.random_state = random_state

    def fit(self, X: Rows, y: Rows, on_level: OnLevel | None = None, on_stage: OnStage | None = None) -> Self:
        """Search for the kernel of inputs X (N, D) and one output y (N)."""
        check_parameters(self)
        budget = Budget.of(self.time_limit)
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
                time_limit=budget.less(_for_average(self.time_limit, X_std.shape[1])),
                paths=self.paths,
                trace_path=path,
                on_level=on_level,
                on_stage=on_stage,
            )
            self.result_ = None
            self._set_posterior(posterior_of(self.trace_.best.parsed(), X_std, Y_std, "zero"))
            self._remember(*self._members(X_std, Y_std[:, 0], pool, budget), X_std, Y_std)
        return self

    def _search_settings(self, n_inputs: int, seed: int) -> Settings:
        s, known = self.scaler_, [bind(parse(term), self._names() or n_inputs) for term in self.terms]
        terms = tuple(to_text(rescale(term, -s.x_mean / s.x_sd, 1 / s.x_sd)) for term in known)
        grammar = default_grammar(n_inputs, self.variant, tuple(self.base), terms)  # type: ignore[arg-type]
        return Settings(grammar, self.depth, self.criterion, self.beam, seed, calendar=self._calendar(n_inputs))  # type: ignore[arg-type]

    def _calendar(self, n_inputs: int) -> tuple[tuple[float, ...], ...]:
        """The periods of the calendar in standard units."""
        if len(self.calendar) not in (0, n_inputs):
            raise ValueError(f"calendar has periods for {len(self.calendar)} inputs, not {n_inputs}: give () for some")
        spread = self.scaler_.x_sd.tolist()
        return tuple(tuple(p / sd for p in own) for own, sd in zip(self.calendar, spread, strict=False))

    def _seed(self, trace: Path | None) -> int:
        """The seed of the search; one that is left open is that of the trace to resume from."""
        if self.random_state is None and trace is not None and trace.exists():
            return int(Trace.read(trace).settings["seed"])
        return seed_of(self.random_state)

    def _members(
        self, X: np.ndarray, y: np.ndarray, pool: Executor, budget: Budget | None = None
    ) -> tuple[list[Member], float]:
        """The winner and its near-ties, with weights from past forecasts when there is one input to look back along."""
        models = (self.trace_.best, *self.trace_.near_ties())
        kernels = [model.parsed() for model in models]
        if X.shape[1] == 1:
            here = self.trace_.status == "time limit"  # there is no time to start workers again
            return members_of(kernels, X, y, executor("serial") if here else pool, budget)
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
            holidays=Holidays(c.holidays) if c.holidays else None,
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
            "calendar": [list(own) for own in self.calendar],
            "terms": list(self.terms),
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
        model.base, model.terms = tuple(model.base), tuple(model.terms)
        model.calendar = tuple(map(tuple, model.calendar))
        model.trace_ = Trace.from_json(entry(description, "trace", str))
        X, Y = arrays["X"], arrays["Y"]
        members = [_member(told, X.shape[1]) for told in entries(description, "members", list)]
        model._remember(members, entry(description, "caution", float), X, Y)
        return model


def _for_average(limit: float | None, n_inputs: int) -> float:
    """Seconds that the search leaves for looking back at past forecasts."""
    return 0.0 if limit is None or n_inputs > 1 else min(AVERAGING * limit, MOST_AVERAGING)


def _member(told: list[object], n_inputs: int) -> Member:
    """A model of the average, as it stands in a file."""
    facts = dict(zip(Member._fields, told, strict=True))
    kernel, weight = bind(parse(entry(facts, "kernel", str)), n_inputs), entry(facts, "weight", float)
    return Member(kernel, weight, entry(facts, "place", int), entry(facts, "persistent", bool))
