"""Options of inference objects: what is known, what is told about the rest, and a method of one's own."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import fathom
from fathom import DeepGPRegressor, SparseGPRegressor, models
from fathom.deep.build import Beginning
from fathom.deep.objective import Objective, elbo
from fathom.inference import DGPS, DSPP, PEP, SEP, SVGP, VFE, Training, method
from fathom.inference.gradient import Gradient

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 2))
y = 3 + np.sin(2 * X[:, 0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: DSPP(optimizer="lbfgs"),
            "DSPP has no option 'optimizer'; it has beta, n_quadrature, quadrature; optimizer is an option of DGPS",
        ),
        (
            lambda: SEP(beta="cv"),
            "SEP has no option 'beta'; it has n_sweeps, power; "
            "beta is an option of SVGP, ODSVGP, PPGPR, DSVI, Gamma, DSPP",
        ),
        (lambda: VFE(speed=1), "VFE has no option 'speed'; it has none"),
        (lambda: DGPS(n_steps=5).check, "n_steps is an option of Training"),
        (lambda: Training(power=1), "power is an option of PEP, SEP"),
        (lambda: SVGP().set_params(power=1), "SVGP has no option 'power'; it has beta; power is an option of PEP, SEP"),
    ],
)
def test_an_option_that_a_method_does_not_know_names_those_that_do(make, message):
    with pytest.raises((TypeError, ValueError)) as told:
        make()
    assert message in str(told.value)


@pytest.mark.parametrize("name", models.methods())
def test_a_method_is_a_holder_of_parameters(name):
    kind = method(name)
    assert kind.name == name
    assert kind.__doc__
    assert clone(kind()).get_params() == kind().get_params()


@pytest.mark.parametrize("name", models.methods())
def test_options_of_training_that_mean_nothing_are_refused(name):
    kind, wrong = method(name), {"refit": True, "checkpoint": "a.ckpt", "learning_rate": 0.1}
    estimator = {"SparseGPRegressor": SparseGPRegressor, "DeepGPRegressor": DeepGPRegressor}
    for option in set(wrong) - set(kind.uses):
        model = estimator[models.MODELS[name].estimator](inference=name, training=Training(**{option: wrong[option]}))
        with pytest.raises(ValueError, match=f"{option} means nothing to '{name}'; it knows "):
            model.fit(X, y)


@pytest.mark.slow
def test_options_are_searched_through_the_estimator():
    search = GridSearchCV(
        SparseGPRegressor(PEP(), n_inducing=4, random_state=0), {"inference__power": [0.5, 1.0]}, cv=2
    )
    search.fit(X, y)
    assert search.best_estimator_.inference.power in (0.5, 1.0)


class Steadied(Gradient):
    """SVGP whose KL weighs more by a factor: a method in one class, for `test_a_method_of_ones_own`."""

    name = "steadied"

    def __init__(self, beta=2.0):
        self.beta = beta

    def beginning(self):
        return Beginning(noise=0.03)

    def loss(self):
        return Objective(elbo)


@pytest.mark.slow
def test_a_method_of_ones_own(monkeypatch, tmp_path):
    """A class and a row of the table are all that it takes to train, save and load."""
    row = models.Model("DeepGPRegressor", "svgp, steadied", f"{__name__}:Steadied", classes=True)
    monkeypatch.setattr(models, "MODELS", models.MODELS | {"steadied": row})
    small = {"n_inducing": 8, "training": Training(n_steps=60), "random_state": 0}
    model = DeepGPRegressor((), Steadied(beta=3.0), **small).fit(X, y)
    assert model.score(X, y) > 0.5
    fathom.save(model, tmp_path / "m.fathom")
    again = fathom.load(tmp_path / "m.fathom")
    assert again.inference.beta == 3.0
    assert np.array_equal(again.predict(X), model.predict(X))
    by_name = DeepGPRegressor((), "steadied", **small).fit(X, y)
    assert not np.array_equal(by_name.predict(X), model.predict(X))
    labels = fathom.DeepGPClassifier((), "steadied", **small).fit(X, y > 3)
    assert labels.score(X, y > 3) > 0.8
