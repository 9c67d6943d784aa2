r"""The memorising ReLU network: exactly $f_i$ on a box of half-width $\delta$ around $c_i$."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from limelight._core.arrays import Real
from limelight._core.errors import InputError

#: Biases of the four ReLUs of a bump, and how they are summed.
STEPS, SIGNS = np.array([2.0, 1.0, -1.0, -2.0]), np.array([1.0, -1.0, -1.0, 1.0])


class Network(NamedTuple):
    """Three layers, biases as last rows."""

    first: Float[np.ndarray, "inputs hidden"]
    second: Float[np.ndarray, "hidden pairs"]
    readout: Float[np.ndarray, " outputs"]


def separation(centres: Float[np.ndarray, "centres inputs"]) -> float:
    """The smallest distance of two centres, largest coordinate taken; infinite for one centre."""
    far = np.abs(centres[:, None] - centres[None]).max(axis=-1)
    np.fill_diagonal(far, np.inf)
    return float(far.min())


def memorise(
    centres: Float[np.ndarray, "centres inputs"],
    values: Float[np.ndarray, " centres"],
    delta: Real,
) -> Network:
    r"""A network with $net(c_i + z) = f_i$ for all $\|z\|_\infty \le \delta$.

    A bump around $c$ in one coordinate, with $t = (x - c) / \delta$,

    $$\psi = (t + 2)_+ - (t + 1)_+ - (t - 1)_+ + (t - 2)_+$$

    is 1 for $|t| \le 1$ and 0 for $|t| \ge 2$; a pair of units of the second layer computes
    $\mathrm{clip}(\sum_j \psi_j - (q - 1), 0, 1)$, the indicator of the box; the third layer sums.

    Notation: `centres` are $c_i \in R^q$, `values` $f_i$, `delta` $\delta$.
    Departures: the printed bump vanishes at its centre and the printed threshold is steeper than
        needed; these are repaired. The entries are at most $\max(1/\delta, B/\delta + 2)$,
        $\max(1, q)$ and $\max|f|$, where the first is printed as $\max(1, B)/\delta$.

    Example:
        >>> net = memorise(np.array([[0.0], [1.0]]), np.array([5.0, 7.0]), 0.25)
        >>> [round(float(evaluate(net, np.array([x]))), 9) for x in (0.2, 0.8, 1.2)]
        [5.0, 7.0, 7.0]

    Raises:
        InputError: For centres closer than $3 \delta$, where neighbours leak.

    Reference: edelman2022, Lemma B.8.
    """
    q = centres.shape[1]
    if separation(centres) < 3 * delta * (1 - 1e-12):
        raise InputError(
            f"centres {separation(centres):.4g} apart need delta at most a third of that,"
            f" not {delta:.4g}",
            "a smaller gamma; equal centres cannot be told apart",
        )
    return _network(centres, values, np.full(4, float(delta)), STEPS, 1.0, (1.0 - q, -float(q)))


def memorise_printed(
    centres: Float[np.ndarray, "centres inputs"],
    values: Float[np.ndarray, " centres"],
    delta: Real,
) -> Network:
    r"""The network as printed: its bump $\nu(x) - \nu(2 \delta - x)$ is 0 at the centre.

    Kept to show how it fails.

    Reference: edelman2022, proof of Lemma B.8.
    """
    q, widths = centres.shape[1], np.array([1.0, 1.0, -1.0, -1.0]) * delta
    steps, bias = np.array([2.0, 1.0, 2.0, 1.0]), (1.0 - q / delta, -q / delta)
    return _network(centres, values, widths, steps, 1.0 / delta, bias)


def _network(
    centres: np.ndarray,
    values: np.ndarray,
    widths: np.ndarray,
    steps: np.ndarray,
    height: Real,
    bias: tuple[Real, Real],
) -> Network:
    """Four ReLUs per centre and input make a bump; a pair of units adds a centre's bumps up."""
    n, q = centres.shape
    first = np.zeros((q + 1, 4, n, q))
    for j in range(q):
        first[j, :, :, j] = 1.0 / widths[:, None]
    first[q] = -centres[None] / widths[:, None, None] + steps[:, None, None]
    second = np.zeros((4, n, q, 2, n))
    for i in range(n):
        second[:, i, :, :, i] = height * SIGNS[:, None, None]
    return Network(
        first.reshape(q + 1, 4 * n * q),
        np.vstack([second.reshape(4 * n * q, 2 * n), np.repeat(bias, n)]),
        np.concatenate([values, -values]),
    )


def evaluate(net: Network, inputs: Float[np.ndarray, "*batch inputs"]) -> np.ndarray:
    """What the network computes."""
    hidden = np.maximum(inputs @ net.first[:-1] + net.first[-1], 0.0)
    pairs = np.maximum(hidden @ net.second[:-1] + net.second[-1], 0.0)
    return np.asarray(pairs @ net.readout)
