"""What each kernel is, against the formulas of the thesis written out naively, and its limits."""

import math

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.special import i0
from scipy.stats import multivariate_normal

from fathom.kernels import SE, SM, WN, ArcCos, ChangePoint, ChangeWindow, Cos, Lin, MacKay, Per, parse

FORMULAS = {
    "C(variance=2.0)": lambda x, z: 2.0,
    "Lin(variance=2.0, location=0.5)": lambda x, z: 2 * (x - 0.5) * (z - 0.5),
    "SE(variance=2.0, lengthscale=0.7)": lambda x, z: 2 * math.exp(-((x - z) ** 2) / (2 * 0.7**2)),
    "RQ(lengthscale=0.7, alpha=1.7)": lambda x, z: (1 + (x - z) ** 2 / (2 * 1.7 * 0.7**2)) ** -1.7,
    "MacKay(lengthscale=0.7, period=1.3)": lambda x, z: math.exp(-2 / 0.7**2 * math.sin(math.pi * (x - z) / 1.3) ** 2),
    "Cos(period=1.3)": lambda x, z: math.cos(2 * math.pi * (x - z) / 1.3),
    "Per(lengthscale=0.7, period=1.3)": lambda x, z: (
        (math.exp(math.cos(2 * math.pi * (x - z) / 1.3) / 0.49) - i0(1 / 0.49)) / (math.exp(1 / 0.49) - i0(1 / 0.49))
    ),
    "Matern12(lengthscale=0.7)": lambda x, z: math.exp(-abs(x - z) / 0.7),
    "SM(weight=[1.0, 3.0], lengthscale=[0.5, 2.0], frequency=[0.2, 1.0])": lambda x, z: sum(
        w / 4 * math.exp(-((x - z) ** 2) / (2 * ell**2)) * math.cos(2 * math.pi * nu * (x - z))
        for w, ell, nu in ((1, 0.5, 0.2), (3, 2.0, 1.0))
    ),
    "After(location=1.0, steepness=3.0)": lambda x, z: (
        0.25 * (1 + math.tanh(3 * (x - 1))) * (1 + math.tanh(3 * (z - 1)))
    ),
}


@pytest.mark.parametrize("text", FORMULAS)
def test_formula(text, grid):
    kernel = parse(text)
    naive = [[FORMULAS[text](x, z) for z in grid[:5, 0]] for x in grid[:, 0]]
    np.testing.assert_allclose(kernel.cross(grid, grid[:5]), naive, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("nu", "name"), [(1.5, "Matern32"), (2.5, "Matern52")])
def test_matern_against_its_bessel_form(nu, name):
    from scipy.special import gamma, kv

    r = np.linspace(0.01, 4, 30)
    bessel = 2 ** (1 - nu) / gamma(nu) * (np.sqrt(2 * nu) * r) ** nu * kv(nu, np.sqrt(2 * nu) * r)
    np.testing.assert_allclose(parse(name).cross(r, [0.0])[:, 0], bessel, rtol=1e-10)


def test_white_noise_is_on_the_observation_not_the_value():
    x = np.array([1.0, 1.0, 2.0])
    np.testing.assert_array_equal(WN().gram(x), np.eye(3))
    np.testing.assert_array_equal(WN().cross(x, x), np.zeros((3, 3)))


@pytest.mark.parametrize("lengthscale", [1e2, 1e3, 1e5, 1e8])
def test_periodic_tends_to_the_cosine(lengthscale):
    tau = np.linspace(0, 2, 41)
    z = lengthscale**-2
    difference = np.abs(Per(lengthscale=lengthscale).cross(tau, [0.0]) - Cos().cross(tau, [0.0])).max()
    assert difference <= 0.51 * z + 1e-12  # the limit formula after B.11: the error is z/2


@pytest.mark.parametrize("lengthscale", [0.3, 0.99, 1.01, 3.0, 99.0, 101.0])
def test_periodic_has_no_constant_part(lengthscale):
    tau = np.linspace(0, 1, 2001)[:-1]
    mean = Per(lengthscale=lengthscale).cross(tau, [0.0]).mean()
    assert abs(mean) < 1e-12


def test_periodic_is_mackay_without_its_constant():
    tau = np.linspace(0, 1, 101)[:-1]
    classic = MacKay(lengthscale=0.8).cross(tau, [0.0])
    np.testing.assert_allclose(
        Per(lengthscale=0.8).cross(tau, [0.0]), (classic - classic.mean()) / (1 - classic.mean()), atol=1e-12
    )


def test_far_from_a_changepoint_each_side_is_its_own():
    kernel = ChangePoint(SE(), Lin(), location=5.0, steepness=10.0)
    before, after = np.linspace(0, 2, 5), np.linspace(8, 10, 5)
    np.testing.assert_allclose(kernel.gram(before), SE().gram(before), atol=1e-12)
    np.testing.assert_allclose(kernel.gram(after), Lin().gram(after), atol=1e-10)
    np.testing.assert_allclose(kernel.cross(before, after), 0, atol=1e-12)


def test_a_window_has_its_first_operand_outside():
    kernel = ChangeWindow(SE(), Lin(), location=5.0, width=4.0, steepness=20.0)
    outside, inside = np.array([0.0, 1.0, 9.0]), np.array([4.5, 5.0, 5.5])
    np.testing.assert_allclose(kernel.gram(outside), SE().gram(outside), atol=1e-12)
    np.testing.assert_allclose(kernel.gram(inside), Lin().gram(inside), atol=1e-12)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_arc_cosine_is_the_expectation_over_an_infinite_layer(order):
    """k_n(x, z) = 2 E[Θ(a)Θ(b) aⁿbⁿ] for (a, b) the projections of x̃, z̃ on a Gaussian weight vector."""
    x, z = 0.3, -1.1
    covariance = np.array([[1 + x * x, 1 + x * z], [1 + x * z, 1 + z * z]])
    density = multivariate_normal(np.zeros(2), covariance).pdf
    expected, _ = dblquad(lambda b, a: (a * b) ** order * density([a, b]), 0, 12, 0, 12, epsabs=1e-7)
    assert ArcCos(order=order).cross([x], [z])[0, 0] == pytest.approx(2 * expected, rel=1e-4)


def test_spectral_mixture_is_a_sum_of_damped_cosines():
    tau = np.linspace(0, 3, 20)
    mixture = SM(weight=[1.0, 3.0], lengthscale=[0.5, 2.0], frequency=[0.2, 1.0])
    parts = parse("SE(variance=0.25, lengthscale=0.5)*Cos(period=5.0) + SE(variance=0.75, lengthscale=2.0)*Cos")
    np.testing.assert_allclose(mixture.cross(tau, [0.0]), parts.cross(tau, [0.0]), atol=1e-14)
