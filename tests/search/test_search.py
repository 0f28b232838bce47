"""The search as a whole: finds what was planted, the same whatever runs it, resumes, and says what failed."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import fathom
from fathom.base.budget import Budget
from fathom.base.execute import Executor, Outcome, executor
from fathom.base.workers import one_thread
from fathom.gp.exact import GP, condition
from fathom.kernels import parse, to_vector
from fathom.search.average import Past, caution_of, learnt_anew, members_of, past_forecasts, twin, weights_of
from fathom.search.grammar import Grammar
from fathom.search.guards import degenerate, guarded_space, modulating_lines
from fathom.search.run import Settings, _Run, search
from fathom.search.score import Attempt, Problem, begin, climbed, criterion, only_best, period_pool
from fathom.search.trace import Model, Trace, TraceError, keep_best

QUICK = Settings(Grammar(base=("SE", "Lin", "Per", "WN"), rules=("add", "multiply", "drop")), depth=3)


def planted(n=60, seed=0):
    """A straight line, a cycle of period 0.5 in units of the standardised input, and noise."""
    rng = np.random.default_rng(seed)
    x = np.linspace(-1.7, 1.7, n)
    y = 0.6 * x + 0.7 * np.sin(2 * np.pi * x / 0.5) + 0.1 * rng.standard_normal(n)
    return x[:, None], (y - y.mean()) / y.std()


@pytest.fixture(scope="module")
def found():
    X, y = planted()
    with executor("serial") as pool:
        return search(X, y, QUICK, pool)


@pytest.mark.slow
def test_planted_structure_is_found(found):
    names = {node.name for node in parse(found.best.kernel).children}
    assert {"Lin", "WN"} <= names
    assert "Per" in found.best.kernel
    period = float(found.best.kernel.split("period=")[1].split(",")[0].split(")")[0])
    assert period == pytest.approx(0.5, rel=0.02)
    assert found.status == "converged"


def test_every_level_gains_until_the_last(found):
    scores = [level.best.score for level in found.levels]
    assert all(a > b for a, b in pairwise(scores[:-1]))
    assert found.best.score == min(scores)
    assert [m.score for m in found.kept] == sorted(m.score for m in found.kept)
    assert len({m.structure() for m in found.kept}) == len(found.kept)


def test_the_score_is_bic_of_the_stored_kernel(found):
    from fathom.gp.evidence import Evidence
    from fathom.kernels import n_effective

    X, y = planted()
    kernel = parse(found.best.kernel)
    value = Evidence(kernel, X, y).value(to_vector(kernel))
    assert found.best.evidence == pytest.approx(value, abs=1e-6)
    assert found.best.score == pytest.approx(-2 * value + n_effective(kernel) * np.log(len(y)), abs=1e-5)


@pytest.mark.slow
def test_the_answer_does_not_depend_on_the_number_of_workers(found):
    X, y = planted()
    with executor("processes", n_jobs=2) as pool:
        parallel = search(X, y, QUICK, pool)
    assert [m.kernel for m in parallel.kept] == [m.kernel for m in found.kept]


def test_a_winner_leaves_a_poor_optimum_of_its_lengthscale():
    rng = np.random.default_rng(8)  # data with an optimum of long lengthscale and another, a nat higher, behind it
    x = np.linspace(-1.7, 1.7, 40)
    y = x + 0.3 * np.sin(9 * x) + 0.05 * rng.standard_normal(40)
    X, y = x[:, None], (y - y.mean()) / y.std()
    kernel = parse("SE(lengthscale=3.0) + WN(variance=0.1)")
    with executor("serial") as pool:
        run = _Run(X, y, QUICK, pool, Budget(), None)
        problem = run.problem(None)
        start = Attempt(kernel, 0, (np.asarray(to_vector(kernel)),), (-np.inf,))
        winner = only_best(climbed(problem, start, 200))
        (shaken,) = run.shaken(problem, [winner], 1)
    assert shaken.value > winner.value + 0.9
    assert shaken.evaluations > winner.evaluations


class Dying:
    """Runs in this process and is interrupted after some calls of map."""

    def __init__(self, calls):
        self.calls = calls

    def map(self, task, items, on_done=None, *, shared=None):
        self.calls -= 1
        if self.calls < 0:
            raise KeyboardInterrupt
        with one_thread():  # as every executor gives its tasks
            return [Outcome(task(shared, item)) for item in items]


@pytest.mark.slow
def test_an_interrupted_search_resumes_to_the_same_answer(found, tmp_path):
    X, y = planted()
    path = tmp_path / "trace.json"
    with pytest.raises(KeyboardInterrupt):
        search(X, y, QUICK, Dying(8), trace_path=path)
    halfway = Trace.from_json(path.read_text())
    assert 1 <= len(halfway.levels) < len(found.levels)
    with executor("serial") as pool:
        resumed = search(X, y, QUICK, pool, trace_path=path)
        again = search(X, y, QUICK, pool, trace_path=path)  # finished: nothing to do
    assert [m.kernel for m in resumed.kept] == [m.kernel for m in found.kept]
    assert again == resumed
    with pytest.raises(TraceError, match="belongs to a search of other data or settings: remove it or name another"):
        search(X, 2 * y, QUICK, Dying(0), trace_path=path)


def test_a_time_limit_ends_it_with_what_there_is():
    X, y = planted()
    with executor("serial") as pool:
        trace = search(X, y, QUICK, pool, time_limit=1e-9)
    assert trace.status == "time limit"
    assert [level.depth for level in trace.levels] == [0]
    assert trace.best.structure() == "WN"


def test_a_candidate_that_fails_is_recorded():
    class Failing(Dying):
        def map(self, task, items, on_done=None, *, shared=None):
            outcomes = [Outcome(task(shared, item)) for item in items]
            return [Outcome(error="its worker died 3 times")] + outcomes[1:] if len(items) > 3 else outcomes

    X, y = planted(30)
    trace = search(X, y, Settings(QUICK.grammar, depth=1), Failing(0))
    assert any("its worker died 3 times" in level.failures for level in trace.levels)


def test_trace_round_trip(found, tmp_path):
    assert Trace.from_json(found.to_json()) == Trace.from_json(Trace.from_json(found.to_json()).to_json())
    json.loads(found.to_json())
    with pytest.raises(TraceError, match="is not a trace of a search"):
        Trace.from_json("{}")
    damaged = json.loads(found.to_json())
    damaged["kept"][0]["kernel"] = "SE("
    with pytest.raises(TraceError, match="is not a trace of a search .cannot read kernel 'SE.'"):
        Trace.from_json(json.dumps(damaged))
    with pytest.raises(TraceError, match="is not a trace of a search .maximum recursion"):
        Trace.from_json("[" * 100_000)
    (tmp_path / "photo").write_bytes(b"\xff\xd8\xff")
    with pytest.raises(TraceError, match="photo is not a trace of a search: remove it or name another file"):
        Trace.read(tmp_path / "photo")
    with pytest.raises(TraceError, match="is a trace of another version of Fathom"):
        Trace.from_json(json.dumps({"format": "fathom trace", "version": 99}))
    with pytest.raises(TraceError, match="cannot write .*: No such file or directory"):
        found.write(tmp_path / "no" / "trace.json")


def test_keep_best_keeps_one_of_each_structure():
    models = [Model("SE(lengthscale=2.0) + WN", 0, 3, 5.0), Model("SE + WN", 0, 3, 4.0), Model("WN", 0, 1, np.inf)]
    assert keep_best((), models) == (models[1],)


def test_a_bare_mention_does_not_outweigh_a_parameter():
    """Of models within 2 of the best score the one with fewest parameters is chosen; a gain is over the best."""
    best, simple, far = Model("SE*Per + WN", 0, 5, 10.0), Model("SE + WN", 0, 3, 11.9), Model("WN", 0, 1, 12.1)
    kept = keep_best((), [best, far, simple])
    assert kept == (simple, best, far)
    assert Trace("", {}, kept=kept).lowest == 10.0


# -- guards ------------------------------------------------------------------------------------------------------


def test_degenerate_windows_are_refused():
    X = np.linspace(0, 10, 50)[:, None]
    good = "CW(SE + WN, WN, location=5.0, width=2.0, steepness=10.0)"
    assert degenerate(parse(good), X) is None
    assert degenerate(parse(good.replace("steepness=10.0", "steepness=1.0")), X) == "a window softer than it is wide"
    edge = parse(good.replace("location=5.0", "location=9.5"))
    assert degenerate(edge, X) == "a window that reaches the end of the data"


def test_a_drifting_cycle_is_remembered_for_its_period():
    X = np.linspace(0, 10, 50)[:, None]
    kernel = parse("SE(lengthscale=0.5)*Per(period=2.0) + SE(lengthscale=0.5) + WN")
    assert degenerate(kernel, X) == "a cycle that is forgotten before it comes round"
    assert degenerate(parse("SE(lengthscale=2.0)*Per(period=2.0) + SE(lengthscale=0.5) + WN"), X) is None
    comb = parse("SE(lengthscale=2.0)*Per(lengthscale=0.2, period=2.0) + WN")  # no more than a short SE
    assert degenerate(comb, X) == "a cycle that is forgotten before it comes round"
    from fathom.kernels import to_vector
    from fathom.kernels.vector import slots

    low = guarded_space(kernel, X)(to_vector(kernel)).bounds[:, 0]
    first, second = (
        s.start for s in slots(kernel) if (s.parameter.name, s.parameter.unit) == ("lengthscale", "length")
    )
    assert low[first] == pytest.approx(np.log(2.0))
    assert low[second] < np.log(0.5)


def test_a_cycle_comes_round_more_than_once():
    X = np.linspace(0, 9, 50)[:, None]
    kernel = parse("Per(period=6.0) + WN")
    assert degenerate(kernel, X) == "a cycle that comes round only once"
    assert degenerate(parse("Per(period=5.0) + WN"), X) is None
    assert guarded_space(kernel, X)(to_vector(kernel)).bounds[:, 1].max() >= np.log(6.0)


def test_a_start_that_means_nothing_does_not_take_the_others_with_it():
    X, y = planted()
    kernel = parse("SE*Per + Lin + WN")
    problem = Problem(X, y, (np.array([0.5]),), "start")
    sound = to_vector(parse("SE(lengthscale=5.0)*Per(period=0.5) + Lin + WN"))
    once = to_vector(parse("SE(lengthscale=5.0)*Per(period=2.27) + Lin + WN"))
    moved = climbed(problem, Attempt(kernel, 0, (once, sound), (0.0, 0.0)), 0)
    assert len(moved.vectors) == 1
    assert moved.reason is None
    assert moved.vectors[0][3] == pytest.approx(np.log(0.5), abs=0.05)
    alone = climbed(problem, Attempt(kernel, 0, (once,), (0.0,)), 0)
    assert alone.reason == "a cycle that comes round only once"


def test_a_modulating_line_has_its_zero_outside_the_data():
    X = np.linspace(0, 10, 50)[:, None]
    kernel = parse("SE*Lin(location=3.0) + Lin + Lin*Lin")
    assert len(modulating_lines(kernel)) == 1
    from fathom.kernels import to_vector

    _, high = guarded_space(kernel, X)(to_vector(kernel)).bounds[2]
    assert high < 0
    right = parse("SE*Lin(location=8.0) + Lin")
    assert guarded_space(right, X)(to_vector(right)).bounds[2][0] > 10


def test_periods_come_from_the_series_and_from_the_residual():
    x = np.linspace(0, 20, 300)
    pool = period_pool(x, np.sin(2 * np.pi * x), np.sin(2 * np.pi * x / 3.3))
    for period in (1.0, 3.3, 2.0, 6.6):
        assert np.min(np.abs(pool / period - 1)) < 0.02


def test_a_short_smooth_term_does_not_hide_a_cycle():
    """SE×Per offered beside an SE that already follows the cycle: some starts lengthen it."""
    X, _ = planted()
    y = np.sin(2 * np.pi * X[:, 0] / 0.5) + 0.1 * np.random.default_rng(0).standard_normal(len(X))
    parent = parse("SE(variance=1.0, lengthscale=0.1)*Per + WN(variance=0.05)")
    problem = Problem(X, y, (np.array([0.5]),), "short term")
    attempt = begin(problem, Attempt(parent, 0), 60)
    assert attempt.fitted.children[0].children[0].lengthscale > 0.5
    assert criterion(attempt, len(y), "aic") < criterion(attempt, len(y), "bic")
    assert criterion(Attempt(parent, 0, reason="why not"), 9, "bic") == np.inf


@pytest.mark.slow
def test_paths_have_other_seeds_and_the_best_counts(tmp_path):
    X, y = planted(40)
    settings, path = replace(QUICK, depth=1), tmp_path / "t"
    with executor("serial") as pool:
        alone = search(X, y, settings, pool, time_limit=1e6, trace_path=path)
        both = search(X, y, settings, pool, paths=2)
        more = search(X, y, settings, pool, paths=2, trace_path=path)  # the first is done already
        same = search(X, y, settings, Dying(0), paths=2, trace_path=path)  # nothing is begun again
    assert (alone.paths, both.paths) == (1, 2)  # time that is left over is not spent
    assert both.lowest <= alone.lowest
    assert more.kept == both.kept
    assert (same.levels, same.kept) == (more.levels, more.kept)


class Ticking:
    """A clock that goes on by a second at every task."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def pool(self):
        class Slow(Executor):
            def map(pool, task, items, on_done=None, *, shared=None, budget=None):
                def timed(shared, item):
                    self.now += 1.0
                    return task(shared, item)

                return super().map(timed, items, on_done, shared=shared, budget=budget)

        return Slow("serial", 1, None, 0)


def test_a_level_that_is_cut_short_counts_but_is_done_again(tmp_path):
    X, y = planted()
    path, clock = tmp_path / "trace.json", Ticking()
    with executor("serial") as pool:
        whole = search(X, y, QUICK, pool)
    first = whole.levels[1].n_candidates
    limit = Budget.of(first + 6.0, clock)  # six tasks beyond the first stage of the first level
    cut = search(X, y, QUICK, clock.pool(), time_limit=limit, trace_path=path)
    assert clock() <= first + 6
    assert (cut.status, len(cut.levels)) == ("time limit", 2)
    assert cut.best.score < cut.levels[0].best.score
    kept = Trace.from_json(path.read_text())
    assert (kept.status, len(kept.levels)) == ("time limit", 1)
    with executor("serial") as pool:
        resumed = search(X, y, QUICK, pool, trace_path=path)
    assert [m.kernel for m in resumed.kept] == [m.kernel for m in whole.kept]


def test_candidates_without_time_are_told():
    X, y = planted()
    clock = Ticking()
    cut = search(X, y, QUICK, clock.pool(), time_limit=Budget.of(3.0, clock))
    assert clock() <= 3
    assert cut.status == "time limit"
    # a third task might have taken as long as what was left
    assert cut.levels[1].failures == {"there was no time left for it": cut.levels[1].n_candidates - 2}


def test_a_limit_is_for_the_search_and_the_average(monkeypatch):
    """Of ten seconds, one is kept for looking back, and so is what the search leaves over."""
    X, y = planted()
    clock = Ticking()

    class Limited(Budget):
        of = classmethod(lambda cls, seconds: Budget.of(seconds, clock))

    monkeypatch.setattr("fathom.estimators.search.Budget", Limited)
    monkeypatch.setattr("fathom.estimators.search.executor", lambda *_: clock.pool())
    model = fathom.KernelSearch(depth=2, base=("SE", "Lin"), n_jobs=1, random_state=0, time_limit=20.0)
    model.fit(X, y)
    assert model.trace_.status == "time limit"
    assert 16 <= clock() <= 20
    assert sum(member.weight for member in model.members_) == pytest.approx(1)
    assert np.isfinite(model.predict(X)).all()


def test_models_without_time_to_look_back_do_not_forecast():
    X, y = planted(80)
    kernels = [parse(GOOD), parse("SE(lengthscale=0.1) + WN(variance=0.01)")]
    clock = Ticking()
    with executor("serial") as pool:
        alone = members_of(kernels, X, y, pool, Budget.of(0.0, clock))
        some, _ = members_of(kernels, X, y, clock.pool(), Budget.of(1.5, clock))
    assert alone == ([(kernels[0], 1.0, 0, False)], 1.0)
    assert [(m.place, m.persistent, m.weight) for m in some] == [(0, False, 1.0)]


def test_a_path_that_is_cut_short_is_begun_again(tmp_path):
    X, y = planted(40)
    settings, path, clock = replace(QUICK, depth=1), tmp_path / "t", Ticking()
    one = search(X, y, settings, clock.pool(), trace_path=path)
    first = clock()
    both = search(X, y, settings, clock.pool(), paths=2)
    path.unlink()
    cut = search(X, y, settings, clock.pool(), paths=2, time_limit=Budget.of(first + 5, clock), trace_path=path)
    assert (cut.status, cut.paths) == ("time limit", 2)
    written = Trace.from_json(path.read_text())
    assert (written.kept, written.status) == (one.kept, one.status)
    with executor("serial") as pool:
        assert search(X, y, settings, pool, paths=2, trace_path=path).kept == both.kept


# -- forecasting -------------------------------------------------------------------------------------------------


GOOD = "Lin + SE(lengthscale=3.0)*Per(period=0.5) + WN(variance=0.01)"


def test_past_forecasts_decide_the_weights():
    X, y = planted(80)
    bad = parse("SE(lengthscale=0.1) + WN(variance=0.01)")
    with executor("serial") as pool:
        members, caution = members_of([parse(GOOD), bad], X, y, pool)
        short, plain = members_of([parse(GOOD), bad], X[:6], y[:6], pool)
    assert sum(m.weight for m in members) == pytest.approx(1)
    assert members[0].weight > 0.9
    assert [m.place for m in members if not m.persistent] == [0, 1]
    assert [m.place for m in members if m.persistent] == [1]  # nothing in the first forgets
    assert caution >= 1
    np.testing.assert_allclose([m.weight for m in short], 1 / 3)
    assert plain == 1


def test_past_forecasts_have_not_seen_what_they_forecast():
    X, y = planted(80)
    changed = np.where(np.arange(80) >= 72, 5.0, y)
    before, after = past_forecasts(parse(GOOD), X, y), past_forecasts(parse(GOOD), X, changed)
    assert len(before.y) == 24
    np.testing.assert_array_equal(before.mean, after.mean)
    assert not np.array_equal(before.y, after.y)


def test_a_twin_keeps_its_level_where_the_model_forgets():
    rng = np.random.default_rng(0)
    X, y = np.linspace(0, 1, 60)[:, None], np.repeat([0.0, 2.0], 30) + 0.1 * rng.standard_normal(60)
    kernel = parse("SE(variance=1.0, lengthscale=0.1) + WN(variance=0.01)")
    other = learnt_anew(twin(kernel, 1.0), X, y, 40)
    far = np.array([[2.0]])
    assert abs(condition(GP(kernel), X, y).mean(far)[0, 0]) < 0.01
    assert condition(GP(other), X, y).mean(far)[0, 0] == pytest.approx(2.0, abs=0.3)
    assert twin(parse("SE(lengthscale=3.0) + WN"), 1.0) is None  # it will not forget within the data
    assert twin(parse("SE*Per + WN"), 1.0) is None  # it shapes a cycle
    inner = twin(parse("CP(SE(lengthscale=0.1) + WN, SE(lengthscale=0.2) + WN)"), 1.0)
    assert inner.structure() == parse("CP(SE + WN, Matern12 + WN)").structure()  # the slowest


def test_a_model_yields_to_a_twin_that_the_data_prefer():
    rng = np.random.default_rng(3)
    X, y = np.linspace(-1.7, 1.7, 60)[:, None], np.cumsum(rng.standard_normal(60))
    kernel = parse("SE(variance=1.0, lengthscale=0.3) + WN(variance=0.01)")
    with executor("serial") as pool:
        members, _ = members_of([kernel], X, (y - y.mean()) / y.std(), pool)
    assert [(m.place, m.persistent, m.weight) for m in members] == [(0, True, 1.0)]


def test_caution_goes_half_of_the_way_to_past_misses():
    """Half on the scale of logarithms: the square root of the factor that would explain them."""
    rng = np.random.default_rng(1)
    scale = np.sqrt(0.1 + 4.0 * 0.5)  # the function varies four times as much as foretold
    past = Past(scale * rng.standard_normal(4000), np.zeros(4000), np.full(4000, 0.1), np.full(4000, 0.5))
    assert caution_of([past], np.ones(1)) == pytest.approx(2.0, rel=0.05)
    modest = Past(past.y / 10, past.mean, past.noise, past.function)
    assert caution_of([modest], np.ones(1)) == 1.0
    np.testing.assert_allclose(weights_of([past, modest]), [1 / 101, 100 / 101])


@pytest.fixture(scope="module")
def model():
    X, y = planted()
    return fathom.KernelSearch(depth=3, base=("SE", "Lin", "Per", "WN"), n_jobs=1, random_state=0).fit(
        5 + 2 * X, 10 * y
    )


@pytest.mark.slow
def test_the_estimator_predicts_in_the_users_units(model):
    X, y = planted()
    assert model.score(5 + 2 * X, 10 * y) > 0.95
    forecast = model.predict_dist(5 + 2 * X)
    assert forecast.n_components == len(model.members_)
    assert sum(member.weight for member in model.members_) == pytest.approx(1)
    np.testing.assert_allclose(forecast.mean(), model.predict(5 + 2 * X))
    parts = model.components(5 + 2 * X)
    assert "constant" in parts


@pytest.mark.slow
def test_a_found_model_survives_its_file(model, tmp_path):
    fathom.save(model, tmp_path / "m")
    again = fathom.load(tmp_path / "m")
    X = np.linspace(0, 12, 9)[:, None]
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.kernel_ == model.kernel_
    assert again.trace_.best == model.trace_.best


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"variant": "fast"}, "variant must be 'interpretability' or 'accuracy', not 'fast'"),
        ({"criterion": "dic"}, "criterion must be 'bic', 'aic', 'laplace' or 'cv', not 'dic'"),
        ({"depth": 0}, "depth must be an integer of at least 1, not 0"),
        ({"base": ("RBF",)}, "'RBF' is no base kernel of the search"),
        ({"backend": "moon"}, "backend must be 'serial', 'processes', 'dask' or 'ray', not 'moon'"),
    ],
)
def test_what_bad_settings_get(settings, message):
    with pytest.raises(ValueError, match=message):
        fathom.KernelSearch(**{"n_jobs": 1, **settings}).fit(np.arange(9.0)[:, None], np.arange(9.0) % 4)


def test_one_output_only():
    with pytest.raises(ValueError, match="KernelSearch explains one output, y has 2: choose a column"):
        fathom.KernelSearch().fit(np.arange(9.0)[:, None], np.ones((9, 2)))
