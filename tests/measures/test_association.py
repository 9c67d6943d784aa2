"""Association at hand-made matrices, at chance level, and under relabelling."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limelight._core.errors import InputError
from limelight.measures.association import (
    association,
    association_exact,
    association_margin,
    association_overlap,
    chance_overlap,
)
from limelight.worlds._partitions import scattered, strided

ASSOCIATION = jax.jit(association)
SETS = jnp.array([0, 0, 1, 1])


def test_a_matrix_by_hand():
    scores = jnp.array(
        [
            [9.0, 5.0, 1.0, 0.0],  # right
            [5.0, 9.0, 6.0, 0.0],  # prefers patch 2
            [0.0, 1.0, 9.0, 2.0],  # right
            [0.0, 3.0, 4.0, 9.0],  # right
        ]
    )
    found = {name: float(value) for name, value in association(scores, SETS).items()}
    assert found == {
        "exact": 0.75,
        "overlap": 0.875,
        "margin": -1.0,
        "exact_offdiag": 0.75,
        "overlap_offdiag": 0.75,
        "margin_offdiag": -1.0,
    }


def test_a_diagonal_that_loses_its_row():
    """Patches that look at their set but not at themselves: only the honest score is 1."""
    scores = jnp.where(SETS[:, None] == SETS[None, :], 1.0, 0.0) - 5 * jnp.eye(4)
    assert float(association_exact(scores, SETS)) == 0.0
    assert float(association_overlap(scores, SETS)) == 0.5
    assert float(association_exact(scores, SETS, offdiag=True)) == 1.0
    assert float(association_margin(scores, SETS)) == -4.0
    assert float(association_margin(scores, SETS, offdiag=True)) == 1.0


def test_ties_go_to_the_lowest_index():
    assert float(association_exact(jnp.zeros((4, 4)), SETS)) == 0.5
    assert float(association_margin(jnp.zeros((4, 4)), SETS)) == 0.0


def test_what_is_not_a_number_is_nobodys_strongest():
    """Without a rule of its own NaN would tie, and the first patches would win."""
    nothing = jnp.full((4, 4), jnp.nan)
    found = association(nothing, SETS)
    assert all(float(found[name]) == 0.0 for name in found if "margin" not in name)
    assert np.isnan(found["margin"])
    one = jnp.eye(4).at[0, 1].set(jnp.nan) + 0.5 * (SETS[:, None] == SETS[None, :])
    assert float(association_exact(one, SETS)) == 0.75


@settings(deadline=None, max_examples=8)
@given(shape=st.sampled_from([(4, 2), (15, 5)]), seed=st.integers(0, 2**31 - 1))
def test_planted_sets_are_found_and_any_monotone_map_keeps_the_scores(shape, seed):
    tokens, size = shape
    k_sets, k_noise = jr.split(jr.key(seed))
    hidden = scattered(k_sets, tokens, size)
    planted = 1.0 * (hidden[:, None] == hidden[None, :])
    scores = planted + 0.9 * jr.uniform(k_noise, (tokens, tokens))
    found = ASSOCIATION(scores, hidden)
    assert float(found["exact"]) == float(found["exact_offdiag"]) == 1.0
    assert float(found["margin"]) > 0
    assert ASSOCIATION(jax.nn.softmax(scores), hidden)["exact"] == 1.0
    order = jr.permutation(k_noise, tokens)
    moved = ASSOCIATION(scores[order][:, order], hidden[order])
    for name, value in found.items():
        np.testing.assert_allclose(moved[name], value)


def test_chance_level():
    tokens, size = 16, 4
    sets = strided(tokens, size)

    def one(key):
        scores = jr.normal(key, (tokens, tokens))
        heavy = scores + 100 * jnp.eye(tokens)
        return (
            association_overlap(scores, sets, offdiag=True),
            association_overlap(heavy, sets),
        )

    off, on = jax.jit(jax.vmap(one))(jr.split(jr.key(0), 2000))
    for draws, level in ((off, chance_overlap(16, 4)), (on, chance_overlap(16, 4, offdiag=False))):
        error = float(draws.std() / len(draws) ** 0.5)
        assert abs(float(draws.mean()) - level) < 4 * error
    with pytest.raises(InputError):
        chance_overlap(4, 4)


def test_it_runs_compiled_with_hidden_sets():
    many = jax.jit(jax.vmap(association))(jr.normal(jr.key(0), (3, 8, 8)), jnp.tile(SETS, (3, 2)))
    assert all(value.shape == (3,) for value in many.values())
