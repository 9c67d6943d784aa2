"""Costs counted before compiling, against counts by hand and XLA's own."""

import jax
import jax.numpy as jnp
import pytest

from limelight._core.errors import InputError
from limelight._engine.cost import trial_cost, xla_flops


def test_a_product_costs_two_flops_an_entry_and_loops_multiply():
    a = jnp.ones((3, 4))
    b = jnp.ones((4, 5))
    assert trial_cost(lambda: a @ b, (), 1).flops == 2 * 3 * 4 * 5
    square = jnp.ones((3, 3))
    loop = lambda: jax.lax.scan(lambda c, _: (c @ square, None), square, length=7)
    flops = trial_cost(loop, (), 1).flops
    assert 7 * 54 <= flops < 7 * 54 + 100


def test_while_loops_take_the_trips_they_are_told():
    f = lambda: jax.lax.while_loop(lambda x: x[0, 0] < 9, lambda x: x @ x, jnp.ones((4, 4)))
    one, ten = (trial_cost(f, (), n).flops for n in (1, 10))
    assert ten - one >= 9 * 2 * 4**3


def test_peak_bytes_see_the_largest_moment():
    def f():
        big = jnp.zeros((1000,)) + 1.0
        small = jnp.sum(big)
        other = jnp.zeros((500,)) + small
        return jnp.sum(other)

    bytes_ = trial_cost(f, (), 1).bytes
    assert 8000 <= bytes_ < 8200  # two arrays of 1000 at once, never all three


def test_flops_agree_with_xla_on_a_matrix_chain():
    a = jnp.ones((64, 64))
    f = lambda x: (x @ a) @ x
    theirs = jax.jit(f).lower(a).compile().cost_analysis()["flops"]
    assert abs(trial_cost(f, (a,), 1).flops - theirs) <= 0.01 * theirs


def test_xla_counts_products_and_additions_before_compilation():
    def f(x, shift):
        return {"out": x @ x + shift["by"]}

    given = jnp.ones((8, 8)), {"by": jnp.ones((8, 8))}
    assert xla_flops(jax.jit(f), *given) == 2 * 8**3 + 8**2


def test_without_a_cpu_nothing_is_counted_and_a_line_says_why(monkeypatch):
    def none(backend=None):
        raise RuntimeError("Unknown backend cpu")

    monkeypatch.setattr(jax, "local_devices", none)
    with pytest.raises(InputError, match="leave out the CPU"):
        xla_flops(jax.jit(jnp.sin), jnp.ones(3))


def test_only_programs_without_libraries_that_wait_are_free():
    matrix = jnp.eye(3)
    inside = lambda: jax.lax.fori_loop(0, 3, lambda _, x: jnp.linalg.cholesky(x), matrix)
    assert trial_cost(lambda: jnp.tanh(matrix) @ matrix, (), 1).free
    for function in (inside, lambda: jnp.linalg.eigh(matrix), lambda: jnp.fft.fft(matrix)):
        assert not trial_cost(function, (), 1).free
