r"""Prompts of linear regression: labelled examples of a new task, then a query (zhang2024)."""

from typing import Literal, NamedTuple, get_args

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
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
from limelight._core.shown import Shown
from limelight._core.types import Number, PRNGKey, Scalar
from limelight.worlds.base import World

Response = Literal["linear", "sign", "cube"]
Shift = Literal["none", "task", "query", "scaled", "reversed", "random", "orthogonal"]
#: The tasks and the queries of a shift, repeated to the dimension.
TASKS, QUERIES = (4.0, 0.0, 1.0, 0.1), (0.1, 0.2, 0.3, 0.9)


class Prompt(eqx.Module):
    r"""One prompt, and what it asks for.

    Args:
        covariates: $x_1, …, x_N$.
        responses: $y_1, …, y_N$.
        query: $x_q$.
        target: $y_q$.

    Example:
        >>> sorted(Prompt.__dataclass_fields__)
        ['covariates', 'query', 'responses', 'target']
    """

    covariates: Float[Array, "examples dimension"]
    responses: Float[Array, " examples"]
    query: Float[Array, " dimension"]
    target: Scalar

    @property
    def statistic(self) -> Float[Array, " dimension"]:
        r"""$\beta = \frac1N\sum_i y_i x_i$, all that linear attention reads of the examples."""
        return self.responses @ self.covariates / len(self.responses)

    @property
    def tokens(self) -> Float[Array, "tokens width"]:
        r"""Columns $(x_i, y_i)$ of the paper's matrix $E$ as rows, the query's label slot 0."""
        pairs = jnp.concatenate([self.covariates, self.responses[:, None]], axis=1)
        return jnp.concatenate([pairs, jnp.append(self.query, 0.0)[None]])


class Asked(NamedTuple):
    r"""What a layer reads of a prompt: $\beta$ at some lengths, the query, and the target."""

    statistics: Float[Array, "lengths dimension"]
    query: Float[Array, " dimension"]
    target: Scalar


class PromptLaw(NamedTuple):
    r"""Diagonals of the covariances of one prompt, and its task."""

    context: Float[Array, " dimension"]
    query: Float[Array, " dimension"]
    task: Float[Array, " dimension"]


@kind("world.prompts")
class Prompts(World[None, Prompt]):
    r"""Examples of one linear regression, and a query whose response is asked for.

    $x_1, …, x_N, x_q \sim N(0, \Lambda)$, a task $w \sim N(0, I)$, $y_i = w^\top x_i$.
    $\Lambda$ is diagonal with eigenvalues $\frac1d(1 + g\frac{d+1-2i}{d-1})$: trace 1, white
    at $g = 0$. For tests the law may be shifted away from that of the training:

    - `task`: $w$ has the covariance (4, 0, 1, .1), repeated; `query`: $x_q$ has (.1, .2, .3, .9).
    - `scaled`: all covariates have the covariance $c\Lambda$; `reversed`: the spectrum backwards.
    - `random`: a fresh diagonal covariance per prompt, its eigenvalues Exponential(1).
    - `orthogonal`: the query is projected off the span of the prompt.

    Notation: `dimension` is $d$, `examples` $N$ (the test length $M$), `spread` $g$, `noise` the
        deviation of the labels' noise, `factor` $c$.
    Departures: a response that is not linear has one fixed task, equal entries and
        $w^\top\Lambda w = 1$, because a random one has no moments that a standard error could rest
        on.

    Args:
        dimension: Length of a covariate.
        examples: Labelled examples of a prompt; the query is not counted.
        spread: How far the spectrum is from white, below 1.
        noise: Deviation of the noise on every label.
        response: What is made of $w^\top x$.
        shift: How the law differs from that of the training.
        factor: Scale of the covariates, where the shift is `scaled`.

    Example:
        >>> Prompts(dimension=3, examples=10).check()  # refuses what makes no sense

    Reference: zhang2024, Sections 3.1 and 4.2.
    """

    dimension: int = eqx.field(static=True, default=4)
    examples: int = eqx.field(static=True, default=31)
    spread: Number = 0.6
    noise: Number = 0.0
    response: Response = eqx.field(static=True, default="linear")
    shift: Shift = eqx.field(static=True, default="none")
    factor: Number = 1.0

    @property
    def spectrum(self) -> Float[Array, " dimension"]:
        r"""Eigenvalues of $\Lambda$, falling."""
        steps = jnp.linspace(1.0, -1.0, self.dimension)
        return (1 + self.spread * steps) / self.dimension

    def law(self, key: PRNGKey) -> PromptLaw:
        """The covariances and the task of one prompt."""
        k_task, k_law = named(key, "task", "law")
        d, spectrum = self.dimension, self.spectrum
        cycled = lambda values: jnp.asarray(np.resize(values, d), spectrum.dtype)
        context = {
            "scaled": self.factor * spectrum,
            "reversed": spectrum[::-1],
            "random": jr.exponential(k_law, (d,)),
        }.get(self.shift, spectrum)
        query = cycled(QUERIES) if self.shift == "query" else context
        spread = jnp.sqrt(cycled(TASKS)) if self.shift == "task" else jnp.ones(d)
        task = spread * jr.normal(k_task, (d,))
        if self.response != "linear":
            task = jnp.ones(d) / jnp.sqrt(context.sum())
        return PromptLaw(context, query, task)

    def respond(self, key: PRNGKey, product: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        r"""Responses to $w^\top x$, with their noise."""
        clean = {"linear": product, "sign": jnp.sign(product), "cube": product**3}[self.response]
        return clean + self.noise * jr.normal(key, product.shape)

    def sample(self, key: PRNGKey, truth: None, index: Int[Array, ""]) -> Prompt:
        """One prompt, drawn as it is written."""
        k_law, k_x, k_q, k_y, k_target = named(key, "law", "x", "query", "y", "target")
        law = self.law(k_law)
        x = jr.normal(k_x, (self.examples, self.dimension)) * jnp.sqrt(law.context)[None, :]
        query = jnp.sqrt(law.query) * jr.normal(k_q, (self.dimension,))
        if self.shift == "orthogonal":
            basis, _ = jnp.linalg.qr(x.T)
            query = query - basis @ (basis.T @ query)
        return Prompt(
            x,
            self.respond(k_y, x @ law.task),
            query,
            self.respond(k_target, law.task @ query),
        )

    def tell(self, truth: None, item: Prompt) -> Shown:
        """The prompt as a table: inputs and, below them, responses; the query has none yet."""
        x = np.concatenate([np.asarray(item.covariates), np.asarray(item.query)[None]])
        y = np.append(np.asarray(item.responses), np.nan)
        groups = np.append(np.zeros(len(x) - 1, dtype=int), 1)
        words = f"the query's response is {float(item.target):.2f}"
        return Shown(np.concatenate([x, y[:, None]], axis=1), groups, ("example", "query"), words)

    def reduced(self, key: PRNGKey, lengths: tuple[int, ...] = ()) -> Asked:
        r"""What a layer reads of one prompt, in law, from $N + 2d$ random numbers or fewer.

        At several lengths (all of it when none is given) each has its law, on common numbers.

        With $x = \Lambda^{1/2}z$, $u$ along $\Lambda^{1/2}w$ and $a_i = u^\top z_i$ the labels
        depend on the $a_i$ alone; given them, $\sum_i y_i z_i$ is Gaussian across $u$ with variance
        $\sum_i y_i^2$. Linear responses without noise need $\sum_i a_i^2$ alone.
        """
        k_law, k_a, k_g, k_q, k_y, k_target = named(key, "law", "a", "g", "query", "y", "target")
        law = self.law(k_law)
        root = jnp.sqrt(law.context)
        length = jnp.linalg.norm(root * law.task)
        u = root * law.task / length
        g, M = jr.normal(k_g, (self.dimension,)), np.array(lengths or (self.examples,))
        if self.response == "linear" and isinstance(self.noise, float) and not self.noise:
            more = jr.chisquare(k_a, np.diff(M, prepend=0).astype(float))  # only squares are asked
            squares = jnp.cumsum(more)
            along, square = length * squares, length**2 * squares
        else:
            a = jr.normal(k_a, (self.examples,))
            y = self.respond(k_y, length * a)
            along, square = jnp.cumsum(y * a)[M - 1], jnp.cumsum(y**2)[M - 1]
        sums = jnp.outer(along, u) + jnp.outer(jnp.sqrt(square), g - u * (u @ g))
        query = jnp.sqrt(law.query) * jr.normal(k_q, (self.dimension,))
        target = self.respond(k_target, law.task @ query)
        return Asked(sums * root[None, :] / M[:, None], query, target)

    def check(self) -> None:
        """Refuse sizes, spreads and words that make no sense."""
        check_least(self, ("dimension",), 2, "world.")
        check_least(self, ("examples",), prefix="world.")
        check_between(self, ("spread",), 0, 1, "world.")
        check_least(self, ("noise",), 0, "world.")
        check_positive(self, ("factor",), "world.")
        check_word("world.response", self.response, get_args(Response))
        check_word("world.shift", self.shift, get_args(Shift))
        if self.shift == "orthogonal" and self.examples >= self.dimension:
            raise InputError(
                f"world.examples = {self.examples} span everything",
                f"a query is orthogonal to fewer than world.dimension = {self.dimension}",
            )
