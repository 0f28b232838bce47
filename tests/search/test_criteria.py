"""The criteria that rank finalists: against closed forms, brute force, and each other."""

import json

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import fathom
from fathom.base.execute import executor
from fathom.base.linalg import NotPositiveDefinite
from fathom.base.optimise import maximise
from fathom.gp.evidence import PRIOR_SD, Evidence, log_structure_evidence
from fathom.gp.exact import GP, condition
from fathom.gp.starts import space
from fathom.kernels import from_vector, parse, to_vector
from fathom.search.criteria import folds, held_out_density, judge
from fathom.search.grammar import Grammar
from fathom.search.run import Settings, search
from fathom.search.score import Attempt, Problem, criterion
from tests.conftest import GRIDS, PLANE
from tests.search.test_search import planted

KERNEL = parse("SE(lengthscale=0.7) + Lin*WN(variance=0.1) + WN(variance=0.2)")


def problem_of(X, inducing=None):
    y = np.random.default_rng(4).standard_normal(len(X))
    return Problem(X, y, (), f"{len(X)} {inducing is None}", inducing)


def test_laplace_is_exact_for_a_quadratic_evidence():
    """A Gaussian likelihood with a conjugate prior: the evidence is a normal density in closed form."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((3, 3))
    H, top, height = A @ A.T + np.eye(3), rng.standard_normal(3), -7.0

    def objective(v):
        return height - 0.5 * (v - top) @ H @ (v - top), -H @ (v - top)

    # exp(objective) is a multiple of the density of `top` given v with covariance H⁻¹
    factor = height + 0.5 * (3 * np.log(2 * np.pi) - np.linalg.slogdet(H)[1])
    marginal = multivariate_normal(np.zeros(3), np.linalg.inv(H) + PRIOR_SD**2 * np.eye(3)).logpdf(top)
    assert log_structure_evidence(objective, top) == pytest.approx(factor + marginal, rel=1e-7)
    assert log_structure_evidence(lambda v: (height, v), np.zeros(0)) == height


def test_laplace_of_one_variance_equals_the_integral():
    X, y = np.arange(60.0)[:, None], np.random.default_rng(0).standard_normal(60)
    evidence = Evidence(parse("WN"), X, y)
    best = maximise(evidence, [np.zeros(1)], space(parse("WN"), X)).vector
    t = np.linspace(-3, 3, 2001)
    logs = np.array([evidence.value(np.array([v])) - 0.5 * (v / 3) ** 2 for v in t]) - np.log(3 * np.sqrt(2 * np.pi))
    expected = logs.max() + np.log(np.sum(np.exp(logs - logs.max())) * (t[1] - t[0]))
    assert log_structure_evidence(evidence, best) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("X", [GRIDS["gaps"], PLANE], ids=["series", "plane"])
def test_cross_validation_equals_predicting_every_block_from_the_others(X):
    kernel = KERNEL if X.shape[1] == 1 else parse("SE + WN(variance=0.3)")
    problem, expected = problem_of(X), 0.0
    for rows in folds(X):
        rest = np.setdiff1d(np.arange(len(X)), rows)
        posterior = condition(GP(kernel), X[rest], problem.y[rest])
        cov = posterior.cov(X[rows], noise=True)
        expected += multivariate_normal(posterior.mean(X[rows])[:, 0], cov).logpdf(problem.y[rows])
    assert held_out_density(problem, kernel, to_vector(kernel)) == pytest.approx(expected, rel=1e-8)


def test_cross_validation_with_inducing_points():
    """All rows as inducing points: the exact answer."""
    X = GRIDS["gaps"]
    exact = held_out_density(problem_of(X), KERNEL, to_vector(KERNEL))
    sparse = held_out_density(problem_of(X, np.arange(len(X))), KERNEL, to_vector(KERNEL))
    assert sparse == pytest.approx(exact, abs=1e-4)


def test_folds_are_blocks_of_a_series_and_random_otherwise():
    X = GRIDS["gaps"][::-1]
    for block in folds(X):
        x = np.sort(X[block, 0])
        others = np.delete(X[:, 0], block)
        assert not np.any((others > x[0]) & (others < x[-1]))
    assert sorted(np.concatenate(folds(PLANE))) == list(range(len(PLANE)))
    assert len(folds(X[:3])) == 3


@pytest.mark.parametrize("which", ["laplace", "cv"])
def test_finalists_are_ranked_by_the_criterion_asked_for(which):
    X, y = planted(50)
    settings = Settings(Grammar(base=("SE", "Lin", "WN"), rules=("add", "drop")), depth=2, criterion=which)
    with executor("serial") as pool:
        trace = search(X, y, settings, pool)
    problem = Problem(X, y, (), which)
    for model in trace.kept:
        kernel = model.parsed()
        fitted = Attempt(kernel, 0, (np.asarray(to_vector(kernel)),), (model.evidence,))
        assert criterion(fitted, 50, which) == np.inf
        assert criterion(judge(problem, fitted, 0, which), 50, which) == pytest.approx(model.score, abs=1e-3)
    assert [m.score for m in trace.kept] == sorted(m.score for m in trace.kept)
    assert json.loads(trace.to_json())["settings"]["criterion"] == which


def test_a_finalist_that_cannot_be_judged_is_out(monkeypatch):
    def fail(*_):
        raise NotPositiveDefinite("rows are nearly dependent")

    monkeypatch.setattr("fathom.search.criteria.held_out_density", fail)
    attempt = Attempt(KERNEL, 0, (np.asarray(to_vector(KERNEL)),), (0.0,))
    judged = judge(problem_of(GRIDS["gaps"]), attempt, 0, "cv")
    assert judged.reason == "rows are nearly dependent"
    assert criterion(judged, 35, "cv") == np.inf


def test_an_unknown_criterion():
    message = "criterion must be 'bic', 'aic', 'laplace' or 'cv', not 'dic'"
    with pytest.raises(ValueError, match=message):
        fathom.KernelSearch(criterion="dic", n_jobs=1).fit(np.arange(9.0)[:, None], np.arange(9.0) % 4)


def test_the_estimator_takes_every_criterion():
    X, y = planted(40)
    model = fathom.KernelSearch(depth=1, base=("Lin", "WN"), criterion="cv", n_jobs=1).fit(X, y)
    assert model.trace_.best.structure() == "Lin + WN"
    assert from_vector(model.trace_.best.parsed(), to_vector(model.trace_.best.parsed())) is not None
