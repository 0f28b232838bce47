"""GPyTorch's sparse and deep GPs, for `deep-speed` and `dspp-univariate`; runs in an environment of its own.

    python -m venv peers && peers/bin/pip install torch==2.13.0 && peers/bin/pip install gpytorch
    FATHOM_PEERS=peers/bin/python fathom bench deep-speed

Models follow GPyTorch's own examples. `speed` times training steps; `fit` trains and scores on one split. Both read
JSON from standard input and write JSON to standard output. It imports nothing of Fathom.
"""

from __future__ import annotations

import json
import math
import sys
import time

import gpytorch
import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ConstantMean, LinearMean
from gpytorch.mlls import (
    DeepApproximateMLL,
    DeepPredictiveLogLikelihood,
    GammaRobustVariationalELBO,
    PredictiveLogLikelihood,
    VariationalELBO,
)
from gpytorch.models import ApproximateGP
from gpytorch.models.deep_gps import DeepGP, DeepGPLayer
from gpytorch.models.deep_gps.dspp import DSPP, DSPPLayer
from gpytorch.variational import (
    CholeskyVariationalDistribution,
    DeltaVariationalDistribution,
    MeanFieldVariationalDistribution,
    OrthogonallyDecoupledVariationalStrategy,
    VariationalStrategy,
)

S = 8  # sigma points, and samples at test time


class Single(ApproximateGP):
    def __init__(self, Z, matern, far=None):
        q = CholeskyVariationalDistribution(len(Z))
        strategy = VariationalStrategy(self, Z, q, learn_inducing_locations=True)
        if far is not None:
            strategy = OrthogonallyDecoupledVariationalStrategy(strategy, far, DeltaVariationalDistribution(len(far)))
        super().__init__(strategy)
        base = MaternKernel(2.5, ard_num_dims=Z.shape[1]) if matern else RBFKernel(ard_num_dims=Z.shape[1])
        self.mean_module, self.covar_module = ConstantMean(), ScaleKernel(base)

    def forward(self, x):
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))


def layer_of(base, diagonal):
    class Layer(base):
        def __init__(self, d, width, Z, linear, **extra):
            shape = torch.Size([width]) if width else torch.Size([])
            kind = MeanFieldVariationalDistribution if diagonal else CholeskyVariationalDistribution
            q = kind(num_inducing_points=Z.shape[-2], batch_shape=shape)
            super().__init__(VariationalStrategy(self, Z, q, learn_inducing_locations=True), d, width, **extra)
            self.mean_module = LinearMean(d) if linear else ConstantMean(batch_shape=shape)
            kernel = RBFKernel(batch_shape=shape, ard_num_dims=d)
            self.covar_module = ScaleKernel(kernel, batch_shape=shape)

        def forward(self, x):
            return MultivariateNormal(self.mean_module(x), self.covar_module(x))

    return Layer


class Two(DeepGP):
    def __init__(self, Z, width):
        super().__init__()
        Layer = layer_of(DeepGPLayer, False)
        noisy = Z + 0.01 * torch.randn(width, *Z.shape)
        self.hidden = Layer(Z.shape[1], width, noisy, True)
        self.last = Layer(width, None, torch.randn(len(Z), width), False)

    def forward(self, x):
        return self.last(self.hidden(x))


class Sigma(DSPP):
    def __init__(self, Z, width):
        super().__init__(S)
        Layer = layer_of(DSPPLayer, True)
        noisy = Z + 0.01 * torch.randn(width, *Z.shape)
        self.hidden = Layer(Z.shape[1], width, noisy, True, num_quad_sites=S)
        self.last = Layer(width, None, torch.randn(len(Z), width), False, num_quad_sites=S)

    def forward(self, x):
        return self.last(self.hidden(x))


def make(name, Z, n, width=3, beta=0.05, far=None):
    likelihood = GaussianLikelihood()
    if name == "ppgpr":
        model = Single(Z, True)
        mll = PredictiveLogLikelihood(likelihood, model, num_data=n, beta=beta)
    elif name in ("svgp", "odsvgp"):
        model = Single(Z, False, far)
        mll = VariationalELBO(likelihood, model, num_data=n)
    elif name in ("dsvi", "gamma"):
        model = Two(Z, width)
        kind = VariationalELBO if name == "dsvi" else GammaRobustVariationalELBO
        mll = DeepApproximateMLL(kind(likelihood, model, num_data=n))
    else:
        model = Sigma(Z, width)
        mll = DeepPredictiveLogLikelihood(likelihood, model, num_data=n, beta=beta)
    return model, likelihood, mll


def stepper(model, likelihood, mll, rate):
    parameters = [{"params": model.parameters()}, {"params": likelihood.parameters()}]
    optimiser = torch.optim.Adam(parameters, lr=rate)
    model.train()
    likelihood.train()

    def step(x, y):
        optimiser.zero_grad()
        cost = -mll(model(x), y)
        cost.sum().backward()
        optimiser.step()

    return step, optimiser


def speed(task):
    torch.manual_seed(0)
    found = {}
    for name, m, b in task["cases"]:
        x, y = torch.randn(b, 8), torch.randn(b)
        step, _ = stepper(*make(name, torch.randn(m, 8), 2000), 0.01)
        times = []
        for i in range(task["repeats"] + 3):
            start = time.perf_counter()
            with gpytorch.settings.num_likelihood_samples(1 if name == "dsvi" else S):
                step(x, y)
            if i >= 3:
                times.append(time.perf_counter() - start)
        found[f"{name} {m} {b}"] = 1e3 * min(times)
    return found


def fit(task):
    """The predictive mixture of one model at new rows, in the units of the old ones; Z are given."""
    torch.manual_seed(task["seed"])
    x, y, x_new, Z = (torch.tensor(task[k], dtype=torch.float32) for k in ("x", "y", "x_new", "Z"))
    far = torch.tensor(task["far"], dtype=torch.float32) if "far" in task else None
    model, likelihood, mll = make(task["model"], Z, len(x), far=far)
    step, optimiser = stepper(model, likelihood, mll, 0.01)
    n_steps, b = task["n_steps"], min(task["batch"], len(x))
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimiser, [int(n_steps * f) for f in (0.5, 0.8)], gamma=0.1)
    order = torch.randperm(len(x))
    for i in range(n_steps):
        at = (i * b) % len(x)
        if at + b > len(x):
            order = torch.randperm(len(x))
        rows = order[torch.arange(at, at + b) % len(x)]
        with gpytorch.settings.num_likelihood_samples(1):
            step(x[rows], y[rows])
        schedule.step()
    return answer(model, likelihood, x_new)


def answer(model, likelihood, x):
    model.eval()
    likelihood.eval()
    with torch.no_grad(), gpytorch.settings.num_likelihood_samples(100):
        out = likelihood(model(x))
        mean, var = torch.atleast_2d(out.mean), torch.atleast_2d(out.variance)
        logs = torch.full((len(mean),), -math.log(len(mean)))
        if isinstance(model, DSPP):
            logs = torch.log_softmax(model.quad_weights, -1) if hasattr(model, "quad_weights") else logs
    return {"logs": logs.tolist(), "mean": mean.tolist(), "var": var.tolist()}


if __name__ == "__main__":
    torch.set_num_threads(1)
    asked = json.load(sys.stdin)
    json.dump({"speed": speed, "fit": fit}[asked["do"]](asked), sys.stdout)
