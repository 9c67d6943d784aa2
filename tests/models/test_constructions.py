"""Constructions against brute force: every input, every embedding, every number of bits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limelight._core.errors import InputError
from limelight.models.construct import _bases as bases
from limelight.models.construct import _lemmas as lemmas
from limelight.models.construct import construct
from limelight.models.construct._memorise import evaluate, memorise, memorise_printed, separation
from limelight.models.construct._selectors import dual, key_sum
from limelight.worlds._rules import by_count, from_hex, patterns, to_hex, truth_table


def slow(made, bits):
    """The head's output and the network's, token by token, written apart from the library."""
    t, claim = made.tensors, made.certificate["claim"]
    heads, outs = [], []
    for b in bits:
        rows = [b[i] * t["V"][i] if claim["mapping"] == "bag" else t["P"][i] + t["E"][b[i]]
                for i in range(claim["T"])]  # fmt: skip
        X = np.array([*rows, t["cls"]], dtype=float)
        y = np.zeros(X.shape[1])
        for h in range(made.certificate["head"]["heads"]):
            Q, K, V, C = (t[f"head.{h}.{n}"].astype(float) for n in ("W_Q", "W_K", "W_V", "W_C"))
            scores = (X @ K) @ (Q.T @ t["cls"])
            weights = np.exp(scores - scores.max())
            y = y + C.T @ (V.T @ (X.T @ (weights / weights.sum())))
        y = y[: made.certificate["mlp"]["q"]]
        first = np.maximum(np.append(y, 1) @ t["mlp.W_1"], 0)
        second = np.maximum(np.append(first, 1) @ t["mlp.W_2"], 0)
        heads.append(y)
        outs.append(second @ t["mlp.w"])
    return np.array(heads), np.array(outs)


def fast(made, bits):
    """The same for many inputs at once."""
    t, claim = made.tensors, made.certificate["claim"]
    bag = claim["mapping"] == "bag"
    X = bits[:, :, None] * t["V"] if bag else t["P"][None] + t["E"][bits]
    X = np.concatenate([X, np.broadcast_to(t["cls"], (len(bits), 1, X.shape[2]))], axis=1)
    y = 0
    for h in range(made.certificate["head"]["heads"]):
        Q, K, V, C = (t[f"head.{h}.{n}"] for n in ("W_Q", "W_K", "W_V", "W_C"))
        scores = X @ (K @ (Q.T @ t["cls"]))
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        y = y + np.einsum("nt,ntd->nd", weights, X) @ V @ C
    y = y[:, : made.certificate["mlp"]["q"]]
    first = np.maximum(y @ t["mlp.W_1"][:-1] + t["mlp.W_1"][-1], 0)
    return y, np.maximum(first @ t["mlp.W_2"][:-1] + t["mlp.W_2"][-1], 0) @ t["mlp.w"]


def wanted(made, bits):
    """Targets of the head and values of the function."""
    claim, s = made.certificate["claim"], made.certificate["claim"]["s"]
    inside = bits[:, claim["positions"]]
    ones = inside.sum(axis=1, keepdims=True)
    bag = claim["mapping"] == "bag"
    if made.certificate["lemmas"][1] == "B.6":
        head = (inside - 1) / (ones + 1) if bag else 1 - 2 * inside
    else:
        head = (ones - s) / (ones + 1) if bag else 1 - 2 * ones / s
    if "values" in claim:
        table = np.array(claim["values"])
    else:
        number = int(claim["truth_table"], 16)
        table = np.array([number >> a & 1 for a in range(2**s)])
    return head, table[inside @ 2 ** np.arange(s)]


def all_inputs(T):
    return (np.arange(2**T)[:, None] >> np.arange(T)) & 1


def assert_sound(made, bits):
    head, out = fast(made, bits)
    target, value = wanted(made, bits)
    c = made.certificate
    error = np.abs(head - target).max()
    assert error <= c["head"]["error_bound"] * (1 + 1e-9) + 1e-12
    assert c["head"]["error_bound"] <= c["head"]["error_target"] * (1 + 1e-12)
    assert np.abs(out - value).max() <= 1e-9 * (1 + np.abs(value).max()) * len(value) ** 0.5
    for name, entry in c["norms"].items():
        if entry["allowed"] is not None:
            size = next(v for k, v in entry.items() if k != "allowed")
            assert size <= entry["allowed"] * (1 + 1e-12), name
    assert c["mlp"]["slack"] >= -1e-12
    return error


@st.composite
def requests(draw, longest=9):
    T = draw(st.integers(1, longest))
    s = draw(st.integers(1, min(4, T)))
    mapping = draw(st.sampled_from(["deterministic", "trainable", "bag"]))
    basis = "auto"
    if mapping != "trainable":
        basis = draw(st.sampled_from(["orthonormal", "signs", "chirp"]))
    positions = draw(st.permutations(range(T)))[:s]
    table = draw(st.integers(0, 2 ** (2**s) - 1))
    share = draw(st.sampled_from([1.0, 0.3]))
    heads = draw(st.sampled_from(["auto", "many"]))
    return {
        "rule": f"{table:x}", "length": T, "sparsity": s, "positions": sorted(positions),
        "mapping": mapping, "basis": basis, "heads": heads,
    }, share  # fmt: skip


@given(requests(), st.integers(0, 3))
@settings(max_examples=120, deadline=None)
def test_every_input_of_random_constructions(request_and_share, seed):
    request, share = request_and_share
    many = (
        request["heads"] == "many"
        or by_count(
            truth_table(request["rule"], request["sparsity"]).astype(float), request["sparsity"]
        )
        is None
    )
    gamma = share * lemmas.largest_gamma(request["mapping"], many, request["sparsity"])
    made = construct(**request, seed=seed, gamma=gamma)
    assert_sound(made, all_inputs(request["length"]))


@pytest.mark.parametrize("mapping", ["deterministic", "trainable", "bag"])
@pytest.mark.parametrize("s", [1, 2, 3, 4])
@pytest.mark.parametrize("heads", ["auto", "many"])
def test_twelve_bits_exhaustively(mapping, s, heads):
    basis = "auto" if mapping == "trainable" else "chirp:67"
    made = construct("xor", 12, s, mapping=mapping, basis=basis, heads=heads, seed=s)
    assert assert_sound(made, all_inputs(12)) > 0


def test_the_fast_evaluation_is_the_slow_one():
    for mapping in ("deterministic", "trainable", "bag"):
        made = construct("2c", 5, 3, mapping=mapping)
        for a, b in zip(slow(made, all_inputs(5)), fast(made, all_inputs(5)), strict=True):
            assert np.allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("mapping", ["deterministic", "trainable", "bag"])
@pytest.mark.parametrize("rule", ["and", "1b"])
def test_a_thousand_bits_sampled(mapping, rule):
    basis = "auto" if mapping == "trainable" else "chirp"
    made = construct(rule, 1000, 3, mapping=mapping, basis=basis)
    rng = np.random.default_rng(0)
    backgrounds = np.vstack(
        [np.zeros(1000, int), np.ones(1000, int), rng.integers(0, 2, (8, 1000))]
    )
    bits = np.repeat(backgrounds, 8, axis=0)
    bits[:, made.certificate["claim"]["positions"]] = np.tile(patterns(3), (10, 1))
    assert_sound(made, bits)


def test_numbers_of_the_table():
    # T = 12, s = 4, orthonormal: R 3.95 and error .0783; T = 12, s = 3 bag: R 6.84, error .0380
    made = construct("xor", 12, 4, basis="orthonormal")
    assert made.certificate["head"]["R"] == pytest.approx(3.95, abs=0.005)
    assert assert_sound(made, all_inputs(12)) == pytest.approx(0.0783, abs=5e-5)
    made = construct("xor", 12, 3, mapping="bag", basis="orthonormal")
    assert made.certificate["head"]["R"] == pytest.approx(6.84, abs=0.005)
    assert assert_sound(made, all_inputs(12)) == pytest.approx(0.0380, abs=5e-5)


def test_real_values():
    values = [0.5, -2.0, 3.25, 0.0]
    made = construct(values, 6, 2, positions=[1, 4])
    assert made.certificate["claim"]["values"] == values
    assert_sound(made, all_inputs(6))


def test_measured_overlap_where_the_bound_says_nothing():
    basis = "chirp:5"  # Delta up to 0.447: (2s - 1) Delta > 1 for s = 2
    found = 0
    for seed in range(20):
        try:
            made = construct("and", 12, 2, basis=basis, seed=seed)
        except InputError:
            continue
        if made.certificate["head"]["rho_kind"] == "measured":
            found += 1
            assert_sound(made, all_inputs(12))
            assert made.certificate["norms"]["W_K"]["allowed"] is None
    assert found > 0


@pytest.mark.parametrize(
    ("mapping", "heads", "basis", "least"),
    [
        ("deterministic", "auto", "signs:200", 0.2),
        ("deterministic", "many", "orthonormal", 0.9),
        ("bag", "auto", "signs:1000", 0.3),
    ],
)
def test_the_printed_heads_miss_their_target(mapping, heads, basis, least):
    worst = 0.0
    for seed in range(3):
        try:
            made = construct("xor", 10, 3, mapping=mapping, basis=basis, heads=heads,
                             variant="printed", seed=seed)  # fmt: skip
        except InputError:
            continue
        head, _ = fast(made, all_inputs(10))
        target, _ = wanted(made, all_inputs(10))
        worst = max(worst, np.abs(head - target).max() / made.certificate["head"]["error_target"])
    assert worst > 1
    assert worst * made.certificate["head"]["error_target"] > least


@given(st.integers(0, 2**31), st.integers(1, 4), st.floats(0.05, 2.0))
@settings(max_examples=60, deadline=None)
def test_dual_keys(seed, s, scale):
    rng = np.random.default_rng(seed)
    V = rng.normal(size=(8, 12))
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    inside = rng.choice(8, s, replace=False)
    assert V[inside] @ dual(V[inside]).T == pytest.approx(np.eye(s), abs=1e-8)
    assert V[inside] @ key_sum(V[inside]) == pytest.approx(np.ones(s), abs=1e-8)
    delta = bases.Basis("signs", V, 1.0).measured
    if (2 * s - 1) * delta < 1:
        over = lemmas.overlap("deterministic", False, V, inside, delta)
        assert over.measured <= over.bound * (1 + 1e-9) < 1 + 1e-9
        size = np.linalg.norm(key_sum(V[inside])) ** 2
        assert size <= s / (1 - (s - 1) * delta) + 1e-9 <= s**2 + 1e-6


def test_bases():
    chirps = bases.chirp(1000, 37)
    assert np.linalg.norm(chirps.vectors, axis=1) == pytest.approx(np.ones(1000))
    assert chirps.measured <= 37**-0.5 + 1e-12
    assert bases.chirp(1000, 127).measured == pytest.approx(0.0887, abs=1e-4)
    signs = bases.random_signs(200, 0.5, seed=1)
    assert signs.measured <= 0.5
    assert (bases.random_signs(200, 0.5, seed=1).vectors == signs.vectors).all()
    for bad in ("chirp:4", "chirp:3", "nothing", "signs:x"):
        with pytest.raises(InputError):
            bases.choose(bad, 100, 3)


@given(st.integers(0, 2**31), st.integers(1, 3), st.integers(1, 6), st.floats(0.05, 1.0))
@settings(max_examples=80, deadline=None)
def test_the_network_memorises_boxes(seed, q, n, delta):
    rng = np.random.default_rng(seed)
    centres = rng.choice(np.arange(-6, 7), size=(4 * n, q)) * 3.0 * delta
    centres = np.unique(centres, axis=0)[:n]
    values = rng.normal(size=len(centres))
    net = memorise(centres, values, delta)
    for _ in range(5):
        z = rng.uniform(-delta, delta, centres.shape) * rng.choice([1, 0.5])
        assert evaluate(net, centres + z) == pytest.approx(values, abs=1e-9)
    assert net.first.shape == (q + 1, 4 * len(centres) * q)
    assert net.second.shape == (4 * len(centres) * q + 1, 2 * len(centres))
    B = np.abs(centres).max()
    assert np.abs(net.first).max() <= max(1 / delta, B / delta + 2) + 1e-9
    assert np.abs(net.second).max() <= max(1, q)


def test_centres_too_close_are_refused_and_would_leak():
    centres, values = np.array([[0.0], [2.9]]), np.array([0.0, 1.0])
    with pytest.raises(InputError, match="apart"):
        memorise(centres, values, 1.0)
    with pytest.raises(InputError):
        memorise(np.array([[0.0], [0.0]]), values, 1.0)
    wide = memorise(np.array([[0.0], [3.0]]), values, 1.0)
    assert evaluate(wide, np.array([[1.0]]))[0] == 0.0
    moved = wide._replace(first=wide.first.copy())
    moved.first[1, [1, 3, 5, 7]] += 0.1  # the second centre at 2.9
    assert evaluate(moved, np.array([[1.0]]))[0] == pytest.approx(0.1)
    assert separation(np.array([[1.0]])) == np.inf


def test_the_printed_network_is_wrong():
    centres = np.linspace(-1, 1, 5)[:, None]
    values = np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    net = memorise_printed(centres, values, 0.1)
    assert np.abs(evaluate(net, centres) - values).max() > 0.9
    # delta = gamma/8 against an error of gamma/4: E11
    tight = memorise(centres, values, 0.5 / 8)
    assert np.abs(evaluate(tight, centres + 0.5 / 4) - values).max() > 0.9


def test_rules():
    named = {"and": "80", "or": "fe", "xor": "96", "majority": "e8", "threshold:2": "e8"}
    for rule, digits in named.items():
        assert to_hex(truth_table(rule, 3)) == digits
    assert truth_table("threshold:0", 2).all()
    assert not truth_table("threshold:3", 2).any()
    assert to_hex(from_hex("2", 1)) == "2"
    for bad, s in (
        ("nor", 3),
        ("fff", 3),
        ("threshold:9", 3),
        ("threshold:x", 2),
        ("and", 0),
        ("and", 99),
    ):  # noqa: E501
        with pytest.raises(InputError):
            truth_table(bad, s)


@given(st.integers(1, 4), st.data())
def test_hex_is_its_own_inverse(s, data):
    table = np.array(data.draw(st.lists(st.booleans(), min_size=2**s, max_size=2**s)))
    assert (from_hex(to_hex(table), s) == table).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"sparsity": 9},
        {"positions": [1, 1]},
        {"positions": [0, 99]},
        {"mapping": "none"},
        {"gamma": 5.0},
        {"gamma": -1.0},
        {"basis": "chirp:3"},
        {"heads": "two"},
        {"rho": "guess"},
        {"variant": "other"},
        {"dtype": "int8"},
        {"tolerance": 0.7},
        {"rule": "2", "heads": "one"},
        {"mapping": "trainable", "basis": "chirp"},
        {"rule": [1.0, 2.0]},
        {"rule": "xor", "sparsity": 12, "length": 20, "heads": "many"},
    ],
)
def test_what_cannot_be_built_is_refused(wrong):
    with pytest.raises(InputError):
        construct(**({"rule": "and", "length": 8, "sparsity": 2} | wrong))
