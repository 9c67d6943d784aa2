"""The loop against loops in plain NumPy: logs, ends, what is kept, and trials side by side."""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import limelight
from limelight.train._loop import Moved, descend, run_blocks

BLOCKS, EVERY = 6, 3


def halving(weights, memory, numbers):
    """Every step: w becomes w/2 plus its number; remembered is the sum of the numbers."""

    def one(carry, number):
        w, total = carry
        return (w / 2 + number, total + number), w

    (w, total), seen = jax.lax.scan(one, (weights, memory), numbers)
    return Moved(w, total, {"first": seen[0]}, jnp.isfinite(w))


def in_numpy(w, blocks=BLOCKS, stop=lambda w: False):
    """The same, step by step: weights, memory, readings, reports."""
    total, readings, reports = 0.0, [w], []
    for block in range(blocks):
        reports.append(w)
        for number in range(block * EVERY, (block + 1) * EVERY):
            w, total = w / 2 + number, total + number
        readings.append(w)
        if stop(w):
            break
    return w, total, readings, reports


def run(w, ends):
    start, read = jnp.asarray(w, float), lambda w: {"w": w}
    return run_blocks(halving, start, jnp.array(0.0), BLOCKS, EVERY, read=read, ends=ends)


@pytest.mark.parametrize("ends", [None, lambda state: jnp.array(False)])
def test_every_step_in_its_order_and_every_log(ends):
    w, total, readings, reports = in_numpy(10.0)
    end = jax.jit(lambda: run(10.0, ends))()
    np.testing.assert_allclose(end.weights, w, rtol=1e-6)
    assert float(end.memory) == total
    assert (int(end.block), int(end.kept), bool(end.diverged)) == (BLOCKS, BLOCKS, False)
    np.testing.assert_allclose(end.readings["w"], readings, rtol=1e-6)
    np.testing.assert_allclose(end.reports["first"], reports, rtol=1e-6)
    np.testing.assert_array_equal(end.held()["w"], end.readings["w"])


def test_trials_end_by_themselves_side_by_side():
    starts = [-400.0, 10.0, 0.0]
    above = lambda state: state.weights > 12.0
    ends = jax.jit(jax.vmap(lambda w: run(w, above)))(jnp.array(starts))
    for i, start in enumerate(starts):
        w, _, readings, reports = in_numpy(start, stop=lambda w: w > 12.0)
        ran = len(reports)
        assert ran < BLOCKS
        assert int(ends.block[i]) == ran
        np.testing.assert_allclose(ends.weights[i], w, rtol=1e-5)
        np.testing.assert_allclose(ends.readings["w"][i, : ran + 1], readings, rtol=1e-5)
        assert np.isnan(ends.readings["w"][i, ran + 1 :]).all()
        assert np.isnan(ends.reports["first"][i, ran:]).all()


@pytest.mark.parametrize("ends", [None, lambda state: state.diverged])
def test_the_last_finite_weights_stay_for_good(ends):
    def block(weights, memory, numbers):
        moved = jnp.where(numbers[0] == 2, jnp.nan, weights + 1.0)
        return Moved(moved, memory, {}, jnp.isfinite(moved))

    read = lambda w: {"w": w, "whole": jnp.isnan(w).astype(int)}
    end = jax.jit(lambda: run_blocks(block, jnp.array(0.0), None, 5, read=read, ends=ends))()
    assert (float(end.weights), int(end.kept), bool(end.diverged)) == (2.0, 2, True)
    assert int(end.block) == (5 if ends is None else 3)
    assert np.isnan(end.readings["w"][3])  # what was dropped was still read
    assert end.held()["w"].tolist() == [0.0, 1.0, 2.0, 2.0, 2.0, 2.0]
    assert end.held()["whole"].tolist() == [0] * 6


def test_without_a_watch_what_is_not_finite_stays():
    loss = lambda w, number: jnp.where(number == 2, jnp.nan, 1.0) * w
    watched, free = (
        jax.jit(lambda on=on: descend(loss, optax.sgd(0.1), jnp.array(1.0), 4, watch=on))()
        for on in (True, False)
    )
    assert float(watched.weights) == pytest.approx(0.8)
    assert bool(watched.diverged)
    assert np.isnan(free.weights)
    assert not bool(free.diverged)


@pytest.mark.parametrize("every", [1, 5])
def test_descent_with_momentum_by_hand(every):
    A, b = np.array([[2.0, 0.3], [0.3, 0.5]]), np.array([1.0, -1.0])
    value = lambda w, number, A, b: 0.5 * w @ A @ w - (1.0 + 0.1 * number) * b @ w
    loss = lambda w, number: value(w, number, jnp.asarray(A), jnp.asarray(b))
    optimizer = optax.sgd(0.2, momentum=0.8)
    end = jax.jit(lambda: descend(loss, optimizer, jnp.array([3.0, -2.0]), 10 // every, every))()
    w, speed, losses = np.array([3.0, -2.0]), np.zeros(2), []
    for number in range(10):
        losses.append(value(w, number, A, b))
        speed = 0.8 * speed + A @ w - (1.0 + 0.1 * number) * b
        w = w - 0.2 * speed
    np.testing.assert_allclose(end.weights, w, rtol=1e-5)
    np.testing.assert_allclose(
        end.reports["loss"], np.reshape(losses, (-1, every)).mean(axis=1), rtol=1e-4
    )


def test_no_two_classes_have_one_name():
    source = Path(limelight.__file__).parent
    shelves = [source / shelf for shelf in ("train", "experiments", "theory")]
    files = [file for shelf in shelves for file in shelf.rglob("*.py")]
    names = [name for file in files for name in re.findall(r"^class (\w+)", file.read_text(), re.M)]
    assert sorted(set(names)) == sorted(names)
