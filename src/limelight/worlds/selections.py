r"""Sequences from each of which attention is to select one token (tarzanagh2023)."""

from typing import Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from limelight._core.errors import InputError, check_least, check_word
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.shown import Shown, in_words
from limelight._core.types import Number, PRNGKey, Scalar
from limelight.worlds.base import World

SelectionLaw = Literal["sphere", "levels", "mixed"]


class TokenChoice(eqx.Module):
    r"""One sequence, the query that attends to it, and what each token would be worth alone.

    Args:
        tokens: $x_1, …, x_T$; rows beyond the last one are 0.
        query: $z$; a single 1 where a prompt is trained in place of $W$.
        label: $Y$, -1 or 1.
        values: The head's output at each token, $\langle v, x_t\rangle$.
        kept: Which tokens exist.

    Example:
        >>> sorted(TokenChoice.__dataclass_fields__)
        ['kept', 'label', 'query', 'tokens', 'values']
    """

    tokens: Float[Array, "tokens dimension"]
    query: Float[Array, " width"]
    label: Scalar
    values: Float[Array, " tokens"]
    kept: Bool[Array, " tokens"]

    @property
    def scores(self) -> Float[Array, " tokens"]:
        r"""$\gamma_t = Y\langle v, x_t\rangle$; the smallest number where there is no token."""
        return jnp.where(self.kept, self.label * self.values, -jnp.inf)


@kind("world.selections")
class Selections(World[Array | None, TokenChoice]):
    r"""Tokens and queries uniform on the unit sphere, labels fair signs.

    - `sphere`: a linear head $v$ uniform on the sphere too, scores $Y\langle v, x_t\rangle$.
    - `levels`: no head; one token scores 1, all others `low`.
    - `mixed`: the head $\sum_k\mathrm{relu}(V^\top m)_k$, $V$ Gaussian with $\|V\|_F = 1$.

    Numbers of tokens and dimensions can be swept for free where there is room for the largest; the
    draws do not depend on the room.

    Args:
        law: How tokens are scored.
        tokens: $T$.
        dimension: $d$.
        low: The score of the other tokens, `levels`.
        most_tokens: Room; 0 for exactly `tokens`.
        most_dimension: Room; 0 for exactly `dimension`.

    Departures: the hidden width of $V$ is $d$; the notebooks' was not recorded.

    Example:
        >>> Selections(tokens=4, dimension=3).check()  # refuses what makes no sense

    Reference: tarzanagh2023 and its released notebooks.
    """

    law: SelectionLaw = eqx.field(static=True, default="sphere")
    tokens: Number = 8
    dimension: Number = 10
    low: Number = 0.5
    most_tokens: int = eqx.field(static=True, default=0)
    most_dimension: int = eqx.field(static=True, default=0)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of $W$, with their room."""
        width = self.most_dimension or int(self.dimension)
        return width, width

    @property
    def inside(self) -> Bool[Array, "rows columns"]:
        """Which entries of $W$ exist."""
        there = jnp.arange(self.shape[0]) < self.dimension
        return there[:, None] & there[None, :]

    def draw(self, key: PRNGKey) -> Array | None:
        r"""The head: $v$, $V$, or nothing."""
        if self.law == "levels":
            return None
        if self.law == "sphere":
            return self._direction(key)
        rows = jax.vmap(lambda i: self._gauss(jr.fold_in(key, i)))(jnp.arange(self.shape[0]))
        rows = jnp.where(self.inside, rows, 0.0)
        return rows / jnp.linalg.norm(rows)

    def sample(self, key: PRNGKey, truth: Array | None, index: Int[Array, ""]) -> TokenChoice:
        """One sequence."""
        k_x, k_z, k_y, k_opt = named(key, "tokens", "query", "label", "opt")
        places = jnp.arange(self.most_tokens or int(self.tokens))
        kept = places < self.tokens
        x = jax.vmap(lambda t: self._direction(jr.fold_in(k_x, t)))(places)
        x = jnp.where(kept[:, None], x, 0.0)
        label = jnp.where(jr.bernoulli(k_y), 1.0, -1.0)
        if self.law == "levels":
            opt = jr.randint(k_opt, (), 0, self.tokens)
            values = label * jnp.where(places == opt, 1.0, self.low)
        else:
            assert truth is not None
            seen = x @ truth
            values = seen if self.law == "sphere" else jnp.sum(jax.nn.relu(seen), axis=1)
        return TokenChoice(x, self._direction(k_z), label, jnp.where(kept, values, 0.0), kept)

    def _gauss(self, key: PRNGKey) -> Float[Array, " width"]:
        width = self.shape[0]
        return jnp.where(jnp.arange(width) < self.dimension, jr.normal(key, (width,)), 0.0)

    def _direction(self, key: PRNGKey) -> Float[Array, " width"]:
        found = self._gauss(key)
        return found / jnp.linalg.norm(found)

    def tell(self, truth: Array | None, item: TokenChoice) -> Shown:
        """The tokens, and which of them scores best."""
        return _told(item)

    def check(self) -> None:
        """Refuse sizes and words that make no sense."""
        check_word("world.law", self.law, get_args(SelectionLaw))
        check_least(self, ("tokens",), 2, "world.")
        check_least(self, ("dimension",), prefix="world.")
        check_least(self, ("most_tokens", "most_dimension"), 0, "world.")
        for name in ("tokens", "dimension"):
            room = getattr(self, f"most_{name}")
            if 0 < room < getattr(self, name):
                raise InputError(
                    f"world.{name} = {getattr(self, name)} is above world.most_{name} = {room}"
                )
        if self.law == "levels" and not self.low < 1:
            raise InputError(f"world.low = {self.low:g}", "below 1, the score of the best token")


def _told(item: TokenChoice) -> Shown:
    """The tokens that exist, the best of them marked."""
    kept = np.flatnonzero(np.asarray(item.kept))
    values, scores = np.asarray(item.tokens, float)[kept], np.asarray(item.scores)[kept]
    best = np.isclose(scores, scores.max(initial=-np.inf))
    layout = "plane" if values.shape[1] == 2 else "row"
    names, words = ("the best token", "other tokens"), f"label {in_words(item.label)}"
    return Shown(values, np.where(best, 0, 1), names, words, layout)


#: Tokens, scores and labels of worlds by hand. C stands for the score that `level` sets.
_ARRANGED: dict[str, tuple[list, list, list]] = {
    "equal": ([[(-0.1, 1), (1, 0), (0, 0)]], [(1, 0.9, 0.9)], [1]),
    "uneven": ([[(-0.1, 1), (1, 0), (0, 0)]], [(1, 0.9, 0)], [1]),
    "pair": ([[(0, 0), (1, 1)], [(0, 0), (1, -1)]], [(0, "C"), (0, 1)], [1, 1]),
    "tight": ([[(0, 0), (1, 1)], [(0, 0), (1, -1)], [(0, 0), (0.5, 1)]], [], [1, -1, 1]),
    "loose": ([[(0, 0), (1, 1)], [(0, 0), (1, -1)], [(0, 0), (0.5, 1.5)]], [], [1, -1, 1]),
    "x1": ([[(-3, 1), (1, 0), (0, 0), (-5, 0)]], [(1, 0.9, 0, 0)], [1]),
    "x2": ([[(1, 0), (0, 0)], [(-1.2, 1), (0, 0)]], [(1, 0), (1, 0)], [1, 1]),
    "x3": ([[(-3, 1), (-2, 1), (3, -3), (2, 2)]], [(1, 0.2, 0, 0.9)], [1]),
    "x4": ([[(0, 0), (-1, 1), (-1, -1), (-1, 0)]], [(0.5, -1, -1, 0.6)], [1]),
}


@kind("world.arrangements")
class Arrangements(World[None, TokenChoice]):
    r"""A few tokens in the plane, whose answers are known; a prompt is trained.

    - `equal`, `uneven`: one sample, three tokens; the other scores (.9, .9) or (.9, 0).
    - `pair`: two samples, two tokens; scores (0, C) and (0, 1).
    - `tight`, `loose`: three samples for a head that is trained too; scores are left at 0.
    - `x1` to `x4`: what the printed statements leave out; see docs/errata.

    Args:
        name: Which.
        level: $C$ of `pair`.

    Example:
        >>> Arrangements("uneven").arrays()[1].tolist()
        [[1.0, 0.9, 0.0]]

    Reference: the released notebooks; `x1` to `x4` are limelight's.
    """

    name: str = eqx.field(static=True, default="uneven")
    level: Number = 1.0

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of $W$: a prompt is one column."""
        return 2, 1

    @property
    def inside(self) -> Bool[Array, "rows columns"]:
        """Which entries of $W$ exist: all."""
        return jnp.ones(self.shape, bool)

    @property
    def samples(self) -> int:
        """How many samples it has."""
        return len(_ARRANGED[self.name][0])

    def arrays(self, level: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Tokens, scores and labels, as they are written."""
        tokens, scores, labels = _ARRANGED[self.name]
        X = np.array(tokens, float)
        table = [[level if s == "C" else s for s in row] for row in scores]
        return X, np.array(table or np.zeros(X.shape[:2]), float), np.array(labels, float)

    def sample(self, key: PRNGKey, truth: None, index: Int[Array, ""]) -> TokenChoice:
        """Sample number `index`; after the last one the first comes again."""
        tokens, scores, labels = (jnp.asarray(part, float) for part in self.arrays(1.0))
        if self.name == "pair":
            scores = scores.at[0, 1].set(self.level)
        i = index % self.samples
        kept = jnp.ones(tokens.shape[1], bool)
        return TokenChoice(tokens[i], jnp.ones(1), labels[i], labels[i] * scores[i], kept)

    def tell(self, truth: None, item: TokenChoice) -> Shown:
        """The tokens, and which of them scores best."""
        return _told(item)

    def check(self) -> None:
        """Refuse a name that is not known, and a score that is none."""
        check_word("world.name", self.name, tuple(_ARRANGED))
        if not self.level > 0:
            raise InputError(f"world.level = {self.level:g}", "a positive number")
