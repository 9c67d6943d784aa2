r"""Tokens to be moved by attention: on a sphere, in a box, or rows around a common one."""

from dataclasses import replace
from typing import Literal, get_args

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int

from limelight._core.errors import (
    InputError,
    check_between,
    check_least,
    check_positive,
    check_word,
)
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.numerics import unit
from limelight._core.shown import Shown, shown_of
from limelight._core.types import Number, PRNGKey
from limelight.worlds.base import World
from limelight.worlds.clusters import equiangular_centres, reduced_noise

Begin = Literal["uniform", "equiangular", "groups", "hemisphere"]


class TokenSet(eqx.Module):
    """One set of tokens, a row each; nothing is asked of it.

    Example:
        >>> sorted(TokenSet.__dataclass_fields__)
        ['tokens']
    """

    tokens: Float[Array, "tokens width"]


@kind("world.sphere")
class Sphere(World[None, TokenSet]):
    r"""Tokens on the unit sphere $S^{d-1}$, up to a rotation.

    - `uniform`: independent and uniform; `hemisphere`: the same, flipped to one side.
    - `equiangular`: every pair has the cosine $\gamma_0$; `groups`: a share $w$ of the tokens at
      one point, the others at a second one of cosine $\gamma_0$.

    Attention with $V = I$ reads inner products only and leaves tokens in their span. Uniform tokens
    are therefore drawn as the normalised rows of a Bartlett factor: $d = 10^6$ costs what $d = n$
    costs, and $d$ can be swept for free.

    Args:
        tokens: $n$.
        dimension: $d$.
        columns: Coordinates that are held, $\min(d, n)$ at least; $n$ when 0.
        start: How tokens are placed.
        cosine: $\gamma_0$, of `equiangular` and `groups`.
        share: $w$, of `groups`.

    Example:
        >>> Sphere(tokens=8, dimension=10**6).check()

    Reference: geshkovski2023, in its later papers; the reduced coordinates are xu2022's.
    """

    tokens: int = eqx.field(static=True, default=32)
    dimension: Number = 64
    columns: int = eqx.field(static=True, default=0)
    start: Begin = eqx.field(static=True, default="uniform")
    cosine: Number = 0.0
    share: Number = 0.5

    @property
    def width(self) -> int:
        """Coordinates of a token."""
        return self.columns or self.tokens

    def sample(self, key: PRNGKey, truth: None, index: Int[Array, ""]) -> TokenSet:
        """One set."""
        n = self.tokens
        if self.start == "equiangular":
            x = equiangular_centres(n, self.cosine)
        elif self.start == "groups":
            corner = jnp.asarray(self.cosine, dtype=float)
            second = jnp.stack([corner, jnp.sqrt(1 - corner**2)])
            inside = (jnp.arange(n) < jnp.round(self.share * n))[:, None]
            pair = jnp.where(inside, jnp.array([[1.0, 0.0]]), second[None, :])
            x = jnp.pad(pair, ((0, 0), (0, self.width - 2)))
        elif self.start == "hemisphere":
            x = jr.normal(key, (n, self.width))
            x = jnp.where((jnp.arange(self.width) < self.dimension)[None, :], x, 0.0)
            x = x * jnp.sign(x[:, :1])
        else:
            x = reduced_noise(key, n, 0, self.dimension)[:, : self.width]
        return TokenSet(unit(x))

    def tell(self, truth: None, item: TokenSet) -> Shown:
        """The tokens as points."""
        return replace(shown_of(item, ()), layout="plane")

    def check(self) -> None:
        """Refuse sets that do not exist."""
        check_least(self, ("tokens", "dimension"), 2, "world.")
        check_word("world.start", self.start, get_args(Begin))
        check_between(self, ("share",), 0, 1, "world.")
        n, d, lowest = self.tokens, self.dimension, -1 / (self.tokens - 1)
        if not (lowest if self.start == "equiangular" else -1) < self.cosine < 1:
            raise InputError(f"world.cosine = {self.cosine:g}", f"above {lowest:.4g} and below 1")
        whole = d if self.start == "hemisphere" else min(d, n)
        needed = {"equiangular": n, "groups": 2}.get(self.start, whole)
        if self.width < needed or self.columns > n:
            raise InputError(
                f"world.columns = {self.width} for {n} tokens in {d} dimensions",
                f"from {needed} to {n}",
            )
        if self.start == "equiangular" and d < n:
            raise InputError(f"{n} tokens at equal angles in {d} dimensions", f"at least {n}")


@kind("world.box")
class Box(World[None, TokenSet]):
    r"""Tokens uniform on $[-h, h]^d$.

    Args:
        tokens: $n$.
        dimension: $d$.
        half: $h$.

    Example:
        >>> Box(tokens=12, dimension=3).half
        5.0

    Reference: geshkovski2023, the released code.
    """

    tokens: int = eqx.field(static=True, default=20)
    dimension: int = eqx.field(static=True, default=2)
    half: Number = 5.0

    def sample(self, key: PRNGKey, truth: None, index: Int[Array, ""]) -> TokenSet:
        """One set."""
        shape = (self.tokens, self.dimension)
        return TokenSet(self.half * jr.uniform(key, shape, minval=-1.0))

    def tell(self, truth: None, item: TokenSet) -> Shown:
        """The tokens as points."""
        return replace(shown_of(item, ()), layout="plane")

    def check(self) -> None:
        """Refuse empty boxes."""
        check_least(self, ("tokens",), 2, "world.")
        check_least(self, ("dimension",), prefix="world.")
        check_positive(self, ("half",), "world.")


@kind("world.rows")
class Rows(World[None, TokenSet]):
    r"""Rows that share a part: $X = 1g^\top + cG$ with Gaussian $g$ and $G$.

    Args:
        tokens: $n$.
        dimension: $d$.
        scale: $c$.

    Example:
        >>> Rows(tokens=8, scale=0.5).scale
        0.5

    Reference: for Dong, Cordonnier and Loukas (2021); their experiments take real text.
    """

    tokens: int = eqx.field(static=True, default=16)
    dimension: int = eqx.field(static=True, default=8)
    scale: Number = 1.0

    def sample(self, key: PRNGKey, truth: None, index: Int[Array, ""]) -> TokenSet:
        """One set."""
        k_common, k_rows = named(key, "common", "rows")
        common = jr.normal(k_common, (1, self.dimension))
        return TokenSet(common + self.scale * jr.normal(k_rows, (self.tokens, self.dimension)))

    def check(self) -> None:
        """Refuse sizes that make no sense."""
        check_least(self, ("tokens",), 2, "world.")
        check_least(self, ("dimension",), prefix="world.")
        check_positive(self, ("scale",), "world.")
