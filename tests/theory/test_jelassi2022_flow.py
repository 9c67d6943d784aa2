"""The gradient flow against scipy's solver and small steps of descent, and what it tends to."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from limelight.models.positional import Activation
from limelight.theory.jelassi2022 import idealized
from limelight.theory.jelassi2022.descent import Rates, change, gradient
from limelight.theory.jelassi2022.flow import flow
from limelight.theory.jelassi2022.layer import Layer, LayerState
from limelight.theory.jelassi2022.population import enumerated


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


def world(tokens=8, size=2, density=0.4):
    layer = Layer(tokens, size, jnp.array(1.0), jnp.array(1.0), Activation(3, jnp.array(0.01)))
    return enumerated(tokens, size, density), layer


def test_the_flow_is_that_of_another_solver():
    population, layer = world()
    path = flow(population, layer, layer.start(), 1000.0)
    one = Rates(1.0, 1.0)
    velocity = jax.jit(
        lambda y: jnp.stack(change(layer, gradient(population, layer, LayerState(*y))[0], one))
    )
    start = np.array([float(x) for x in layer.start()])
    found = solve_ivp(
        lambda t, y: np.asarray(velocity(jnp.asarray(y))),
        (0.0, 1000.0),
        start,
        method="LSODA",
        rtol=1e-10,
        atol=1e-12,
    )
    assert float(path.time[-1]) == 1000.0
    np.testing.assert_allclose(path.state[-1], found.y[:, -1], atol=1e-4)
    np.testing.assert_allclose(path.velocity[0], velocity(jnp.asarray(start)), rtol=1e-9)


def test_descent_with_one_small_rate_follows_it():
    """The recursion of Lemma 4.3 at a rate of .02, which is not used by the flow."""
    run = idealized(tokens=8, size=2, density=0.4, rate=0.02, ratio=1.0, steps=20_000)
    population, layer = world()
    path = flow(population, layer, layer.start(), 400.0)
    end = [run.end[name] for name in ("alpha", "gamma", "rho")]
    np.testing.assert_allclose(path.state[-1], end, atol=2e-4)


def test_in_the_end_attention_inside_a_set_is_equal_and_none_goes_outside():
    population, layer = world()
    path = flow(population, layer, layer.start(), 1e9)
    alpha, gamma, rho = (float(x) for x in path.state[-1])
    assert gamma == pytest.approx(1.0, abs=1e-3)  # the frozen diagonal
    assert rho < -10
    assert float(jnp.max(path.state[:, 1])) > 1.3  # it was above, and came back
    weights = layer.weights(LayerState(alpha, gamma, rho))
    assert float(weights.own) == pytest.approx(float(weights.same), abs=1e-3)


def test_a_run_that_needs_more_steps_says_where_it_ended():
    population, layer = world()
    short = flow(population, layer, layer.start(), 1e6, most=20)
    assert int(short.steps) == 20
    assert float(short.time[-1]) < 1e6


def test_a_flow_ends_after_its_steps(double):
    """Three steps at most: three are taken, and the last time says that it was not enough."""
    population, layer = world()
    found = flow(population, layer, layer.start(), 1e6, most=3)
    assert int(found.steps) == 3
    assert found.time.shape == (4,)
    assert 0 < float(found.time[-1]) < 1e6


def test_a_run_that_needs_more_steps_than_it_may_take_ends_before():
    population, layer = world()
    path = flow(population, layer, layer.start(), 1000.0, most=5)
    assert int(path.steps) == 5
    assert path.time.shape == (6,)
    assert 0 < float(path.time[-1]) < 1000.0
