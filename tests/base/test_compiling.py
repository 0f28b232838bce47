"""Compiled functions and the settings of their compiler."""

import jax.numpy as jnp
import numpy as np
import pytest

from fathom.base import compiling


@pytest.mark.parametrize("brief", [False, True])
def test_a_compiled_function_is_the_function_and_is_traced_once(brief):
    traced = []

    @compiling.compiled(brief=brief)
    def scaled(x, how):
        """Its own words."""
        traced.append(how)
        return jnp.exp(-x) if how == "down" else jnp.exp(x)

    x = np.linspace(0, 1, 5, dtype=np.float32)
    assert scaled.__doc__ == "Its own words."
    for how in ("down", "up", "up"):
        assert np.allclose(scaled(x, how), np.exp(-x if how == "down" else x))
    assert traced == ["down", "up"]


def test_options_that_a_compiler_does_not_have_are_left_out():
    options = (("xla_cpu_of_another_day", True), ("xla_backend_optimization_level", 0))
    assert compiling.known(options) == {"xla_backend_optimization_level": 0}


def test_a_wrong_value_of_an_option_is_an_error():
    with pytest.raises(RuntimeError, match="xla_backend_optimization_level"):
        compiling.known((("xla_backend_optimization_level", "much"),))
