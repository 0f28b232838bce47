"""Identities that the facts must satisfy, whatever the data."""

import json
import math
from dataclasses import asdict, replace

import numpy as np
import pytest

import fathom
from fathom.data.dataset import Dataset
from fathom.kernels.algebra import simplify, terms
from fathom.kernels.syntax import parse
from fathom.report.measure.anatomy import Anatomy, factors_of, regions_of
from fathom.report.measure.gather import gather
from fathom.report.measure.selection import folds, held_out, select

X = np.linspace(0.0, 6.0, 37)
Y = 3 + 0.8 * X + np.sin(2 * np.pi * X) + 0.2 * np.cos(17 * X)
SMALL = Dataset(X[:, None], Y, ("t",), ("y",), {}, 0)
KERNEL = (
    "Lin(variance=1, location=3) + Per(variance=1, lengthscale=1, period=1) + SE(lengthscale=2) + WN(variance=0.05)"
)


def fitted(kernel=KERNEL, data=SMALL, mean="constant"):
    return fathom.GPRegressor(kernel, optimise=False, mean=mean).fit(data.X, data.y)


@pytest.fixture(scope="module")
def small():
    model = fitted()
    return model, gather(model, SMALL)


# -- explained variance ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["airline", "several", "small"])
def test_all_parts_with_noise_explain_everything(which, request):
    facts = request.getfixturevalue(which)[-1]
    scores = [c.score for c in facts.components]
    assert scores[-1].r2 == pytest.approx(1.0, abs=1e-9)
    assert np.cumsum([s.delta_r2 for s in scores]) == pytest.approx([s.r2 for s in scores])
    assert sum(s.share for s in scores) == pytest.approx(1.0, abs=1e-9)
    assert scores[-1].tag == "noise"
    assert scores[-1].residual_r2 == pytest.approx(1.0)
    assert facts.explained == pytest.approx(scores[-2].r2)


def test_parts_and_level_sum_to_the_data(airline):
    data, _, facts = airline
    total = facts.level + np.sum([c.at_data.mean for c in facts.components], axis=0)
    assert total == pytest.approx(data.y)
    assert facts.components[-1].at_data.total_mean == pytest.approx(data.y)
    assert max(facts.components[-1].at_data.total_sd) < 1e-3 * facts.setting.spread


def test_curves_agree_with_the_model(airline):
    _, model, facts = airline
    last = facts.components[-1].curve
    predictive = model.predict_dist(np.array(last.x)[:, None])
    assert last.total_mean == pytest.approx(predictive.mean())
    assert last.total_sd == pytest.approx(predictive.std())
    axis = facts.setting.axes[0]
    assert last.x[0] == axis.low
    assert last.x[-1] == pytest.approx(axis.high + 0.1 * axis.span)
    parts = model.components(np.array(last.x)[:, None])
    for c in facts.components:
        assert c.curve.mean == pytest.approx(parts[c.structure].mean(), abs=1e-6)
        assert c.curve.sd == pytest.approx(parts[c.structure].std(), abs=1e-4)


def test_the_horizon_is_where_curves_end(small):
    model, _ = small
    facts = gather(model, SMALL, horizon=9.0)
    assert facts.components[0].curve.x[-1] == 9.0
    assert facts.forecast.end.at == pytest.approx(9.0)
    with pytest.raises(ValueError, match="horizon 2 lies before the last observation, 6"):
        gather(model, SMALL, horizon=2.0)


# -- selection ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mean", ["constant", "zero"])
def test_held_out_predictions_are_those_of_explicit_matrices(mean):
    model = fitted(mean=mean)
    anatomy = Anatomy(model)
    blocks = folds(len(X), X)
    found = held_out(anatomy, blocks)
    posterior = model.posterior_
    residual = (posterior.Y - posterior.prior.mean(posterior.X))[:, 0]
    C = posterior.kernel.gram(posterior.X)
    for i, part in enumerate(anatomy.parts):
        K = part.cross(posterior.X, posterior.X)
        for block in blocks:
            rest = np.setdiff1d(np.arange(len(X)), block)
            expected = K[np.ix_(block, rest)] @ np.linalg.solve(C[np.ix_(rest, rest)], residual[rest])
            assert found[i, block] == pytest.approx(expected * anatomy.y_sd, abs=1e-8)


def test_the_table_of_errors(small):
    model, facts = small
    anatomy = Anatomy(model)
    found = held_out(anatomy, folds(len(X), X))
    names = [simplify(anatomy.user(part)).name for part in anatomy.parts]
    total, before, rest = np.zeros(len(X)), facts.baseline_mae, set(range(len(names)))
    assert before == pytest.approx(np.mean(np.abs(Y - facts.level - elsewhere(found, rest))))
    for c in facts.components:
        total = total + found[names.index(c.structure)]
        rest = rest - {names.index(c.structure)}
        assert c.before == pytest.approx(before)
        assert c.score.mae == pytest.approx(np.mean(np.abs(Y - facts.level - total - elsewhere(found, rest))))
        assert c.score.mae_reduction == pytest.approx(1 - c.score.mae / before)
        assert c.score.gain == pytest.approx((before - c.score.mae) / facts.baseline_mae)
        before = c.score.mae
    assert facts.foreseen == pytest.approx(1 - before / facts.baseline_mae)


def elsewhere(predicted, parts):
    """The mean of what some parts predict over all rows but those of the block, for each row."""
    found = np.zeros(len(X))
    for block in folds(len(X), X):
        others = np.setdiff1d(np.arange(len(X)), block)
        found[block] = sum(predicted[i][others].mean() for i in parts)
    return found


def test_the_level_of_a_model_does_not_make_its_parts_look_better():
    """A line about a far-off place has a level far from the data: what it is worth is measured against their mean."""
    near, far = (f"Lin(variance=1, location={at}) + WN(variance=0.1)" for at in (3, 300))
    scores = [gather(fitted(kernel), SMALL).components[0].score for kernel in (near, far)]
    assert scores[0].gain == pytest.approx(scores[1].gain, abs=0.02)
    assert 0 < scores[1].gain < 1


def test_the_order_is_greedy_and_does_not_depend_on_that_of_the_kernel(small):
    _, facts = small
    other = gather(fitted(" + ".join(KERNEL.split(" + ")[::-1])), SMALL)
    assert [c.structure for c in other.components] == [c.structure for c in facts.components]
    assert gather(fitted(), SMALL) == facts
    anatomy = Anatomy(fitted())
    means = [anatomy.at_data([i])[0] for i in range(len(anatomy.parts))]
    predicted = held_out(anatomy, folds(len(X), X))
    errors = [
        np.mean(np.abs(Y - anatomy.level - predicted[i] - elsewhere(predicted, {0, 1, 2} - {i}))) for i in range(3)
    ]
    assert select(anatomy, means, X).order[0] == int(np.argmin(errors))
    assert facts.components[-1].head == "noise"


def test_folds_are_blocks_in_time_and_random_otherwise():
    blocks = folds(25, np.arange(25.0)[::-1])
    assert [len(b) for b in blocks] == [3] * 5 + [2] * 5
    assert all(np.ptp(b) == len(b) - 1 for b in blocks)
    shuffled = folds(25, None)
    assert sorted(np.concatenate(shuffled)) == list(range(25))
    assert any(np.ptp(b) > len(b) - 1 for b in shuffled)
    assert len(folds(4, None)) == 4


def test_a_useless_part_is_doubtful_and_a_flicker_does_not_predict():
    kernel = "SE(lengthscale=2) + C(variance=1e-9) + SE(variance=0.05, lengthscale=0.05) + WN(variance=0.01)"
    tags = {c.structure: c.score.tag for c in gather(fitted(kernel), SMALL).components}
    assert tags["C"] == "doubtful"
    assert tags["WN"] == "noise"
    lengths = [c for c in gather(fitted(kernel), SMALL).components if c.structure == "SE"]
    assert lengths[-1].score.tag == "explains but does not predict"


# -- regions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel",
    [
        "CP(SE, Lin, location=3, steepness=900)",
        "CW(SE, Lin, location=3, width=2, steepness=900)",
        "CP(CW(SE, Lin, location=2, width=1, steepness=900), Per, location=4, steepness=900)",
        "CW(CP(SE, Lin, location=3, steepness=900), Per, location=3.2, width=2, steepness=900)",
        "CP(CP(SE, Lin, location=4, steepness=900), Per, location=2, steepness=900)",
        "CW(CW(SE, Lin, location=3, width=4, steepness=900), Per, location=3, width=1, steepness=900)",
    ],
)
def test_regions_are_where_the_weights_are_one(kernel):
    grid = np.linspace(-1, 7, 801) + 0.003
    for part in terms(simplify(parse(kernel))):
        weight = np.ones(len(grid))
        for leaf in part.children or (part,):
            if leaf.name in ("Before", "After", "Inside", "Outside"):
                weight = weight * leaf.weight(grid, np)
        (region,) = regions_of(factors_of(part))
        assert [region.holds(x) for x in grid] == list(weight > 0.5)
        edges = [e for i in region.intervals for e in (i.low, i.high) if e]
        assert all(e.width == pytest.approx(math.log(9) / 900) for e in edges)


def test_edges_outside_the_data_are_open():
    (region,) = regions_of(factors_of(parse("SE*Outside(location=3, width=2)*After(location=-5)")))
    assert [i.ends for i in region.intervals] == [(-5.0, 2.0), (4.0, math.inf)]
    assert [i.ends for i in region.within(0, 3.5).intervals] == [(-math.inf, 2.0)]


# -- shapes and estimates ----------------------------------------------------------------------------------------


def test_shapes(small):
    _, facts = small
    shapes = {c.head: c.shape for c in facts.components}
    assert shapes["line"].monotone == 1
    assert shapes["line"].slope == pytest.approx(shapes["line"].change / 6)
    assert shapes["line"].half_at == pytest.approx(3.0)
    assert shapes["cycle"].cycle.period == pytest.approx(1.0)
    course, ring = shapes["cycle"].course, shapes["cycle"].cycle
    assert course.way == "steady"
    assert course.first == course.last == pytest.approx(2 * np.sin(np.pi / 3), rel=0.1)  # at six steps a cycle
    assert np.min(np.abs(X - ring.peak)) < 1e-9
    assert ring.peak % 1 == pytest.approx(0.25, abs=1 / 12 + 1e-6)
    assert ring.trough % 1 == pytest.approx(0.75, abs=1 / 12 + 1e-6)
    assert shapes["noise"].size == pytest.approx(math.sqrt(0.05))


def test_growth_of_noise():
    kernel = "SE(lengthscale=2) + WN(variance=0.01)*Lin(location=-2)"
    noise = gather(fitted(kernel), SMALL).components[-1]
    assert noise.growths[0].direction == "growing"
    assert noise.shape.course.way == "growing"
    sd = 0.1 * (X + 2)
    thirds = [np.sqrt(np.mean(sd[part] ** 2)) for part in (slice(0, 12), slice(-12, None))]
    left = np.sqrt(np.mean(np.square(noise.at_data.mean)) / np.mean(sd**2))
    assert (noise.shape.course.first, noise.shape.course.last) == pytest.approx(np.multiply(thirds, max(left, 1)))


def test_estimates_know_what_the_data_determine(airline):
    facts = airline[2]
    cycle = next(c for c in facts.components if c.head == "cycle")
    period = cycle.estimate(cycle.of_kind("Per")[0], "period")
    assert period.determined
    assert period.low < 1.0 + 2e-3
    assert period.high > 1.0
    assert period.high - period.low < 0.01
    line = next(c for c in facts.components if c.head == "line")
    assert line.estimate(0, "location").determined is False  # a constant mean makes up for any of it
    for c in facts.components:
        for e in c.estimates:
            assert e.low is None or e.low <= e.value <= e.high


def test_estimates_match_the_curvature_of_one_parameter():
    """Noise alone, zero mean: the evidence of log σ² has curvature N/2 at its maximum."""
    y = np.random.default_rng(1).standard_normal(200)
    data = Dataset(np.arange(200.0)[:, None], y - y.mean(), ("t",), ("y",), {}, 0)
    model = fathom.GPRegressor("WN", mean="zero", random_state=0, n_restarts=1).fit(data.X, data.y)
    (e,) = gather(model, data).components[0].estimates
    assert e.value == pytest.approx(np.var(y), rel=1e-4)
    assert math.log(e.high / e.low) == pytest.approx(2 * 1.645 / math.sqrt(100), rel=0.01)


def test_a_model_away_from_its_optimum_has_no_intervals():
    model = fitted("SE(variance=1e4, lengthscale=0.5) + WN(variance=100)")
    found = [e for c in gather(model, SMALL).components for e in c.estimates]
    assert any(e.determined is None for e in found)


# -- several inputs ----------------------------------------------------------------------------------------------


def test_inputs_and_interactions(several):
    facts = several[2]
    by_input = {e.input: e for e in facts.effects}
    assert [c.inputs for c in facts.components if c.head == "noise"] == [()]
    assert {c.inputs for c in facts.components} == {(0,), (1,), (0, 1), (2,), ()}
    assert sum(o.share for o in facts.orders) == pytest.approx(1.0)
    assert [o.order for o in facts.orders] == [1, 2]
    assert by_input[2].total < 0.005 < by_input[1].total
    assert by_input[1].monotone == -1
    assert by_input[0].monotone == 1
    assert by_input[0].half_at < 3.5  # the rise is steepest at first
    assert facts.forecast is None
    joint = next(c for c in facts.components if c.inputs == (0, 1))
    assert joint.shape is None
    assert np.shape(joint.surface.mean) == (25, 25)


def test_an_input_alone_has_the_share_of_its_variance():
    """With additive parts and independent inputs, the total share is that of the variances."""
    rng = np.random.default_rng(0)
    inputs = rng.uniform(-1, 1, (150, 2))
    data = Dataset(inputs, 3 * inputs[:, 0] + inputs[:, 1], ("a", "b"), ("y",))
    model = fathom.GPRegressor("Lin[0] + Lin[1] + WN(variance=1e-4)", optimise=False).fit(data.X, data.y)
    shares = {e.input: e.total for e in gather(model, data).effects}
    assert shares[0] == pytest.approx(0.9, abs=0.08)
    assert shares[1] == pytest.approx(0.1, abs=0.03)


# -- JSON and trouble --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["airline", "several"])
def test_facts_are_plain_and_finite_values(which, request):
    facts = request.getfixturevalue(which)[-1]
    stored = json.loads(json.dumps(asdict(facts), allow_nan=False))
    assert stored["level"] == facts.level
    assert [c["at_data"]["mean"] for c in stored["components"]] == [list(c.at_data.mean) for c in facts.components]


def test_several_targets_and_foreign_data_are_refused():
    both = fathom.GPRegressor("SE", optimise=False).fit(X[:, None], np.column_stack([Y, -Y]))
    with pytest.raises(ValueError, match="one target"):
        gather(both, SMALL)
    wide = Dataset(np.column_stack([X, X]), Y, ("a", "b"), ("y",))
    with pytest.raises(ValueError, match="1 inputs and the data set 2"):
        gather(fitted(), wide)


def test_constant_data_and_few_rows():
    flat = replace(SMALL, y=np.full(len(X), 7.0))
    facts = gather(fitted(data=flat), flat)
    assert facts.level == pytest.approx(7.0)
    assert all(np.isfinite([c.score.r2, c.score.mae]).all() for c in facts.components)
    few = SMALL.rows(slice(0, 3))
    assert len(gather(fitted(data=few), few).components) == 4
