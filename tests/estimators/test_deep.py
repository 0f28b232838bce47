"""The sparse and deep estimators: faces of scikit-learn, limits in which they agree, files, messages."""

import copy
import dataclasses
import functools
import json
import pickle
import re
import zipfile

import numpy as np
import pytest
from safetensors.numpy import load as unpacked
from safetensors.numpy import save as packed

import fathom
from fathom import DeepGPClassifier, DeepGPRegressor, GPRegressor, SparseGPRegressor, metrics
from fathom.deep.predict import AS_LEARNT
from fathom.estimators.modelfile import ModelFileError
from fathom.inference import DGPS, DSPP, DSVI, ODSVGP, PEP, SEP, SVGP, Gamma, Training, method

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 2))
y = 10 + 5 * np.sin(2 * X[:, 0]) + 0.3 * RNG.standard_normal(120)
SMALL = {"n_inducing": 8, "n_steps": 60, "batch_size": 40, "random_state": 0}
REGRESSORS = {
    **{name: (SparseGPRegressor, {}) for name in ("fitc", "vfe", "pep", "svgp", "odsvgp", "ppgpr")},
    **{name: (DeepGPRegressor, {"widths": (2,)}) for name in ("dsvi", "gamma", "dspp", "sep")},
    # two inputs through one unit: about half of the starts come to nothing
    "sampling": (DeepGPRegressor, {"widths": (1,), "n_restarts": 6, "n_steps": 120}),
}


def split(name, settings):
    """Parameters of an estimator, from a flat list: options go to the method, those of training to `Training`."""
    kind = method(name)
    own, trained = (
        {k: settings.pop(k) for k in list(settings) if k in of} for of in (options(kind), options(Training))
    )
    trained = {k: v for k, v in trained.items() if k in kind.uses}
    return settings | {"inference": kind(**own) if own else name, "training": Training(**trained)}


def options(kind):
    return kind().get_params()


def make(name, **settings):
    kind, own = REGRESSORS[name]
    extra = {"n_mean": 12} if name == "odsvgp" else {}
    return kind(**split(name, SMALL | own | extra | settings))


def classifier(name, **settings):
    return DeepGPClassifier(**split(name, SMALL | settings))


@pytest.fixture(scope="module")
def fitted():
    known = {}

    def of(name):
        if name not in known:
            known[name] = make(name).fit(X[:100], y[:100])
        return known[name]

    return of


@pytest.mark.slow
@pytest.mark.parametrize("name", REGRESSORS)
def test_learns_in_the_units_of_the_user(fitted, name, tmp_path):
    model = fitted(name)
    predictive = model.predict_dist(X[100:])
    assert metrics.rmse(predictive, y[100:]) < 0.5 * y.std()
    assert metrics.coverage(predictive, y[100:]) > 0.7
    function = model.predict_dist(X[100:], observed=False)
    assert np.all(function.var() < predictive.var())
    mean, std = model.predict(X[100:], return_std=True)
    assert np.array_equal(mean, model.predict(X[100:]))
    assert np.allclose(std, predictive.std())
    fathom.save(model, tmp_path / "m.fathom")
    again = fathom.load(tmp_path / "m.fathom")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.get_params(deep=False)["inference"] is name or repr(again.inference) == repr(model.inference)
    assert repr(again.training) == repr(model.training)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["svgp", "dspp"])
def test_the_seed_decides(fitted, name):
    same, other = (make(name, random_state=seed).fit(X[:100], y[:100]).predict(X) for seed in (0, 1))
    assert np.array_equal(same, fitted(name).predict(X))
    assert not np.allclose(other, same, rtol=1e-4)


@pytest.mark.parametrize("a", [0.0, 0.5, 1.0])
def test_with_all_rows_as_inducing_points_it_is_the_exact_gp(a):
    """Noise and kernel fixed by hand: what a fit of either would have to agree on."""
    from fathom.gp.exact import GP, condition
    from fathom.kernels import parse
    from fathom.sparse.collapsed import condition_sparsely

    prior = GP(parse("SE(lengthscale=[0.7, 1.1]) + WN(variance=0.2)"))
    exact, sparse = condition(prior, X, y), condition_sparsely(prior, X, y, X, a)
    new = X[:20] + 0.2
    assert np.allclose(sparse.mean(new), exact.mean(new), atol=1e-5)
    assert np.allclose(sparse.var(new), exact.var(new), atol=1e-5)


@pytest.mark.slow
def test_vfe_with_many_points_comes_near_the_exact_fit():
    exact = GPRegressor("SE", n_restarts=2, random_state=0).fit(X[:100], y[:100])
    sparse = SparseGPRegressor("vfe", n_inducing=40, random_state=0).fit(X[:100], y[:100])
    assert np.allclose(sparse.predict(X[100:]), exact.predict(X[100:]), atol=0.3)


@pytest.mark.slow
def test_a_deep_gp_without_hidden_layers_is_svgp():
    deep = make("dsvi", widths=()).fit(X, y)
    sparse = make("svgp").fit(X, y)
    assert np.array_equal(deep.predict(X), sparse.predict(X))


@pytest.mark.slow
def test_several_outputs_with_missing_ones():
    Y = np.column_stack([y, -2 * y + 0.1 * RNG.standard_normal(120), X[:, 1]])
    Y[::5, 1] = np.nan
    for name in ("svgp", "dspp"):
        model = make(name, n_steps=150).fit(X[:100], Y[:100])
        predictive = model.predict_dist(X[100:])
        assert predictive.shape == (20, 3)
        assert metrics.rmse(predictive, Y[100:]) < np.nanstd(Y)
        assert model.model_.likelihood.mixing.shape == (3, 3)


def test_partial_fit_goes_on():
    model = make("svgp").partial_fit(X[:60], y[:60])
    before = metrics.rmse(model.predict_dist(X[100:]), y[100:])
    model.partial_fit(X[60:100], y[60:100])
    assert model.n_seen_ == 100
    assert len(model.history_) > 2
    assert metrics.rmse(model.predict_dist(X[100:]), y[100:]) < before + 0.5


def test_partial_fit_is_offered_where_it_works():
    assert hasattr(make("svgp"), "partial_fit")
    assert not hasattr(make("vfe"), "partial_fit")
    with pytest.raises(AttributeError, match="no attribute 'partial_fit'") as told:
        make("vfe").partial_fit(X, y)
    assert "'vfe' sees all rows at once: use 'svgp' for partial_fit" in str(told.value.__cause__)


@pytest.mark.slow
def test_classes():
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [8, 12])]
    for inference, truth, widths in (("dspp", labels, (2,)), ("dsvi", labels, ()), ("dspp", y > 10, ())):
        model = classifier(inference, n_steps=150, widths=widths).fit(X, truth)
        assert model.score(X, truth) > 0.85
        assert np.allclose(model.predict_proba(X[:3]).sum(1), 1)


@pytest.mark.slow
@pytest.mark.parametrize("inference", ["sampling", "sep"])
def test_classes_by_the_other_methods(inference):
    own = {"n_restarts": 2} if inference == "sampling" else {}
    model = classifier(inference, widths=(1,), n_steps=150, **own).fit(X, y > 10)
    assert model.score(X, y > 10) > 0.85
    chances = model.predict_proba(X)[:, 1]
    assert chances[y > 13].mean() > 0.8 > 0.2 > chances[y < 7].mean()


def test_a_classifier_in_a_file(tmp_path):
    model = classifier("dspp", widths=()).fit(X, np.where(y > 10, "up", "down"))
    fathom.save(model, tmp_path / "c.fathom")
    again = fathom.load(tmp_path / "c.fathom")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert list(again.classes_) == ["down", "up"]


def with_arrays(path, changes, **described):
    """The model file with other arrays, and other entries of its description."""
    with zipfile.ZipFile(path) as archive:
        description, arrays = json.loads(archive.read("model.json")), unpacked(archive.read("arrays.safetensors"))
    for place, value in described.items():
        *way, last = place.split("__")
        functools.reduce(dict.__getitem__, way, description)[last] = value
    damaged = path.with_name("damaged.fathom")
    with zipfile.ZipFile(damaged, "w") as archive:
        archive.writestr("model.json", json.dumps(description))
        archive.writestr("arrays.safetensors", packed(arrays | {k: change(arrays[k]) for k, change in changes.items()}))
    return damaged


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "described", "message"),
    [
        ({"model.0": lambda a: a + 1e5}, {}, "the model answers with NaN or infinity"),
        ({"model.0": lambda a: a[:, :1]}, {}, "the shapes of the arrays of layer 1 do not fit together"),
        ({"model.1": lambda a: a[:, :4]}, {}, "the shapes of the arrays of layer 1 do not fit together"),
        ({"model.1": lambda a: a[0]}, {}, "the shapes of the arrays of layer 1 do not fit together"),
        ({"model.2": lambda a: a.astype(float) * 1e300}, {}, "its numbers are too large for its precision"),
        ({}, {"classes": ["up"]}, "'classes' must be a list of two or more different labels"),
        ({}, {"classes": ["up", "down", "no"]}, "CheckpointError: array model.5 is missing"),
        ({}, {"learnt__scales": [[0.0, 1.0]]}, "'scales' must be pairs of a positive factor and its share"),
        ({}, {"learnt__weights": [-1.0]}, "'weights' must be shares of models"),
        ({}, {"inference__name": "vfe"}, "its inference must be one of dsvi, dspp, sampling, sep, not 'vfe'"),
        ({}, {"params__widths": [10**9]}, "'widths' ask for more than the "),
        ({}, {"params__n_inducing": "many"}, "'n_inducing' must be a whole number, not 'many'"),
        ({}, {"last": [1.0]}, "'last' has 1 numbers, not 2"),
    ],
)
def test_a_damaged_classifier_is_refused(tmp_path, saved_classifier, changes, described, message):
    with pytest.raises(ModelFileError, match=re.escape(f"is damaged: {message}")):
        fathom.load(with_arrays(saved_classifier, changes, **described))


@pytest.fixture(scope="module")
def saved_classifier(tmp_path_factory):
    path = tmp_path_factory.mktemp("classifier") / "c.fathom"
    fathom.save(classifier("dspp", widths=(), n_steps=2).fit(X, y > 10), path)
    return path


@pytest.mark.slow
def test_a_damaged_sparse_model_is_refused(tmp_path):
    path = tmp_path / "m.fathom"
    fathom.save(make("vfe", n_steps=1).fit(X[:30], y[:30]), path)
    for changes, described, message in (
        ({"inner": lambda a: a[:3]}, {}, "array 'inner' has shape (3, 8), not (8, 8)"),
        ({"inner": np.zeros_like}, {}, "LinAlgError: singular matrix"),
        ({}, {"scaler__y_mean": [1.0, 2.0], "scaler__y_sd": [1.0, 2.0]}, "the scaling is that of 2 outputs"),
        ({}, {"learnt__history": [1]}, "each of 'history' must be an object, not 1"),
    ):
        with pytest.raises(ModelFileError, match=re.escape(f"is damaged: {message}")):
            fathom.load(with_arrays(path, changes, **described))


@pytest.mark.slow
def test_a_network_in_front():
    model = make("svgp", features="dkl-small", n_steps=100).fit(X, y)
    assert model.score(X, y) > 0.7
    import equinox as eqx
    import jax

    own = eqx.nn.Linear(2, 2, key=jax.random.key(0))
    model = make("svgp", features=own).fit(X, y)
    assert model.score(X, y) > 0.7
    with pytest.raises(ValueError, match="a feature extractor of your own cannot be saved"):
        model.to_state()


@pytest.mark.slow
def test_a_network_is_stopped_by_held_out_rows():
    by_heart = {"features": "dkl", "validation_fraction": None, "n_steps": 10}
    model = make("dsvi", **by_heart).fit(X, y)
    assert model.history_[-1]["validation NLL"] is not None
    assert model.learnt_.scales != AS_LEARNT
    assert make("dsvi", n_steps=10).fit(X, y).history_[-1]["validation NLL"] is None


@pytest.mark.slow
def test_few_valued_targets_are_said():
    grades = np.round(y / 3)
    model = make("dspp").fit(X, grades)
    n = len(np.unique(grades))
    assert model.notes_[0] == f"the target takes only {n} values: a density flatters spikes on them, compare by CRPS"
    assert np.isfinite(metrics.nll(model.predict_dist(X), grades))


@pytest.mark.slow
def test_a_layer_narrower_than_the_outputs_is_said():
    three = np.column_stack([y, -y, X[:, 1]])
    short = {"n_steps": 10, "validation_fraction": 0.0}
    said = "3 outputs must pass through 1 hidden unit: widths=(3,) or input_connected=True may fit better"
    assert make("dsvi", widths=(1,), **short).fit(X, three).notes_ == [said]
    assert make("dsvi", widths=(3,), **short).fit(X, three).notes_ == []
    assert make("dsvi", widths=(1,), input_connected=True, **short).fit(X, three).notes_ == []


@pytest.mark.slow
def test_sampling_on_minibatches_and_as_the_thesis_prints_it(monkeypatch):
    by_adam = make("sampling", optimizer="adam", n_steps=60).fit(X, y)
    assert [entry["step"] for entry in by_adam.history_][-1] == 60
    monkeypatch.setattr("fathom.inference.dgps.CLIMBED", 8 * (3 + 2) * len(X) - 1)  # one less than its work
    by_itself = make("sampling", n_steps=60).fit(X, y)
    assert np.array_equal(by_itself.predict(X), by_adam.predict(X))
    joint = make("sampling", estimator="joint", prior="density", mean="zero", n_samples=3).fit(X, y)
    assert np.all(np.isfinite(joint.predict(X)))


@pytest.mark.slow
def test_sep_may_end_with_explicit_sweeps(fitted):
    plain, swept = fitted("sep"), make("sep", n_sweeps=1).fit(X[:100], y[:100])
    assert np.array_equal(plain.model_.layers[0].Z, swept.model_.layers[0].Z)
    assert not np.array_equal(plain.predict(X), swept.predict(X))
    assert metrics.rmse(swept.predict_dist(X), y) < 0.5 * y.std()


@pytest.mark.slow
def test_widths_may_be_chosen_by_held_out_rows(monkeypatch, tmp_path):
    from fathom.inference import widths

    monkeypatch.setattr(widths, "candidates", lambda d, p: [(), (2,)])
    model = make("dsvi", widths="auto").fit(X, y)
    tried = dict(model.widths_scores_)
    assert model.widths_ == min(tried, key=tried.get)
    assert model.model_.widths == model.widths_
    assert model.notes_[0].startswith(f"widths {list(model.widths_)} chosen by held-out NLL ([]: ")
    fathom.save(model, tmp_path / "auto.fathom")
    again = fathom.load(tmp_path / "auto.fathom")
    assert again.widths == model.widths_
    assert np.array_equal(again.predict(X), model.predict(X))


@pytest.mark.slow
def test_a_file_keeps_the_widths_that_were_chosen(tmp_path, monkeypatch):
    from fathom.inference import widths

    monkeypatch.setattr(widths, "candidates", lambda d, p: [(2,)])
    model = make("dsvi", widths="auto").fit(X, y)
    fathom.save(model, tmp_path / "auto.fathom")
    assert np.array_equal(fathom.load(tmp_path / "auto.fathom").predict(X), model.predict(X))


def test_candidates_for_widths():
    from fathom.inference.widths import candidates

    assert candidates(1) == [(), (1,), (2,), (1, 1)]
    assert candidates(8) == [(), (3,), (5,), (3, 3)]
    assert candidates(21, 7) == [(), (7,), (9,), (7, 7)]


def parts_of(model):
    """The models that are averaged, each alone."""
    for part in model.models_:
        alone = copy.copy(model)
        alone.learnt_ = dataclasses.replace(model.learnt_, models=[part], weights=[1.0])
        yield alone


@pytest.mark.slow
def test_predictions_of_sampling_average_its_best_starts(tmp_path):
    model = make("sampling", widths=(), n_restarts=4, n_steps=10).fit(X, y)
    assert len(model.models_) > 1
    assert model.model_ is model.models_[0]
    assert np.isclose(sum(model.weights_), 1)
    assert model.weights_ == sorted(model.weights_, reverse=True)
    densities = [np.exp(alone.predict_dist(X).log_prob(y)) for alone in parts_of(model)]
    assert np.allclose(np.log(np.dot(model.weights_, densities)), model.predict_dist(X).log_prob(y))
    fathom.save(model, tmp_path / "m.fathom")
    again = fathom.load(tmp_path / "m.fathom")
    assert again.weights_ == model.weights_
    assert np.array_equal(again.predict_dist(X).log_prob(y), model.predict_dist(X).log_prob(y))
    assert len(model.partial_fit(X[:20], y[:20]).models_) == 1  # the best goes on


@pytest.mark.slow
def test_chances_are_averaged():
    model = classifier("sampling", widths=(), n_restarts=4, n_steps=5).fit(X, y > 10)
    assert len(model.models_) > 1
    chances = [alone.predict_proba(X) for alone in parts_of(model)]
    assert np.allclose(np.einsum("k,knc->nc", model.weights_, chances), model.predict_proba(X))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sampling", "sep", "dspp"])
def test_drawn_functions_scatter_as_the_predictive_says(fitted, name):
    drawn = fitted(name).sample_functions(X[:3], 400, seed=1)
    predictive = fitted(name).predict_dist(X[:3], observed=False)
    assert drawn.shape == (400, 3)
    assert np.allclose(drawn.mean(0), predictive.mean(), atol=0.8)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sampling", "sep", "dsvi"])
def test_picture_of_the_layers(name, tmp_path):
    from fathom import plotting

    few = {"widths": (1,), "n_restarts": 1} if name == "sampling" else {"widths": (2,)}
    model = make(name, n_steps=10, **few).fit(X[:, :1], y)
    figure = plotting.layers(model, X[:, :1], y, n_draws=3)
    assert len(figure.axes) == 1 + sum(layer.width for layer in model.model_.layers)
    plotting.save(figure, tmp_path / "layers.svg")
    assert "A deep GP by" in (tmp_path / "layers.svg").read_text()
    with pytest.raises(ValueError, match="layers: give both X and y, or neither"):
        plotting.layers(model, X[:, :1])


def test_beta_by_held_out_rows_and_refit():
    model = make("ppgpr", beta="cv", validation_fraction=0.2, refit=True).fit(X, y)
    assert model.learnt_.beta in (0.05, 0.2, 1.0)
    assert model.history_[0]["validation NLL"] is not None


@pytest.mark.slow
def test_kernels_of_the_language_in_every_layer():
    model = make("dspp", kernel=("SE + Lin", "Matern32*SE"), n_steps=20).fit(X, y)
    assert model.kernels_ == ["SE + Lin", "Matern32*SE"] or model.kernels_[1].count("SE") == 1
    assert np.all(np.isfinite(model.predict(X)))


@pytest.mark.slow
def test_pickled_arrays_keep_their_precision():
    """Unpickled outside of the context that computes in double precision, JAX would cut them to single."""
    model = make("dsvi", dtype="float64", n_steps=20).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert again.model_.layers[0].Z.dtype == np.float64
    assert np.array_equal(again.predict(X), model.predict(X))


@pytest.mark.slow
def test_double_precision_leaves_the_configuration_alone():
    import jax

    model = make("dsvi", dtype="float64", n_steps=20).fit(X, y)
    assert model.model_.layers[0].Z.dtype == np.float64
    assert not jax.config.jax_enable_x64


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"inference": "magic"}, "inference must be one of dsvi, gamma, dspp, sampling, sep, sequential, not 'magic'"),
        ({"dtype": "float16"}, "dtype must be None, 'float32' or 'float64', not 'float16'"),
        ({"mean": "cubic"}, "mean must be 'linear' or 'zero', not 'cubic'"),
        ({"widths": (0,)}, "widths must be 'auto' or a tuple of integers of at least 1, not (0,)"),
        ({"widths": "many"}, "widths must be 'auto' or a tuple of integers of at least 1, not 'many'"),
        ({"n_inducing": 0}, "n_inducing must be None or an integer of at least 1, not 0"),
        ({"training": Training(n_steps=0)}, "n_steps must be None or an integer of at least 1, not 0"),
        ({"training": Training(batch_size=0)}, "batch_size must be an integer of at least 1, not 0"),
        (
            {"training": Training(validation_fraction=1.0)},
            "validation_fraction must be None or a number of at least 0 and below 1, not 1.0",
        ),
        ({"training": Training(learning_rate=np.nan)}, "learning_rate must be None or a number above 0, not nan"),
        ({"training": {"n_steps": 5}}, "training must be None or a Training, not {'n_steps': 5}"),
        ({"inference": 3}, "inference must be text or an Inference, not 3"),
        ({"kernel": ("SE", 3)}, "kernel must be None, text, a Kernel or a tuple of them, not ('SE', 3)"),
        ({"features": "resnet"}, "features must be None, a module or one of dkl, dkl-small, not 'resnet'"),
        ({"kernel": ("SE", "SE", "SE")}, "3 kernels for 2 layers: give one, or one for each layer"),
        ({"inference": SVGP()}, "inference='svgp' has no hidden layers: use widths=(), or SparseGPRegressor"),
        ({"inference": DSPP("qr9")}, "quadrature must be 'qr1', 'qr2', 'qr3' or 'gauss-hermite', not 'qr9'"),
        (
            {"inference": DSPP("qr1"), "widths": (20,)},
            "n_quadrature=3 with quadrature='qr1' and widths (20,) makes too many points",
        ),
        ({"inference": DSPP(n_quadrature=0)}, "n_quadrature must be None or an integer of at least 1, not 0"),
        ({"inference": DSPP(beta="most")}, "beta must be 'cv' or a number of at least 0, not 'most'"),
        ({"inference": DSVI(n_samples=0)}, "n_samples must be an integer of at least 1, not 0"),
        ({"inference": Gamma(gamma=1.0)}, "gamma must be a number above 1, not 1.0"),
        ({"inference": SEP(power=0.0)}, "power must be a number above 0 and at most 1, not 0.0"),
        ({"inference": SEP(n_sweeps=-1)}, "n_sweeps must be an integer of at least 0, not -1"),
        ({"inference": DGPS(n_samples=0)}, "n_samples must be an integer of at least 1, not 0"),
        ({"inference": DGPS(n_restarts=0)}, "n_restarts must be an integer of at least 1, not 0"),
        ({"inference": DGPS(optimizer="sgd")}, "optimizer must be None, 'lbfgs' or 'adam', not 'sgd'"),
        ({"inference": DGPS(estimator="best")}, "estimator must be 'factorised' or 'joint', not 'best'"),
        ({"inference": DGPS(prior="flat")}, "prior must be 'whitened' or 'density', not 'flat'"),
        ({"inference": DGPS(posterior="sure")}, "posterior must be 'laplace' or 'point', not 'sure'"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the whole message is compared)
        DeepGPRegressor(**({"n_inducing": 8, "random_state": 0} | settings)).fit(X, y)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"inference": ODSVGP(n_mean=0)}, "n_mean must be an integer of at least 1, not 0"),
        ({"inference": PEP(power=2)}, "power must be a number of at least 0 and at most 1, not 2"),
        (
            {"inference": "vfe", "training": Training(batch_size=10)},
            "batch_size means nothing to 'vfe'; it knows n_steps",
        ),
        (
            {"inference": "fitc", "dtype": "float32"},
            "dtype 'float32' means nothing to 'fitc', which computes in float64",
        ),
        ({"inference": "vfe", "features": "dkl"}, "inference='vfe' takes no feature extractor: use 'svgp'"),
        ({"inference": "dspp"}, "inference must be one of fitc, vfe, pep, svgp, odsvgp, ppgpr, not 'dspp'"),
    ],
)
def test_wrong_settings_of_one_layer_are_named(settings, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the whole message is compared)
        SparseGPRegressor(n_inducing=8, random_state=0, **settings).fit(X, y)
    assert str(caught.value) == message


def test_bad_data_are_named():
    bad = y.copy()
    bad[7] = np.nan
    with pytest.raises(ValueError, match="The first is in row 7: drop the row or fill it in"):
        make("svgp").fit(X, bad)
    with pytest.raises(ValueError, match="'vfe' needs every output: drop rows with NaN, or use 'svgp'"):
        make("vfe").fit(X, np.column_stack([bad, y]))
    with pytest.raises(ValueError, match="a classifier needs at least two classes"):
        classifier("dspp").fit(X, np.zeros(120))
