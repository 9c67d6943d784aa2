"""Which draws can be separated at all, against every sign on a line and a linear program."""

import jax
import jax.random as jr
import numpy as np
import pytest
from scipy.optimize import linprog

from limelight.experiments import MarginRanks
from limelight.experiments._choices import draw_batch
from limelight.theory.tarzanagh2023 import svm
from limelight.worlds import Selections

N, T = 5, 5


@pytest.mark.parametrize("dimension", [1, 2])
def test_what_cannot_be_separated_has_no_rank(dimension):
    """On a line tokens are 1 or -1, so that nearly every choice has a copy of itself beside it."""
    world = Selections(tokens=T, dimension=dimension)
    trial = MarginRanks(world=world, samples=N, most=25)
    with jax.enable_x64(True):
        both = lambda key: (trial.trial(key), draw_batch(key, world, N, N)[0])
        found, data = jax.device_get(jax.jit(jax.vmap(both))(jr.split(jr.key(0), 150)))
    slow = []
    for tokens, queries, scores in zip(data.tokens, data.queries, data.scores, strict=True):
        rows = svm.constraints(tokens, queries, scores.argmax(axis=1)).rows
        if dimension == 1:
            slow.append(any((sign * rows > 0).all() for sign in (-1, 1)))
        else:
            ends = linprog(np.zeros(4), -rows, -np.ones(len(rows)), bounds=(None, None))
            slow.append(ends.status == 0)
    assert found["feasible"].tolist() == slow
    assert (np.isnan(found["rank"]) == ~found["feasible"]).all()
    assert found["error"].max() < 1e-8
