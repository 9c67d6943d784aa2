"""Flows of tokens against known numbers, another solver, and slow loops."""

import functools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from limelight._core.errors import InputError
from limelight.experiments.angle_flow import AngleFlow
from limelight.experiments.cluster_flow import runge_kutta
from limelight.experiments.token_geometry import TokenGeometry
from limelight.measures.clustering import close_pairs, cluster_count, extreme
from limelight.measures.similarity import mean_cosine
from limelight.models.sphere_attention import RescaledAttention, SphereAttention
from limelight.worlds.sphere import Box, Sphere

SPIRAL = np.array([(1 + 0.3 * i) * np.array([np.cos(2.4 * i), np.sin(2.4 * i)]) for i in range(8)])


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def solved(name, start, times):
    """Rescaled tokens by SciPy's solver."""
    moves = RescaledAttention(name).init(jr.key(0), Box(), None)
    shape = start.shape
    field = jax.jit(lambda t, z: moves.velocity(t, z.reshape(shape)).ravel())
    path = solve_ivp(
        lambda t, z: np.asarray(field(jnp.asarray(t), jnp.asarray(z))), (0, times[-1]),
        start.ravel(), t_eval=times, rtol=1e-10, atol=1e-12, method="DOP853",
    )  # fmt: skip
    return path.y.T.reshape(len(times), *shape)


def test_the_spiral_ends_at_three_leaders():
    flow = TokenGeometry(Box(8, 2), RescaledAttention("plane"), until=8.0, looks=4)
    moves = flow.model.init(jr.key(0), flow.world, None)
    seen, _ = jax.jit(lambda z: flow.follow(moves, z))(jnp.asarray(SPIRAL))
    np.testing.assert_allclose(seen[1, 0], [1.9321340, -1.1317369], atol=1e-6)
    P = moves.weights(jnp.asarray(8.0), seen[-1])
    assert np.argmax(P, axis=1).tolist() == [5, 6, 7, 6, 7, 5, 6, 7]
    assert (np.linalg.svd(P, compute_uv=False) > 1e-6).sum() == 3
    leaders = [[2.101890, -1.339195], [-0.725718, 2.700440], [-1.427538, -2.749913]]
    np.testing.assert_allclose(seen[-1, 5:], leaders, atol=1e-6)


def test_six_tokens_on_a_line():
    found = solved("line", np.array([[-1], [-0.4], [0.1], [0.3], [0.9], [2.0]]), [1.0, 3.0])
    one = [-0.71693900, -0.11232287, 0.91260013, 1.09756314, 1.47979477, 1.96034376]
    three = [-0.71408166, -0.58557683, 1.81815209, 1.84335892, 1.89522044, 1.96029167]
    np.testing.assert_allclose(found[..., 0], [one, three], atol=1e-7)


def test_two_planes():
    found = solved("unequal", SPIRAL, [1.0, 8.0])
    assert found[0, 4, 0] == pytest.approx(-2.0722235, abs=1e-6)
    ends = np.where(np.isin(np.arange(8), (0, 3, 5)), 2.10156, -2.07222)
    np.testing.assert_allclose(found[1, :, 0], ends, atol=0.003)


def test_the_power_of_a_layer_where_little_is_left():
    """The first u below a millionth by a plain loop; there the next layer obeys its law."""
    for n, beta, skip, step in ((16, 2.0, 0.0, 1.0), (16, 2.0, 1.0, 0.5), (8, 0.0, 0.0, 1.0)):
        world = Sphere(n, n, start="equiangular")
        model = SphereAttention(strength=beta, skip=skip, step=step)
        read = jax.jit(AngleFlow(world, model, layers=3).trial)(jr.key(0))
        u, layers = 1.0, 0
        while u >= 1e-6:
            e = np.exp(-beta * u)
            own, other = (1 - e) / (1 + (n - 1) * e), e / (1 + (n - 1) * e)
            p, q, s = skip + step * own, step * other, n - (n - 1) * u
            u, layers = p**2 * u / (p**2 + 2 * p * q * s + n * q**2 * s), layers + 1
        assert int(read["below"]) == layers
        assert float(read["power"]) < 1e-5
    far = AngleFlow(Sphere(8, 8, start="equiangular"), SphereAttention(strength=20.0), layers=3)
    unread = jax.jit(far.trial)(jr.key(0))  # e^20 / 8 layers are more than a million
    assert np.isnan([float(unread["below"]), float(unread["power"])]).all()


def test_six_tokens_on_the_circle():
    angle = np.arange(6) ** 1.5
    x = jnp.asarray(np.stack([np.cos(angle), np.sin(angle)], axis=1))
    moves = SphereAttention(4.0).init(jr.key(0), Box(), None)
    go = jax.jit(lambda x: jax.lax.fori_loop(0, 150, lambda _, x: runge_kutta(moves.velocity, x,
                                                                             0.02), x))  # fmt: skip
    after = np.asarray(go(x))
    ends = [-0.25019258, 1.31024422, 2.52537747, 5.20946096, 7.71887092, 11.46446148]
    np.testing.assert_allclose(after, np.stack([np.cos(ends), np.sin(ends)], axis=1), atol=1e-7)
    assert float(mean_cosine(jnp.asarray(after))) == pytest.approx(-0.11870138, abs=1e-7)
    assert moves.energy(jnp.asarray(after)) > moves.energy(x)


def test_clusters_and_pairs_against_slow_loops():
    rng = np.random.default_rng(0)
    angle = np.sort(rng.uniform(0, 1.2, 24))
    x = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    close = 1e-3
    reach = np.arccos(1 - close)
    chains = 1 + int((np.diff(angle) > reach).sum())
    near = np.abs(angle[:, None] - angle[None, :]) < reach
    pairs = (near.sum() - 24) / (24 * 23)
    assert int(cluster_count(jnp.asarray(x), close)) == chains
    assert 1 < chains < 24
    assert float(close_pairs(jnp.asarray(x), close)) == pytest.approx(pairs)


def test_vertices_of_a_hull_against_scipy():
    from scipy.spatial import ConvexHull

    for d in (2, 3):
        points = np.random.default_rng(d).uniform(-1, 1, (6, 14, d))
        found = np.asarray(jax.vmap(extreme)(jnp.asarray(points)))
        for rows, seen in zip(points, found, strict=True):
            assert np.flatnonzero(seen).tolist() == sorted(ConvexHull(rows).vertices)
    assert extreme(jnp.array([[0.3], [-1.0], [2.0]])).tolist() == [False, True, True]


def test_reduced_coordinates_have_the_law_of_drawn_ones():
    """Inner products of uniform tokens: means of squares and of fourth powers, d = 5."""
    draw = lambda d, width: jax.vmap(
        lambda k: Sphere(4, d, width).sample(k, None, jnp.array(0)).tokens
    )(jr.split(jr.key(1), 4000))
    rng = np.random.default_rng(0).normal(size=(4000, 4, 5))
    rng /= np.linalg.norm(rng, axis=2, keepdims=True)
    for x in (np.asarray(draw(5, 0)), rng):
        gram = (x @ np.swapaxes(x, 1, 2))[:, *np.triu_indices(4, 1)]
        assert (gram**2).mean() == pytest.approx(1 / 5, rel=0.04)
        assert (gram**4).mean() == pytest.approx(3 / 35, rel=0.08)
        assert abs((gram[:, 0] * gram[:, 1] * gram[:, 3]).mean() - 1 / 25) < 0.006
    flat = np.asarray(draw(2, 2))
    np.testing.assert_allclose(np.linalg.norm(flat, axis=2), 1.0)
    assert (flat[:, 1, 0] ** 2).mean() == pytest.approx(1 / 2, rel=0.05)


def test_what_cannot_be_is_refused():
    for wrong in (
        Sphere(8, 4, start="equiangular"),
        Sphere(8, 64, start="hemisphere"),
        Sphere(8, 64, columns=3),
        Sphere(8, 8, start="equiangular", cosine=-0.2),
    ):
        with pytest.raises(InputError):
            wrong.check()
    with pytest.raises(InputError, match="noise"):
        TokenGeometry(until=14.0).check()
    with pytest.raises(InputError, match="law"):
        AngleFlow(Sphere(start="groups"), SphereAttention(normalise="sum")).check()


def test_the_released_picture_of_low_rank_has_no_attention_in_its_flow():
    """There x' = Vx, so that rescaled tokens stand still: other ranks than those of the flow."""
    moves = RescaledAttention("plane").init(jr.key(0), Box(), None)
    rank = lambda z, t: int(
        (np.linalg.svd(moves.weights(jnp.asarray(t), z), compute_uv=False) > 1e-6).sum()
    )
    moved = solved("plane", SPIRAL, [1.0, 2.0])
    still = [rank(jnp.asarray(SPIRAL), t) for t in (1.0, 2.0)]
    assert still != [rank(jnp.asarray(z), t) for z, t in zip(moved, (1.0, 2.0), strict=True)]


def test_steps_of_a_tenth_are_of_order_four():
    """Error at t = 4 against steps of 1/160, 32 tokens in space, the strengths of the figures."""

    @functools.partial(jax.jit, static_argnums=2)
    def at_four(x, strength, steps):
        moves = SphereAttention(strength=strength).init(jr.key(0), Sphere(32, 3), None)
        unit = lambda y: y / jnp.linalg.norm(y, axis=1, keepdims=True)
        step = lambda x, _: (unit(runge_kutta(moves.velocity, x, 4 / steps)), None)
        return jax.lax.scan(step, x, None, length=steps)[0]

    for strength in (1.0, 4.0, 16.0, 64.0):
        x = Sphere(32, 3).sample(jr.key(7), None, jnp.array(0)).tokens
        fine = at_four(x, strength, 640)
        tenth, half = (float(jnp.abs(at_four(x, strength, n) - fine).max()) for n in (40, 80))
        assert tenth < 3.8e-6
        assert half < tenth / 8


def test_a_hundredth_of_the_tolerance_changes_nothing_that_is_read():
    """Two draws of every kind of case: shells in space, cosines on the sphere."""
    for value, d in (("line", 1), ("plane", 2), ("coupled", 2), ("mixed", 3)):
        until = 8.0 if d == 1 else 10.0
        flow = TokenGeometry(Box(12, d), RescaledAttention(value), until=until, looks=4)
        rough, fine = both(flow)
        for name in ("rank", "leaders", "vertices"):
            np.testing.assert_array_equal(rough[name], fine[name], err_msg=f"{value} {name}")
        for name in ("gap", "shell", "planes"):
            np.testing.assert_allclose(rough[name], fine[name], atol=1e-4, err_msg=value)
    for beta in (1.0, 6.0):
        flow = AngleFlow(Sphere(16, 128), SphereAttention(strength=beta), looks=8, after=6.0)
        rough, fine = both(flow)
        for name in ("apart", "apart.mean"):
            np.testing.assert_allclose(rough[name], fine[name], atol=1e-5)
        assert (rough["drift"] > 5 * fine["drift"]).all()  # the steps were other ones


def both(flow):
    """The same two draws at the tolerance of the figures and at a hundredth of it."""
    table = flow.sweep({"tolerance": [1e-9, 1e-11]}, trials=2, shared=("tolerance",))
    return [table.where(tolerance=at) for at in (1e-9, 1e-11)]
