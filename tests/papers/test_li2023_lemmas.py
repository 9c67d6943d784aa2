"""The lemmas' and the pattern sets' decision rules on tables whose truth is known."""

import numpy as np
import pytest

from limelight.papers import load
from limelight.papers.li2023 import envelope, lemma2, sets, traces
from limelight.papers.li2023.concentration import average_share
from limelight.plot import render
from limelight.table import Table
from limelight.theory.li2023 import attention_envelopes
from limelight.worlds import Patterns

EVERY, LOOKS, SETTLED = 2, 31, 40
STEPS = EVERY * np.arange(LOOKS)


def configured(world, **more):
    experiment = {
        "world": world,
        "model": {"width": 1000},
        "train": {"every": EVERY, "batch": 20},
        "traces": [{"slack": 0.1}],
    }
    return {"scale": "paper", "configuration": {"experiment": experiment, "trials": 6} | more}


#: As many as the figure has: fewer that all agree leave a share below 0.95 possible.
TRIALS = 80


def lemma_table(**changed):
    """Eighty trials that do what Lemma 2 says, or what `changed` says; then they stand still."""
    rng = np.random.default_rng(0)
    t = np.minimum(STEPS, SETTLED) / SETTLED
    logit, own = 1 + 1.5 * t, np.full(LOOKS, 25.0)
    found = attention_envelopes(logit, own, 50, envelope.KEY_ERROR)
    bound = 0.5 * 0.5 * 0.5 * found.low
    active = np.where(STEPS < SETTLED, 1.0, 0.0)
    logs = {
        "mass.all": 0.5 + 0.3 * t,
        "own.logit": logit,
        "own.tokens": own,
        "own.mass": (found.low + found.high) / 2,
        "own.largest": 0.05 + 0 * t,
        "own.smallest": -0.05 + 0 * t,
        "value.leak": 0.5 * found.nu,
        "value.error": 0.05 + 0 * t,
        "value.learned.own": 2 * t,
        "value.learned.confusing": -0.2 * t,
        "value.learned.idle": 0.1 * t,
        "value.moved.own": 2 * t,
        "value.moved.idle": 0.4 * t,
        "value.aligned": np.where(t > 0, 0.97, 0.0),
        "pull.active": active,
        "pull.lucky.mean": 2 * bound * active,
        "pull.lucky.low": 1.2 * bound * active,
        "pull.other.high": 0.1 * active,
        "rows.lucky.own": 0.01 + 0.1 * t,
        "rows.lucky.idle": 0.008 + 0 * t,
        "rows.other.idle": 0.008 + 0 * t,
        "rows.other.norm": 0.0004 + 0 * t,
        "turn.key": 1 - 0.05 * t,
        "margin.mean": 1.1 * t**1.5,
        "margin.least": t**1.5,
        "drift.attention": 0.05 * t,
        "drift.value": 0.05 * t,
    }
    for word in ("key", "query", "value"):
        logs |= {f"norm.{word}.1": 1 + t, f"norm.{word}.2": 1 + t, f"norm.{word}.idle": 1 + 0 * t}
    for variant in ("literal", "argmax", "margin"):
        logs[f"lucky.{variant}.share"] = 0.2 + 0 * t
        for name in ("signed", "kept", "kept_signed", "kept_wrong"):
            logs[f"lucky.{variant}.{name}"] = 1 - 0.01 * t
    logs |= changed
    noise = 1 + 1e-4 * rng.normal(size=(TRIALS, 1))
    names = ("own.", "mass.", "pull.")  # what enters a bound stays as it is
    columns = {
        f"trace.{name}": np.tile(log, (TRIALS, 1)) * (1 if name.startswith(names) else noise)
        for name, log in logs.items()
    }
    columns |= {
        "trial": np.arange(TRIALS),
        "steps": np.full(TRIALS, SETTLED),
        "model.readout": np.array(["position"] * TRIALS),
    }
    return Table(columns, ("model.readout",), configured({"tokens": 50, "patterns": 5}))


def verdicts(figure, table):
    return {v.claim: v.verdict for v in load("li2023").figure(figure).verdict(table)}


def test_what_the_lemmas_say_is_found_true():
    table = lemma_table()
    decided = verdicts("lemmas", table)
    missing = {"L4.shared", "L2.pull.shared"}  # that readout is not in this table
    assert {name for name, verdict in decided.items() if verdict != "holds"} == missing
    assert {decided[name] for name in missing} == {"inconclusive"}
    for picture in load("li2023").figure("lemmas").plots(table).values():
        assert render(picture, "png", dots_per_inch=40).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("claim", "changed"),
    [
        ("L2.pull", {"pull.lucky.low": np.zeros(LOOKS)}),
        ("L2.pull.others", {"pull.other.high": np.full(LOOKS, 0.3)}),
        ("L2.leak", {"value.leak": np.full(LOOKS, 0.03)}),
        ("L2.rows", {"rows.lucky.own": np.full(LOOKS, 0.01)}),
        ("L2.rows.idle", {"rows.lucky.idle": np.full(LOOKS, 0.02)}),
        ("L2.queries", {"norm.query.1": np.ones(LOOKS)}),
        ("L2.turn", {"turn.key": np.full(LOOKS, 0.8)}),
        ("L2.values", {"value.moved.idle": 3 * STEPS / 60}),
        ("L2.values.along", {"value.aligned": np.full(LOOKS, 0.5)}),
        ("L2.margin", {"margin.mean": (np.minimum(STEPS, SETTLED) / SETTLED) ** 3}),
        ("L2.margin.local", {"margin.mean": (np.minimum(STEPS, SETTLED) / SETTLED) ** 3}),
        ("L2.keys.log", {"norm.key.1": np.full(LOOKS, 9.0)}),
        ("L2.others.idle", {"rows.other.idle": np.full(LOOKS, 0.02)}),
        ("L2.others.norm", {"rows.other.norm": np.full(LOOKS, 0.001)}),
        ("L3.literal", {"lucky.literal.share": np.zeros(LOOKS)}),
        ("D1.lower", {"own.mass": np.full(LOOKS, 0.3)}),
        ("D1.envelope", {"own.mass": np.full(LOOKS, 0.999)}),
        ("D1.certain", {"own.mass": np.full(LOOKS, 0.999)}),
    ],
)
def test_each_claim_can_fail(claim, changed):
    assert verdicts("lemmas", lemma_table(**changed))[claim] == "fails"


def test_an_empty_set_is_no_claim():
    empty = {f"lucky.literal.{name}": np.full(LOOKS, np.nan) for name in ("kept", "kept_signed")}
    found = {v.claim: v for v in load("li2023").figure("lemmas").verdict(lemma_table(**empty))}
    assert found["L4.literal"].verdict == found["L4.literal.signed"].verdict == "not applicable"


def test_trials_that_all_agree_have_an_interval():
    """Clopper and Pearson's, by the closed form for n of n: the root of 0.025."""
    found = average_share(np.ones(20))
    assert found.value == 1
    assert found.interval == (pytest.approx(0.025 ** (1 / 20)), 1.0)
    assert average_share(np.zeros(20)).interval == (0.0, pytest.approx(1 - 0.025 ** (1 / 20)))
    low, high = average_share(np.array([1.0] * 19 + [0.9])).interval
    assert low < 0.995 < high <= 1
    # None of 80,000 rows is lucky: the share is at most 1 - 0.025^(1/80000).
    table = lemma_table(**{"lucky.literal.share": np.zeros(LOOKS)})
    [found] = [v for v in load("li2023").figure("lemmas").verdict(table) if v.claim == "L3.literal"]
    low, high = found.interval
    assert high - low == pytest.approx(1 - 0.025 ** (1 / (TRIALS * 1000)), rel=1e-3)


def test_looks_after_a_trial_has_settled_do_not_count():
    """Inside the envelope until the trial settles, outside for ever after."""
    good = lemma_table()
    rows = traces.rows_of(good)
    mass = traces.trace(rows, "own.mass")[0]
    late = lemma_table(**{"own.mass": np.where(STEPS > SETTLED, 0.999, mass)})
    assert verdicts("lemmas", late)["D1.envelope"] == "holds"
    counted = traces.moving(late, traces.rows_of(late))
    assert counted.sum(axis=1).tolist() == [SETTLED // EVERY + 1] * TRIALS
    assert not envelope.inside(late, traces.rows_of(late))[:, -1].any()


def test_the_bound_on_the_pull_by_hand():
    table = lemma_table()
    rows = traces.rows_of(table)
    q = 1.0
    p = 25 * np.exp(1 - 0.2 * q) / (25 * np.exp(1 - 0.2 * q) + 25)
    # (1/2B) sum over the half of the batch with y = +1 of |S_1|/|S| p_n.
    assert lemma2.least_pull(table, rows)[0, 0] == pytest.approx(0.5 * 0.5 * 0.5 * p)
    assert lemma2.most_pull(table) == pytest.approx(20**-0.5)


def set_table(slope=1.0, common=0.99, left=0.02):
    rng = np.random.default_rng(0)
    firsts, trials = np.array([0.5, 0.65, 0.8, 0.95]), 10
    rows = [(f, k) for f in firsts for k in range(trials)]
    t = np.minimum(STEPS, SETTLED) / SETTLED
    columns = {
        "world.first": np.array([f for f, _ in rows]),
        "trial": np.array([k for _, k in rows]),
        "steps": np.full(len(rows), SETTLED),
    }
    for word in ("key", "query"):
        share = [0.5 + slope * (f - 0.5) + 0.02 * rng.normal() for f, _ in rows]
        columns[f"trace.sets.{word}.first"] = np.outer(share, t > 0)
        columns[f"trace.sets.{word}.common"] = np.outer(np.full(len(rows), common), t > 0)
    idle = 0.4 + (left - 0.4) * t
    for role in ("relevant", "confusing", "idle"):
        columns[f"trace.roles.{role}.idle"] = np.tile(idle, (len(rows), 1)) + 1e-4 * rng.random(
            (len(rows), 1)
        )
    columns["trace.mass.all"] = 1 - columns["trace.roles.idle.idle"]
    base = {"tokens": 50, "relevant": 0.5, "confusing": 0.04}
    return Table(columns, ("world.first",), configured({"base": base}))


def test_pattern_sets_are_judged():
    table = set_table()
    assert set(verdicts("sets", table).values()) == {"holds"}
    found = sets.growth_by_frequency(table, "key")
    assert found.interval[0] < 1.0 < found.interval[1]
    figure = load("li2023").figure("sets")
    for picture in figure.plots(table).values():
        assert render(picture, "png", dots_per_inch=40).startswith(b"\x89PNG")
    assert figure.summary(table)
    decided = verdicts("sets", set_table(slope=0.0, common=0.8, left=0.35))
    assert set(decided.values()) == {"fails"}


def test_fractions_are_realised_exactly_at_small_and_paper_scale():
    """Where a figure asks for a fraction that tokens cannot give, the axis would mislead."""
    checked = 0
    for figure in load("li2023").figures:
        for scale in ("small", "paper"):
            setup = figure.setup(scale)
            pair = next((p for p in setup.axes if p == ("world.relevant", "world.confusing")), None)
            for point in setup.axes.get(pair, ()):
                world = Patterns(setup.experiment.world.tokens, *point)
                assert world.fractions() == pytest.approx(point, abs=1e-6), (figure.name, point)
                checked += 1
    assert checked > 100
