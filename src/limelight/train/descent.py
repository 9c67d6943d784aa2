r"""Full-batch gradient descent on model (T): closed formulas, three ways to choose the steps.

With $z = Xv$, $O = D z S^\top$, $F = \sum_i \sigma(O_i)$ and $r = y\,\mathrm{sigmoid}(-yF)$:

$$-\partial_{A_{ij}} L = \tfrac1\tau E[r\,\sigma'(O_i) S_{ij} (D z_j - O_i)]\ (i \ne j), \qquad
  -\partial_v L = E\Big[r D \sum_{i,j} \sigma'(O_i) S_{ij} X_j\Big]$$

A step reads the patches twice, for $\partial_v L$ and for $u = X\,\partial_v L$: the next
$z$ is $z + \eta_v u$, and the curvature along the gradient comes from the same $u$. It costs
$4NDd + 6ND^2$ FLOPs, $2ND^2$ more where the steps follow the curvature.
"""

from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from limelight._core.backend import on_gpu
from limelight._core.errors import check_least, check_multiple, check_positive, check_word
from limelight._core.kinds import kind
from limelight._core.numerics import tree_finite
from limelight._core.types import Number
from limelight.models.positional import PositionalNet
from limelight.train._loop import LoopState, Moved, Trace, run_blocks

MODES = ("shared", "two_rate", "curvature")
Tokens = Float[Array, "examples tokens dimension"]
Marks = Float[Array, "examples tokens"]
Outputs = Float[Array, " examples"]


class Sample(eqx.Module):
    """A training set: images, labels, and the weight of each image, which sum to one."""

    tokens: Tokens
    labels: Outputs
    weights: Outputs


class Step(eqx.Module):
    """One step: the rates taken, and the ascent direction and move of each group."""

    logit_rate: Float[Array, ""]
    value_rate: Float[Array, ""]
    logits: Float[Array, "tokens tokens"]
    value: Float[Array, " dimension"]
    projections: Marks


@kind("train.descent")
class Descent(eqx.Module):
    r"""How the two groups of weights, $A$ and $v$, share a step.

    - `shared`: $\eta_A = \eta_v$, the paper's. Stiff: the value vector allows about $10^{-2}$, and
      attention then needs $10^5$ steps or more.
    - `two_rate`: $\eta_A = \kappa\,\eta_v$.
    - `curvature`: each group steps by its Gauss-Newton curvature along its own gradient, capped:
      $\eta_v = \min(c |g_v|^2/E[s\,dF_v^2],\ 0.2 \max(|v|, \nu^{1/(p-1)}/C)/|g_v|)$ and
      $\eta_A = \min(c |g_A|^2/E[s\,dF_A^2],\ \delta/\max|g_A|)$, with
      $s = \mathrm{sigmoid}(F)\,\mathrm{sigmoid}(-F)$.

    All three are one number per group and step: stationary points and the symmetry under rotations
    of $v$ and permutations of patches are kept; only the relative speed changes.

    Departures: the paper trains with one rate; two_rate and curvature are ours.

    Args:
        mode: `shared`, `two_rate` or `curvature`.
        rate: $\eta_v$ of the modes with constant rates.
        ratio: $\kappa$ of `two_rate`.
        pace: $c$ of `curvature`.
        reach: $\delta$ of `curvature`, how far any entry of $A$ may move in a step.
        steps: Steps at most.
        every: Steps of a block: after each, everything is logged.
        beyond: Training ends at so many times the step at which the training loss first is at the
            level it is asked to reach.

    Example:
        >>> import limelight as ll
        >>> ll.train.Descent(mode="two_rate", steps=100).mode
        'two_rate'
    """

    mode: Literal["shared", "two_rate", "curvature"] = eqx.field(static=True, default="curvature")
    rate: Number = 3e-3
    ratio: Number = 3000.0
    pace: Number = 0.5
    reach: Number = 0.05
    steps: int = eqx.field(static=True, default=600)
    every: int = eqx.field(static=True, default=5)
    beyond: Number = 4.0

    @property
    def blocks(self) -> int:
        """Blocks of steps."""
        return self.steps // self.every

    def check(self) -> None:
        """Refuse settings that make no sense."""
        check_word("descent.mode", self.mode, MODES)
        check_positive(self, ("rate", "ratio", "pace", "reach"), "descent.")
        check_least(self, ("beyond",), prefix="descent.")
        check_multiple(self, "steps", "every", "descent.")

    def step(self, net: PositionalNet, z: Marks, sample: Sample, size: int) -> Step:
        """One step of both groups, on free logits, from $z = Xv$; `size` is the set size $C$."""
        act, tau, S = net.activation, net.temperature, net.attention
        D = S.shape[0]
        O = D * z @ S.T
        slope = act.slope(O)
        r, s = _residuals(sample, jnp.sum(act(O), axis=1))
        H = r[:, None] * slope
        pull = D * H.T @ z - jnp.sum(H * O, axis=0)[:, None]
        g_A = jnp.where(jnp.eye(D, dtype=bool), 0.0, S * pull / tau)
        reading = D * slope @ S  # how F reads each patch
        g_v = _gathered(r[:, None] * reading, sample.tokens)
        u = sample.tokens @ g_v
        if self.mode == "curvature":
            dS = S * (g_A - jnp.sum(S * g_A, axis=1, keepdims=True)) / tau
            dF_A = D * jnp.sum((slope @ dS) * z, axis=1)
            dF_v = jnp.sum(reading * u, axis=1)
            eta_A = self._newton(g_A, s, dF_A, self.reach / _above_zero(jnp.max(jnp.abs(g_A))))
            eta_v = self._newton(g_v, s, dF_v, self._largest(net, g_v, size))
        else:
            eta_v = jnp.asarray(self.rate, z.dtype)
            eta_A = eta_v * (self.ratio if self.mode == "two_rate" else 1.0)
        return Step(eta_A, eta_v, eta_A * g_A, eta_v * g_v, eta_v * u)

    def tune(self, net: PositionalNet, mixed: Tokens, sample: Sample, size: int) -> Step:
        """One step of the value vector with attention still, from $Y = D S X$: `mixed`."""
        O = mixed @ net.value
        slope = net.activation.slope(O)
        r, s = _residuals(sample, jnp.sum(net.activation(O), axis=1))
        g_v = _gathered(r[:, None] * slope, mixed)
        u = mixed @ g_v
        if self.mode == "curvature":
            eta = self._newton(g_v, s, jnp.sum(slope * u, axis=1), self._largest(net, g_v, size))
        else:
            eta = jnp.asarray(self.rate, O.dtype)
        still = jnp.zeros_like(net.weights)
        return Step(jnp.zeros_like(eta), eta, still, eta * g_v, eta * u)

    def _newton(self, g: Array, s: Outputs, dF: Outputs, largest: Array) -> Float[Array, ""]:
        return jnp.minimum(self.pace * jnp.sum(g**2) / _above_zero(jnp.sum(s * dF**2)), largest)

    def _largest(self, net: PositionalNet, g_v: Array, size: int) -> Float[Array, ""]:
        length = jnp.maximum(jnp.linalg.norm(net.value), net.activation.knee / size)
        return 0.2 * length / _above_zero(jnp.linalg.norm(g_v))


class DescentRun(eqx.Module):
    """What a run leaves.

    Args:
        net: The weights, the last finite ones where training diverged.
        block: Blocks run.
        stop: The first block that left the training loss at its level; -1 for none.
        diverged: Whether a loss or a weight was not finite.
        traces: Logs: one entry for the start and one per block; NaN after the end.
    """

    net: PositionalNet
    block: Int[Array, ""]
    stop: Int[Array, ""]
    diverged: Bool[Array, ""]
    traces: Trace


def train(
    descent: Descent,
    net: PositionalNet,
    sample: Sample,
    size: int,
    read: Callable[[PositionalNet], Trace] = lambda net: {},
    level: Number = -1.0,
) -> DescentRun:
    """Train both groups, followed by `read`, until well `beyond` the level or to the end."""

    def block(net: PositionalNet) -> tuple[PositionalNet, Trace]:
        def one(carry, _):
            net, z = carry
            step = descent.step(net, z, sample, size)
            return (_moved(net, step), z + step.projections), (step.logit_rate, step.value_rate)

        # z is summed up over a block only, so that rounding does not build up.
        (net, _), rates = jax.lax.scan(one, (net, sample.tokens @ net.value), length=descent.every)
        return net, {"logit_rate": rates[0][-1], "value_rate": rates[1][-1]}

    loss = lambda net: mean_loss(net, sample.tokens @ net.value, sample)
    return _follow(descent, net, block, loss, read, level)


def tune(
    descent: Descent,
    net: PositionalNet,
    sample: Sample,
    size: int,
    read: Callable[[PositionalNet], Trace] = lambda net: {},
) -> DescentRun:
    """Train the value vector alone: $Y = D S X$ is computed once, each step then reads it twice."""
    D = len(net.weights)
    mixed = D * jnp.einsum("ij,njk->nik", net.attention, sample.tokens)

    def block(net: PositionalNet) -> tuple[PositionalNet, Trace]:
        def one(net, _):
            step = descent.tune(net, mixed, sample, size)
            return _moved(net, step), step.value_rate

        net, rates = jax.lax.scan(one, net, length=descent.every)
        return net, {"value_rate": rates[-1]}

    loss = lambda net: _mean(sample, jnp.sum(net.activation(mixed @ net.value), axis=1))
    return _follow(descent, net, block, loss, read, -1.0)


def mean_loss(net: PositionalNet, z: Marks, sample: Sample) -> Float[Array, ""]:
    r"""$E \log(1 + e^{-yF})$."""
    return _mean(sample, jnp.sum(net.activation(len(net.weights) * z @ net.attention.T), axis=1))


def _follow(
    descent: Descent,
    net: PositionalNet,
    steps: Callable[[PositionalNet], tuple[PositionalNet, Trace]],
    loss: Callable[[PositionalNet], Float[Array, ""]],
    read: Callable[[PositionalNet], Trace],
    level: Number,
) -> DescentRun:
    """Blocks of steps until the end; what is not finite ends the trial at once."""

    def block(net: PositionalNet, memory: None, numbers: Array) -> Moved:
        moved, rates = steps(net)
        now = loss(moved)
        finite = jnp.isfinite(now) & tree_finite(moved)
        return Moved(moved, memory, {"loss": now, **rates}, finite)

    def reached(state: LoopState) -> Int[Array, ""]:
        below = state.reports["loss"] <= level  # NaN beyond what has run
        return jnp.where(jnp.any(below), jnp.argmax(below) + 1, -1)

    def ends(state: LoopState) -> Bool[Array, ""]:
        stop = reached(state)
        return state.diverged | (stop >= 0) & (state.block >= descent.beyond * stop)

    end = run_blocks(block, net, None, descent.blocks, descent.every, read=read, ends=ends)
    # The loss is known before the first step; rates are not.
    first = {name: jnp.full(1, jnp.nan) for name in end.reports} | {"loss": loss(net)[None]}
    reports = {name: jnp.concatenate([first[name], log]) for name, log in end.reports.items()}
    return DescentRun(
        end.weights, end.block, reached(end), end.diverged, {**end.readings, **reports}
    )


def _moved(net: PositionalNet, step: Step) -> PositionalNet:
    moved = net.weights + step.logits, net.value + step.value
    return eqx.tree_at(lambda n: (n.weights, n.value), net, moved)


def _gathered(weights: Marks, tokens: Tokens) -> Float[Array, " dimension"]:
    """All patches of all images summed up, each by its weight.

    On a CPU row by row: a third faster than as a product, and rounding is a twentieth of that. A
    GPU keeps its order of summing, since most published tables are from there.
    """
    if on_gpu():
        return jnp.einsum("nj,njk->k", weights, tokens)
    return jnp.sum(weights.reshape(-1, 1) * tokens.reshape(-1, tokens.shape[-1]), axis=0)


def _residuals(sample: Sample, F: Outputs) -> tuple[Outputs, Outputs]:
    """Each image's weight times $r$, and times $s$."""
    miss = jax.nn.sigmoid(-sample.labels * F)
    return sample.weights * sample.labels * miss, sample.weights * miss * (1.0 - miss)


def _mean(sample: Sample, F: Outputs) -> Float[Array, ""]:
    return jnp.sum(sample.weights * jax.nn.softplus(-sample.labels * F))


def _above_zero(x: Float[Array, ""]) -> Float[Array, ""]:
    return jnp.maximum(x, jnp.finfo(x.dtype).tiny)
