"""Series too long for the exact evidence: bounds instead, candidates that cannot win pruned, the fact on the trace."""

import json

import numpy as np
import pytest

import fathom
from fathom.base.budget import Budget
from fathom.base.execute import executor
from fathom.gp.evidence import Evidence
from fathom.gp.exact import GP, Posterior, condition
from fathom.gp.starts import binned_peaks, peaks, periodogram_peaks
from fathom.kernels import n_effective, parse, to_vector
from fathom.search import inducing, run, score
from fathom.search.criteria import bounded
from fathom.search.grammar import Grammar, remember
from fathom.search.guards import guarded_space
from fathom.search.inducing import inducing_rows, process_of
from fathom.search.run import Settings, _Run, search
from fathom.search.score import SCREEN, Attempt, Problem, begin, screened
from fathom.search.trace import Trace
from tests.search.test_search import Dying

QUICK = Settings(Grammar(base=("Lin", "Per", "WN"), rules=("add", "drop")), depth=2)


def planted(n=150):
    """A line, a cycle of period 0.5 and more noise than lets a smooth function follow the cycle."""
    x = np.linspace(-1.7, 1.7, n)
    y = 0.6 * x + 0.7 * np.sin(2 * np.pi * x / 0.5) + 0.4 * np.random.default_rng(0).standard_normal(n)
    return x[:, None], (y - y.mean()) / y.std()


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch):
    monkeypatch.setattr(inducing, "LARGE", 100)
    monkeypatch.setattr(inducing, "INDUCING", 40)


@pytest.fixture(scope="module")
def found():
    X, y = planted()
    with pytest.MonkeyPatch.context() as patch, executor("serial") as pool:
        patch.setattr(inducing, "LARGE", 100)
        patch.setattr(inducing, "INDUCING", 40)
        return search(X, y, QUICK, pool)


@pytest.mark.slow
def test_planted_structure_is_found_with_inducing_points(found):
    assert found.approximation == "inducing points: 40 of 150 rows"
    assert {"Lin", "WN"} <= {node.name for node in parse(found.best.kernel).children}
    period = float(found.best.kernel.split("period=")[1].split(",")[0].split(")")[0])
    assert period == pytest.approx(0.5, rel=0.02)


def test_the_score_is_bic_of_a_lower_bound(found):
    X, y = planted()
    for model in [level.best for level in found.levels]:
        kernel = model.parsed()
        exact = Evidence(kernel, X, y).value(to_vector(kernel))
        assert model.evidence - 1e-6 <= exact <= model.upper + 1e-6
        assert model.score == pytest.approx(-2 * model.evidence + n_effective(kernel) * np.log(150), abs=1e-6)
    assert found.best.upper - found.best.evidence < 0.5


@pytest.mark.slow
def test_the_answer_does_not_depend_on_the_number_of_workers(found):
    X, y = planted()
    with executor("processes", n_jobs=2) as pool:
        assert search(X, y, QUICK, pool).kept == found.kept


@pytest.mark.slow
def test_an_interrupted_search_resumes_to_the_same_answer(found, tmp_path):
    X, y = planted()
    path = tmp_path / "trace.json"
    with pytest.raises(KeyboardInterrupt):
        search(X, y, QUICK, Dying(7), trace_path=path)
    assert 1 <= len(Trace.from_json(path.read_text()).levels) < len(found.levels)
    with executor("serial") as pool:
        assert search(X, y, QUICK, pool, trace_path=path).kept == found.kept


def test_the_approximation_is_part_of_the_trace(found):
    assert Trace.from_json(found.to_json()) == Trace.from_json(Trace.from_json(found.to_json()).to_json())
    stored = json.loads(found.to_json())
    assert stored["approximation"] == found.approximation
    del stored["approximation"]  # as traces were before
    for model in [*stored["kept"], *(level["best"] for level in stored["levels"])]:
        del model["upper"]
    old = Trace.from_json(json.dumps(stored))
    assert old.approximation is None
    assert old.best.upper is None


# -- pruning -----------------------------------------------------------------------------------------------------


def attempts_of(problem, texts):
    kernels = [parse(text) for text in texts]
    vectors = [np.asarray(to_vector(kernel)) for kernel in kernels]
    values = [score.evidence_of(problem, k).value(v) for k, v in zip(kernels, vectors, strict=True)]
    return [Attempt(k, 0, (v,), (e,)) for k, v, e in zip(kernels, vectors, values, strict=True)]


def test_only_candidates_that_cannot_win_are_pruned(monkeypatch):
    X, y = planted()
    with executor("serial") as pool:
        sought = _Run(X, y, Settings(), pool, Budget(), None)
        problem = sought.problem(None)
        cycle = "Lin + Per(period=0.5) + WN(variance=0.2)"
        few = replaced_inducing(problem, 3)  # too few: the bounds of anything smooth are far apart
        texts = [cycle, "WN", "SE + WN", "SE(lengthscale=0.1) + WN(variance=0.02)"]
        monkeypatch.setattr(run, "BUFFER", 1)
        for there in (problem, few):
            attempts = sorted(attempts_of(there, texts), key=sought.racing)
            on, out = sought.sandwich(there, attempts, 1)
            assert on[0].kernel == attempts[0].kernel
            assert len(on) + len(out) == len(texts)
            for attempt in out:
                exact = Evidence(attempt.kernel, X, y).value(attempt.vectors[0])
                rounding = 1e-12 * abs(exact)  # without a smooth part both bounds are the evidence itself
                assert attempt.value - rounding <= exact <= attempt.upper + rounding
                hope = -2 * exact + n_effective(attempt.kernel) * np.log(150)
                assert hope > sought.racing(attempts[0])
        monkeypatch.setattr(run, "BUFFER", 4)
        assert sought.sandwich(problem, attempts, 1) == (attempts, [])


def replaced_inducing(problem, n):
    return Problem(problem.X, problem.y, problem.pools, f"{n} points", problem.inducing[:n])


def test_bounds_are_for_inducing_points_only():
    X, y = planted(50)
    attempt = Attempt(parse("WN"), 0, (np.zeros(1),), (-50.0,))
    assert bounded(Problem(X, y, (), "exact"), attempt, 3) is attempt


def test_off_the_clock_the_upper_bound_is_looser_and_holds():
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(-1.7, 1.7, 150))[:, None]
    y = np.sin(4 * X[:, 0]) + 0.1 * rng.standard_normal(150)
    problem = Problem(X, y, (), "irregular", inducing_rows(X)[::4])
    (attempt,) = attempts_of(problem, ["SE(lengthscale=0.3) + WN(variance=0.01)"])
    exact = Evidence(attempt.kernel, X, y).value(attempt.vectors[0])
    assert attempt.value <= exact <= bounded(problem, attempt, 10).upper


# -- rows and periods --------------------------------------------------------------------------------------------


def test_inducing_points_cover_the_series():
    X = np.random.default_rng(1).permutation(400.0 * np.arange(400))[:, None]
    rows = inducing_rows(X)
    np.testing.assert_array_equal(np.sort(X[rows, 0] // (400 * 10)), np.arange(40))  # one in each stretch of ten
    assert len(set(inducing_rows(np.column_stack([X, X])))) == 40
    assert inducing_rows(X[:100]) is None


def test_a_part_has_no_inducing_points_and_the_limits_of_the_whole():
    """In a part of the rows the steps are longer, but a short period stays allowed."""
    x = np.arange(3000.0)[:, None]
    problem = Problem(x, np.sin(x[:, 0]), (np.array([24.0]),), "long cycle", inducing_rows(x))
    part = screened(problem, SCREEN)
    assert part.inducing is None
    assert len(part.X) < len(x)
    kernel = parse("Per(period=5.0) + WN")
    low = guarded_space(kernel, part.all_X)(to_vector(kernel)).bounds[2, 0]
    assert low == pytest.approx(np.log(4.0))
    attempt = begin(problem, Attempt(remember(parse("Lin + WN")) + parse("Per"), 0), 3)
    assert len(attempt.vectors) == 4  # two as they climbed, and with what the parent knew put back
    np.testing.assert_array_equal(attempt.vectors[2][:3], to_vector(attempt.kernel)[:3])


@pytest.mark.slow
def test_one_transform_finds_the_periods_of_a_long_series():
    rng = np.random.default_rng(0)
    for x in (np.arange(2400.0), np.sort(rng.uniform(0, 2400, 2400))):
        y = np.sin(2 * np.pi * x / 24) + 0.6 * np.sin(2 * np.pi * x / 168) + 0.5 * rng.standard_normal(len(x)) + x / 500
        np.testing.assert_allclose(binned_peaks(x, y, 2), [24, 168], rtol=0.01)
        np.testing.assert_array_equal(peaks(x, y, 2), binned_peaks(x, y, 2))
    short = slice(0, 500)
    np.testing.assert_array_equal(peaks(x[short], y[short], 3), periodogram_peaks(x[short], y[short], 3))


# -- the estimator -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_estimator_predicts_and_survives_its_file(tmp_path):
    X, y = planted()
    model = fathom.KernelSearch(depth=1, base=("Per", "WN"), n_jobs=1, random_state=0).fit(X, y)
    assert model.trace_.approximation is not None
    assert model.score(X, y) > 0.3
    fathom.save(model, tmp_path / "m")
    again = fathom.load(tmp_path / "m")
    np.testing.assert_allclose(again.predict(X), model.predict(X))
    assert again.trace_.approximation == model.trace_.approximation


def test_a_forecast_starts_from_the_last_rows():
    """A random walk is at its last value, whatever the inducing points make of its past."""
    x = np.arange(300.0)[:, None]
    y = np.cumsum(np.random.default_rng(0).standard_normal(300))
    kernel = parse("Matern12(variance=500.0, lengthscale=1000.0) + WN(variance=0.01)")
    ahead = np.array([[300.0]])
    exact, sparse = condition(GP(kernel), x, y), process_of(kernel, x, y)
    assert sparse.mean(ahead)[0, 0] == pytest.approx(exact.mean(ahead)[0, 0], abs=0.05)
    assert sparse.var(ahead, noise=True)[0] == pytest.approx(exact.var(ahead, noise=True)[0], rel=0.05)
    assert isinstance(process_of(kernel, x[:50], y[:50]), Posterior)
    assert len(process_of(parse("SE + WN"), np.column_stack([x, x]), y).Z) == 40
