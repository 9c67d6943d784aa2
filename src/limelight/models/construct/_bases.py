r"""Nearly orthogonal unit vectors: what marks the positions of a construction.

$\Delta = \max_{i \ne j} |v_i^\top v_j|$. Orthonormal vectors need as many coordinates as there are
positions; random signs about $4 \ln T / \Delta^2$; chirps $2p$ for $p^2$ vectors with
$\Delta \le 1/\sqrt p$, and they are deterministic.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from limelight._core.arrays import Real
from limelight._core.errors import InputError

KINDS = ("orthonormal", "signs", "chirp")
#: Entries of the vectors, and of the table of their inner products.
MOST_ENTRIES = 2**26
#: Largest share of draws that may miss the target before the builder gives up.
MOST_DRAWS = 50


@dataclass(frozen=True)
class Basis:
    """Unit vectors, a row each, and how they were made.

    Args:
        kind: `orthonormal`, `signs`, `chirp` or `none` (positions need no marks).
        vectors: One a position.
        bound: What theory says of their largest inner product.
        seed: Of random signs.
        prime: Of chirps.
    """

    kind: str
    vectors: Float[np.ndarray, "length dimension"]
    bound: Real
    seed: int | None = None
    prime: int | None = None

    @property
    def measured(self) -> float:
        """The largest inner product of two different vectors, in absolute value."""
        gram = np.abs(self.vectors @ self.vectors.T)
        np.fill_diagonal(gram, 0.0)
        return float(gram.max()) if len(gram) > 1 else 0.0


def check_room(length: int, size: int) -> None:
    """Refuse vectors, or tables of their inner products, that would not fit."""
    if length * max(length, size) > MOST_ENTRIES:
        raise InputError(
            f"{length} vectors of {size} coordinates need tables of more than 2^26 entries",
            "fewer positions (8192 at most), fewer coordinates, or trainable positions",
        )


def orthonormal(length: int) -> Basis:
    """The axes."""
    check_room(length, length)
    return Basis("orthonormal", np.eye(length), 0.0)


def random_signs(length: int, target: Real, seed: int = 0, dimension: int | None = None) -> Basis:
    r"""Random signs over $\sqrt{d_0}$, drawn again until $\Delta$ is at most the target.

    $d_0 \ge 4 \ln(T) / \Delta^2$ suffices with positive probability.

    Departures: the paper shows that such vectors exist; these are drawn and measured.

    Example:
        >>> random_signs(50, 0.5).measured <= 0.5
        True

    Reference: edelman2022, Appendix B (approximately orthonormal vectors).
    """
    size = dimension or max(1, math.ceil(4 * math.log(max(length, 2)) / target**2))
    check_room(length, size)
    rng = np.random.default_rng(seed)
    for _ in range(MOST_DRAWS):
        basis = Basis("signs", rng.choice([-1.0, 1.0], (length, size)) / size**0.5, target, seed)
        if basis.measured <= target:
            return basis
    raise InputError(
        f"{MOST_DRAWS} draws of {length} sign vectors of length {size} missed Delta = {target:.3g}",
        "use more coordinates, or basis=chirp",
    )


def chirp(length: int, prime: int) -> Basis:
    r"""Quadratic chirps: phases $2\pi (l n^2 + c n) / p$, vector $t$ with $l = t \bmod p$.

    Their complex inner products are quadratic Gauss sums, of modulus $1/\sqrt p$ for different
    $l$ and 0 for equal $l$, so $\Delta \le 1/\sqrt p$ with $2p$ coordinates.

    Departures: not in the paper.

    Example:
        >>> round(chirp(1000, 37).measured, 4)
        0.1644
    """
    check_room(length, 2 * prime)
    if prime < 3 or not _is_prime(prime) or prime**2 < length:
        raise InputError(
            f"p = {prime} does not give {length} chirps", "an odd prime whose square is enough"
        )
    n, t = np.arange(prime), np.arange(length)[:, None]
    phase = 2 * np.pi * ((t % prime * n**2 + t // prime * n) % prime) / prime
    vectors = np.concatenate([np.cos(phase), np.sin(phase)], axis=1) / prime**0.5
    return Basis("chirp", vectors, prime**-0.5, prime=prime)


def choose(kind: str, length: int, sparsity: int, seed: int = 0) -> Basis:
    r"""A basis by name: `orthonormal`, `signs` or `signs:d`, `chirp` or `chirp:p`, or `auto`.

    Without a size, $\Delta \le 1 / (3 s - 1)$ is aimed at, which makes $\rho \le 1/2$. `auto` is
    orthonormal up to 64 positions and chirps beyond.
    """
    name, _, size = kind.partition(":")
    target = 1.0 / (3 * sparsity - 1)
    if size and (not size.isdecimal() or int(size) < 1):
        raise InputError(f"{kind!r}: {size!r} is not a size", "for example chirp:37 or signs:400")
    if name == "auto":
        name = "orthonormal" if length <= 64 else "chirp"
    if name == "orthonormal":
        return orthonormal(length)
    if name == "signs":
        aim = target if not size else math.sqrt(4 * math.log(max(length, 2)) / int(size))
        return random_signs(length, aim, seed, int(size) if size else None)
    if name == "chirp":
        return chirp(length, int(size) if size else _prime_for(length, target))
    raise InputError(f"unknown basis {kind!r}", "known: auto, " + ", ".join(KINDS))


def _prime_for(length: int, target: Real) -> int:
    p = 3
    while not (_is_prime(p) and p**2 >= length and p**-0.5 <= target):
        p += 2
    return p


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % k for k in range(2, math.isqrt(n) + 1))
