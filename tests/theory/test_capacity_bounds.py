"""Capacity bounds: hand-computed points, monotonicity in every argument, growth, errata."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limelight._core.errors import InputError
from limelight.models.heads import HeadWeights, deep
from limelight.theory.covering import LinearMap, linear_map, zhang
from limelight.theory.edelman2022 import (
    HeadNorms,
    LayerNorms,
    deep_explicit,
    deep_order,
    general_head,
    generalisation_gap,
    head_explicit,
    head_order,
    heads_explicit,
    heads_order,
    heads_parameters,
    rademacher,
    scalar_head,
)
from limelight.theory.edelman2022.depth import amplifications

AT = {"examples": 1000, "tokens": 50}
UNIT = HeadNorms(LinearMap(4, 1.0, 4.0, 1.0, 2.0, 4), LinearMap(4, 1.0, 4.0, 1.0, 2.0, 4))


def norms(x: dict) -> HeadNorms:
    qk = LinearMap(x["d"], x["qk"], x["qk_total"], 1.0, 1.0, 4)
    v = LinearMap(x["k"], x["v"], x["v_total"], x["v_spec"], 1.0, 4)
    return HeadNorms(qk, v, x["X"], x["q"], x["L"], query_side=qk if x["side"] else None)


arguments = st.fixed_dictionaries(
    {
        "d": st.integers(1, 30),
        "k": st.integers(1, 30),
        **{n: st.floats(0.05, 20) for n in ("qk", "v", "v_spec", "X", "q", "L")},
        "qk_total": st.floats(0.05, 100),
        "v_total": st.floats(0.05, 100),
        "side": st.booleans(),
    }
)


def test_order_form_by_hand():
    # k = d = 4, all norms 1: (4^(2/3) + (2*4)^(2/3))^3 = (4^(2/3) (1 + 2^(2/3)))^3
    want = 16 * (1 + 2 ** (2 / 3)) ** 3 / 0.25 * math.log(50_000)
    assert head_order(UNIT, resolution=0.5, **AT) == pytest.approx(want)
    # B_X = 2, B_q = 3, cn = 1: 4 * (4^(2/3) + 24^(2/3))^3
    longer = HeadNorms(UNIT.query_key, UNIT.value, 2.0, 3.0)
    want = 4 * (4 ** (2 / 3) + 24 ** (2 / 3)) ** 3 * math.log(50_000)
    assert head_order(longer, resolution=1, softmax_constant=1, **AT) == pytest.approx(want)
    assert heads_order([UNIT] * 3, resolution=1, **AT) == pytest.approx(
        27 * head_order(UNIT, resolution=1, **AT)
    )


def test_explicit_form_by_hand():
    best = min(
        float(linear_map(UNIT.query_key, 1.0, th * 0.5, 50_000))
        + float(linear_map(UNIT.value, 1.0, (1 - th) * 0.5, 50_000))
        for th in (1 / (1 + math.exp(-v / 4)) for v in range(-48, 49))
    )
    assert float(head_explicit(UNIT, 0.5, **AT)) == pytest.approx(best, rel=1e-12)
    # the middle split alone, written out: 2 * 36 * 16^2 * ln(2 * 34 * 5e4 + 1)
    middle = 2 * 36 * 256 * math.log(2 * 34 * 5e4 + 1)
    assert best <= middle * (1 + 1e-12)


@given(arguments, st.floats(0.1, 3), st.data())
@settings(max_examples=300, deadline=None)
def test_explicit_head_is_monotone_in_every_argument(x, e, data):
    name = data.draw(st.sampled_from([n for n in x if n != "side"]))
    more = x | {name: x[name] * 2}
    for constant in (1, 2):
        low = float(head_explicit(norms(x), e, softmax_constant=constant, **AT))
        assert low <= float(head_explicit(norms(more), e, softmax_constant=constant, **AT)) * (
            1 + 1e-12
        )
        assert float(head_explicit(norms(x), 2 * e, softmax_constant=constant, **AT)) <= low
        for grown in ({"examples": 3000}, {"tokens": 500}):
            assert low <= float(
                head_explicit(norms(x), e, softmax_constant=constant, **(AT | grown))
            )
    order = head_order(norms(x), resolution=e, **AT)
    assert order <= head_order(norms(more), resolution=e, **AT) * (1 + 1e-12)
    assert float(heads_parameters([norms(x)], e)) <= float(heads_parameters([norms(more)], e))


@given(arguments, arguments, st.floats(0.1, 3))
@settings(max_examples=50, deadline=None)
def test_several_heads(x, y, e):
    heads = [norms(x), norms(y)]
    even = float(heads_explicit(heads, e, **AT))
    parts = sum(float(head_explicit(h, e / 2, **AT)) for h in heads)
    assert even == pytest.approx(parts)
    assert float(heads_explicit(heads, e, split="tight", **AT)) > 0
    # a tight split is a valid split: no cheaper than the best of all splits of two heads
    shares = np.linspace(0.001, 0.999, 400)
    best = min(
        float(head_explicit(heads[0], e * a, **AT))
        + float(head_explicit(heads[1], e * (1 - a), **AT))
        for a in shares[::40]
    )
    assert float(heads_explicit(heads, e, split="tight", **AT)) >= 0.2 * best


def test_capacity_grows_like_the_logarithm_of_the_tokens():
    lengths = [2**i for i in range(2, 30, 4)]
    values = [head_order(UNIT, resolution=1, examples=100, tokens=T) for T in lengths]
    steps = np.diff(values)
    assert steps == pytest.approx([steps[0]] * len(steps))
    ratio = [float(head_explicit(UNIT, 1.0, examples=100, tokens=T)) for T in lengths]
    order = np.log(100 * np.array(lengths))
    assert (np.array(ratio) / ratio[0] <= order / order[0] + 1e-9).all()
    assert float(heads_parameters([UNIT], 1.0)) == float(heads_parameters([UNIT], 1.0))


def test_positions_lengthen_the_tokens():
    placed = UNIT.placed(0.5)
    assert (placed.token_norm, placed.asking) == (1.5, 1.5)
    asked = HeadNorms(UNIT.query_key, UNIT.value, 1.0, 2.0).placed(0.5)
    assert (asked.token_norm, asked.asking) == (1.5, 2.5)


def test_general_head_agrees_with_the_transformer_head():
    value = general_head(
        lambda e, n: float(linear_map(UNIT.query_key, 1.0, e, n)),
        lambda e, n: float(linear_map(UNIT.value, 1.0, e, n)),
        resolution=0.7,
        token_norm=1.0,
        softmax_constant=1.0,
        **AT,
    )
    assert value == pytest.approx(float(head_explicit(UNIT, 0.7, **AT)))


def test_scalar_outputs():
    fixed = scalar_head([UNIT], 1.0, readout=2.0, **AT)
    assert float(fixed) == pytest.approx(float(head_explicit(UNIT, 0.5, **AT)))
    trained = scalar_head([UNIT], 1.0, readout=2.0, trained=True, **AT)
    assert float(trained) > float(fixed)
    assert float(scalar_head([UNIT], 1.0, readout=0.0, **AT)) == 0
    grid = np.array([0.5, 1.0, 2.0])
    both = scalar_head([UNIT], grid, readout=2.0, trained=True, **AT)
    assert (np.diff(both) < 0).all()


def layer(C=1.0, V=1.0, QK=1.0, size=3, times=1.0) -> LayerNorms:
    return LayerNorms(*(LinearMap(size, x * times, spectral=x) for x in (C, V, QK)))


def test_depth_by_hand():
    one = [layer(size=2)]
    # alpha = 1; S = 1 + 2^(2/3) + 4^(2/3) + 2^(2/3), cn = 2
    S = 1 + 2 * 2 ** (2 / 3) + 4 ** (2 / 3)
    assert deep_order(one, resolution=0.5, **AT) == pytest.approx(4 * S**3 * math.log(50_000))
    cost = float(zhang(1, 1, 0.25, 1000))
    a = one[0].value
    cost += 3 * float(linear_map(a, 1.0, 0.25, 50_000))
    assert deep_explicit(one, resolution=1.0, shares="equal", **AT) == pytest.approx(cost)


def test_errors_are_amplified_by_later_layers():
    # Identity layer, then W_V = 10 I; equal tokens of length 0.05: an error e in the first layer's
    # output map moves the output by exactly 10 e.
    d, e = 2, 1e-3
    eye, zero = np.eye(d), np.zeros((d, d))
    X = np.tile([0.05, 0.0], (3, 1))
    good = [HeadWeights(zero, zero, eye, eye), HeadWeights(zero, zero, 10 * eye, eye)]
    bad = [good[0]._replace(output=eye + e / 0.05 * np.diag([1.0, 0.0])), good[1]]
    w = np.array([1.0, 0.0])
    moved = deep(X, bad, w, lambda v: v) - deep(X, good, w, lambda v: v)
    assert moved == pytest.approx(10 * e)
    flat = [layer(V=1.0, QK=0.0), layer(V=10.0, QK=0.0)]
    assert amplifications(flat).tolist() == [10.0, 1.0]  # printed: 1 and 1


def test_no_random_network_passes_the_recursion():
    rng = np.random.default_rng(0)
    worst = 0.0
    relu = lambda v: np.maximum(v, 0.0)
    for _ in range(300):
        T, d, k = rng.integers(1, 6, 3)
        near = rng.choice([1e-3, 0.1])
        shapes = ((d, k), (d, k), (d, k), (k, d))
        old = [HeadWeights(*(rng.normal(size=s) for s in shapes)) for _ in range(3)]
        new = [HeadWeights(*(m + near * rng.normal(size=m.shape) for m in w)) for w in old]
        X = rng.normal(size=(T, d))
        X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
        w = rng.normal(size=d)
        moved = abs(deep(X, old, w, relu) - deep(X, new, w, relu))
        layers = [
            LayerNorms(
                LinearMap.of_columns(m.output),
                LinearMap.of_columns(m.value),
                LinearMap.of_columns(m.key @ m.query.T),
            )
            for m in old
        ]
        alpha = amplifications(layers, softmax_constant=1)
        total = 0.0
        for a, m, n, size in zip(alpha, old, new, layers, strict=True):
            carry = size.output.operator_norm
            change = np.linalg.norm(m.query @ m.key.T - n.query @ n.key.T, 2)
            total += a * np.linalg.norm(m.output - n.output, 2)
            total += a * carry * size.value.operator_norm * change
            total += a * carry * np.linalg.norm(m.value - n.value, 2)
        worst = max(worst, moved / (np.linalg.norm(w) * total))
    assert 0 < worst <= 1


@given(
    st.integers(1, 4), st.floats(0.2, 3), st.floats(0.2, 3), st.floats(0.2, 3), st.floats(0.2, 3),
    st.sampled_from(["C", "V", "QK", "times"]),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_depth_is_monotone(depth, C, V, QK, times, grows):
    x = {"C": C, "V": V, "QK": QK, "times": times}
    more = x | {grows: x[grows] * 1.5}
    at = {"resolution": 0.5, "token_norm": 1.3, "readout": 0.7, **AT}
    for bound in (
        deep_order,
        deep_explicit,
        lambda ls, **k: deep_explicit(ls, shares="equal", **k),
    ):
        low = bound([layer(**x)] * depth, **at)
        assert low <= bound([layer(**more)] * depth, **at) * (1 + 1e-12)
        assert low <= bound([layer(**x)] * (depth + 1), **at) * (1 + 1e-12) or C * V < 1
        for name in ("examples", "tokens", "token_norm", "readout"):
            assert low <= bound([layer(**x)] * depth, **(at | {name: at[name] * 2})) * (1 + 1e-12)
        assert bound([layer(**x)] * depth, **(at | {"resolution": 1.0})) <= low
    wide = [layer(**x, size=7)] * depth
    equal = deep_explicit([layer(**x)] * depth, shares="equal", **at)
    assert equal <= deep_explicit(wide, shares="equal", **at) * (1 + 1e-12)


def test_depth_in_one_line_has_the_sixth_power():
    a = LinearMap(5, 1.0, spectral=1.0)
    one = [LayerNorms(a, a, a)]
    low, high = (deep_order(one, resolution=1.0, token_norm=x, **AT) for x in (100.0, 200.0))
    assert math.log2(high / low) == pytest.approx(6, abs=0.05)  # printed: 2


def test_depth_of_nothing():
    assert deep_explicit([layer()], resolution=1.0, readout=0.0, **AT) == 0
    dead = [layer(C=0.0, V=0.0, QK=0.0)]
    assert np.isfinite(deep_explicit(dead, resolution=1.0, **AT))


def test_gap_by_hand():
    # q = 0.01, A = 1: 12 q (1 + ln(1 / 0.03))
    assert rademacher(1.0, 1.0, 10_000) == pytest.approx(0.12 * (1 + math.log(1 / 0.03)))
    assert rademacher(1.0, 1.0, 10_000, "paper") == pytest.approx(0.12 * (1 + math.log(100)))
    assert rademacher(1.0, 0.02, 10_000) == 0.02
    found = generalisation_gap(1.0, bound=1.0, examples=10**8)
    rad = 12e-4 * (1 + math.log(1 / 3e-4))
    chance = math.sqrt(math.log(40) / 2e8)
    assert found.value == pytest.approx(2 * rad + chance)
    assert not found.vacuous
    assert generalisation_gap(1.0, bound=1.0, examples=10).vacuous


@given(st.floats(1e-6, 1e4), st.floats(0.01, 10), st.integers(1, 10**9), st.floats(0.001, 0.79))
def test_gap_never_leaves_its_range_and_implies_the_papers(capacity, bound, m, delta):
    forms = {}
    for form in ("standard", "textbook", "paper"):
        found = generalisation_gap(capacity, bound=bound, examples=m, delta=delta, form=form)
        assert 0 <= found.value <= 1
        assert found.complexity <= bound
        forms[form] = found.uncut
    assert forms["standard"] <= forms["paper"] * (1 + 1e-12)
    more = generalisation_gap(2 * capacity, bound=bound, examples=m, delta=delta)
    assert more.uncut >= forms["standard"] * (1 - 1e-12)


def test_numerical_dudley_is_close_to_the_closed_form():
    closed = rademacher(1.0, 1.0, 10**6)
    found = generalisation_gap(lambda e: 1 / e**2, bound=1.0, examples=10**6)
    assert closed <= found.complexity * (1 + 1e-9)
    assert found.complexity <= 1.05 * closed


def test_nonsense_is_refused():
    with pytest.raises(InputError):
        head_order(UNIT, resolution=0, **AT)
    with pytest.raises(InputError):
        generalisation_gap(1.0, bound=1.0, examples=10, delta=2)
    with pytest.raises(InputError):
        generalisation_gap(1.0, bound=1.0, examples=10, form="other")  # pyright: ignore
    with pytest.raises(InputError):
        heads_explicit([UNIT], 1.0, split="best", **AT)  # pyright: ignore
    with pytest.raises(InputError):
        LinearMap(0, 1.0)


@given(arguments, st.floats(0.1, 3), st.floats(0.1, 3), st.data())
@settings(max_examples=40, deadline=None)
def test_read_outs_of_several_heads_are_monotone_in_every_argument(x, e, w, data):
    name = data.draw(st.sampled_from([n for n in x if n != "side"]))
    more = x | {name: x[name] * 2}
    for trained in (False, True):
        given_ = {"readout": w, "trained": trained, **AT}
        low = float(scalar_head([norms(x)], e, **given_)) * (1 - 1e-12)
        assert low <= float(scalar_head([norms(more)], e, **given_))
        assert low <= float(scalar_head([norms(x), norms(more)], e, **given_))
        assert low >= float(scalar_head([norms(x)], 2 * e, **given_)) * (1 - 1e-9)
        for grown in ({"readout": 2 * w}, {"examples": 3000}, {"tokens": 500}):
            assert low <= float(scalar_head([norms(x)], e, **(given_ | grown)))


@given(st.floats(0.2, 5), st.floats(0.2, 5), st.floats(0.2, 5), st.floats(0.2, 5), st.data())
def test_the_general_head_is_monotone_in_every_argument(X, gain, outer, w, data):
    x = {"token_norm": X, "inner_gain": gain, "outer_lipschitz": outer, "readout": w,
         "softmax_constant": 1.0, **AT}  # fmt: skip
    cover = lambda e, points: 3 / e**2 * math.log(points)
    low = general_head(cover, cover, resolution=0.7, **x)
    name = data.draw(st.sampled_from(sorted(x)))
    more = general_head(cover, cover, resolution=0.7, **(x | {name: 2 * x[name]}))
    assert low <= more * (1 + 1e-12)
    assert general_head(cover, cover, resolution=1.4, **x) <= low


@given(
    st.floats(1e-3, 1e3), st.floats(0.05, 5), st.floats(0.1, 3), st.integers(10, 10**8),
    st.floats(0.001, 0.4), st.sampled_from(["standard", "textbook", "paper"]),
)  # fmt: skip
def test_the_gap_is_monotone_in_every_argument(C, A, L, m, delta, form):
    x = {"capacity": C, "bound": A, "lipschitz": L, "examples": m, "delta": delta, "form": form}
    low = generalisation_gap(**x).uncut * (1 - 1e-9)
    for name in ("capacity", "bound", "lipschitz"):
        assert low <= generalisation_gap(**(x | {name: 2 * x[name]})).uncut
    for name in ("examples", "delta"):
        assert low >= generalisation_gap(**(x | {name: 2 * x[name]})).uncut * (1 - 2e-9)
    assert low <= generalisation_gap(loss_range=2.0, **x).uncut
