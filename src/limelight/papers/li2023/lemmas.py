r"""Lemmas 2 to 4 through training: lucky neurons, features, and Definition 1's envelopes."""

import numpy as np

from limelight import fit
from limelight.claims import AtLeast, AtMost, Claim, Estimate
from limelight.measures import (
    FeatureNorms,
    Invariants,
    LuckyNeurons,
    OutputProjections,
    OwnAttention,
)
from limelight.measures.neurons import VARIANTS
from limelight.papers.base import Figure, Setup
from limelight.papers.li2023.concentration import average, logged_steps, study
from limelight.papers.li2023.fig1a import facts
from limelight.plot import Reference, Series, caption, curves
from limelight.table import Table
from limelight.theory.li2023 import attention_envelopes, lucky_share

READOUT = "model.readout"
ERROR, KEY_ERROR, SCALE = 0.1, 0.2, 0.01
#: Mean length of the noise of a normalised token with c_0 = 0.01 in 10 dimensions.
NOISE = 0.0292


def setup(scale: str, trials: int, readouts, noise=None, **options) -> Setup:
    """Figure 4's study with every tracker, for readouts by position and shared."""
    slack = ERROR + (NOISE if noise else 0.0)
    trackers = (
        LuckyNeurons(slack),
        OutputProjections(SCALE),
        FeatureNorms(),
        OwnAttention(),
        Invariants(),
    )
    experiment = study(scale, noise=noise, traces=trackers, **options)
    return Setup(experiment, {READOUT: list(readouts)}, trials, shared=(READOUT,))


# --- what is read off a table -----------------------------------------------------------------


def slack_of(table: Table) -> float:
    r"""$\sigma + \tau$ of the run."""
    for tracker in table.manifest["configuration"]["experiment"]["traces"]:
        if "slack" in tracker:
            return float(tracker["slack"])
    raise KeyError("no lucky neurons in this table")


def patterns_of(table: Table) -> int:
    """Patterns of the run."""
    return int(table.manifest["configuration"]["experiment"]["world"]["patterns"])


def rows_of(table: Table, readout: str = "position") -> Table:
    """The rows of one readout."""
    return table.where(model__readout=readout)


def trace(rows: Table, name: str) -> np.ndarray:
    """A trace as floats, trials by looks."""
    return rows[f"trace.{name}"].astype(float)


def excess_share(variant: str):
    """Share of lucky neurons at the start minus Lemma 3's bound without its epsilon."""

    def estimate(table: Table) -> Estimate:
        bound = lucky_share(patterns_of(table), slack_of(table))
        found = average(trace(rows_of(table), f"lucky.{variant}.share")[:, 0] - bound)
        note = f"share {found.value + bound:.4f}, bound {bound:.4f}"
        return Estimate(found.value, found.interval, found.n, note)

    return estimate


def retention(variant: str, which: str, readout: str = "position"):
    """Share of the lucky neurons at the start that are lucky at the end."""

    def estimate(table: Table) -> Estimate:
        rows = rows_of(table, readout)
        if not len(rows):
            return Estimate(np.nan, None, 0, "not in this table")
        last = trace(rows, f"lucky.{variant}.{which}")[:, -1]
        if np.isnan(last).any():
            return Estimate(np.nan, None, len(last), "the set is empty at the start")
        return average(last)

    return estimate


def outside(table: Table) -> Estimate:
    """Largest amount by which the mass leaves the bracket that always holds, all trials, looks."""
    worst = 0.0
    for readout in table.values(READOUT):
        rows = rows_of(table, readout)
        own = {name: trace(rows, f"own.{name}") for name in OWN}
        tokens = table.manifest["configuration"]["experiment"]["world"]["tokens"]
        found = attention_envelopes(own["logit"], own["tokens"], tokens, 0.0)
        low = found.certain(own["largest"])
        high = found.certain(own["smallest"])
        worst = max(worst, float(np.max(low - own["mass"])), float(np.max(own["mass"] - high)))
    return Estimate(worst, None, len(table))


def bracketed(table: Table) -> Estimate:
    """Share of looks at which the mass lies in Definition 1's envelope, q from the own logit."""
    rows = rows_of(table)
    own = {name: trace(rows, f"own.{name}") for name in OWN}
    tokens = table.manifest["configuration"]["experiment"]["world"]["tokens"]
    found = attention_envelopes(own["logit"], own["tokens"], tokens, KEY_ERROR)
    inside = (found.low - 1e-6 <= own["mass"]) & (own["mass"] <= found.high + 1e-6)
    return average(inside.mean(axis=1))


def growth(name: str):
    """Feature length at the end over its length at the start."""

    def estimate(table: Table) -> Estimate:
        log = trace(rows_of(table), f"norm.{name}")
        return average(log[:, -1] / log[:, 0])

    return estimate


OWN = ("logit", "largest", "smallest", "mass", "tokens")


# --- pictures ---------------------------------------------------------------------------------


def band(label: str, steps: np.ndarray, log: np.ndarray) -> Series:
    """Mean over trials with its interval."""
    low, high = (log[0], log[0]) if len(log) < 2 else fit.mean_interval(log, level=0.95)
    return Series(label, steps, log.mean(axis=0), low, high)


def steps_of(table: Table, rows: Table) -> np.ndarray:
    """Logged steps up to a little after the last trial has settled, where all stands still."""
    steps = logged_steps(table, rows)
    return steps[: max(2, int(np.searchsorted(steps, 1.25 * rows["steps"].max())))]


def draw_lucky(table: Table):
    """Share of lucky neurons over training, by variant, with Lemma 3's line."""
    rows = rows_of(table)
    steps = steps_of(table, rows)
    cut = lambda name: trace(rows, name)[:, : len(steps)]
    series = [band(f"{v}, all", steps, cut(f"lucky.{v}.share")) for v in VARIANTS]
    series.append(band("argmax, right output sign", steps, cut("lucky.argmax.signed")))
    bound = lucky_share(patterns_of(table), slack_of(table))
    figure = curves(
        series,
        x_label="training step",
        y_label="share of neurons, each set",
        references=[Reference("Lemma 3", bound)],
        width=4.6,
    )
    caption(figure, *facts(table))
    return figure


def draw_kept(table: Table):
    """Share of the first lucky neurons that are still lucky, by output sign (argmax variant)."""
    rows = rows_of(table)
    steps = steps_of(table, rows)
    words = {"kept_signed": "right output sign", "kept": "all", "kept_wrong": "wrong output sign"}
    series = [
        band(word, steps, trace(rows, f"lucky.argmax.{name}")[:, : len(steps)])
        for name, word in words.items()
    ]
    figure = curves(
        series,
        x_label="training step",
        y_label=r"share of $\mathcal{W}(0), \mathcal{U}(0)$ kept",
        references=[Reference("Lemma 4", 1.0)],
        limits=(0, 1.02),
        width=4.6,
    )
    caption(figure, *facts(table))
    return figure


def draw_envelope(table: Table):
    """Attention of a pattern-1 query on pattern 1, with the envelopes, in the first trial."""
    rows = rows_of(table)
    steps = steps_of(table, rows)
    own = {name: trace(rows, f"own.{name}")[0, : len(steps)] for name in OWN}
    tokens = table.manifest["configuration"]["experiment"]["world"]["tokens"]
    found = attention_envelopes(own["logit"], own["tokens"], tokens, KEY_ERROR)
    figure = curves(
        [Series("measured mass", steps, own["mass"])],
        guides=[
            Series("Definition 1, lower", steps, found.low),
            Series("Definition 1, upper", steps, found.high),
            Series("always valid, lower", steps, found.certain(own["largest"])),
            Series("always valid, upper", steps, found.certain(own["smallest"])),
        ],
        x_label="training step",
        y_label=r"mass of a $\mu_1$ query on $\mu_1$",
        width=4.6,
    )
    caption(figure, *facts(table), "first trial")
    return figure


def draw_features(table: Table):
    """Lengths of key, query and value features of patterns 1 and 2 and of the others."""
    rows = rows_of(table)
    steps = steps_of(table, rows)
    cut = lambda name: trace(rows, f"norm.{name}")[:, : len(steps)]
    series = []
    for word in ("key", "query", "value"):
        both = (cut(f"{word}.1") + cut(f"{word}.2")) / 2
        series.append(band(f"{word}, discriminative", steps, both))
        series.append(band(f"{word}, others", steps, cut(f"{word}.idle")))
    figure = curves(series, x_label="training step", y_label="length of the feature", width=4.6)
    caption(figure, *facts(table))
    return figure


def draw_rows(table: Table):
    """Projections of output rows on value features: lucky ones grow along their own."""
    rows = rows_of(table)
    steps = steps_of(table, rows)
    cut = lambda name: np.abs(trace(rows, f"rows.{name}"))[:, : len(steps)]
    figure = curves(
        [
            band("lucky rows, on their own feature", steps, cut("lucky.own")),
            band("lucky rows, on idle features", steps, cut("lucky.idle")),
            band("other rows, on idle features", steps, cut("other.idle")),
        ],
        x_label="training step",
        y_label="mean projection",
        references=[Reference(r"$\xi$", SCALE)],
        log_y=True,
        width=4.6,
    )
    caption(figure, *facts(table))
    return figure


def summary(table: Table) -> list[str]:
    """Every tracker before and after."""
    lines = []
    for readout in table.values(READOUT):
        rows = rows_of(table, readout)
        lines.append(f"{readout} readout, start -> end, mean over {len(rows)} trials")
        names = sorted(n.removeprefix("trace.") for n in rows.columns if n.startswith("trace."))
        for name in names:
            if name.split(".")[0] in ("lucky", "rows", "norm", "own", "drift"):
                log = trace(rows, name)
                if not np.isnan(log).all():
                    first, last = log[:, 0].mean(), log[:, -1].mean()
                    lines.append(f"  {name:24} {first:.4g} -> {last:.4g}")
    return lines


CLAIMS = (
    *(
        Claim(
            f"L3.{variant}",
            f"Lemma 3: there are many lucky neurons at the start ({variant}).",
            "share of neurons in W(0) and U(0), each, minus (1/M)(1 - (sigma + tau) M/pi)",
            excess_share(variant),
            AtLeast(0.0),
            "li2023, Definition 2 and Lemma 3",
        )
        for variant in VARIANTS
    ),
    *(
        Claim(
            f"L4.{variant}{suffix}",
            f"Lemma 4: lucky neurons stay lucky ({variant}, {words}).",
            "share of W(0) and U(0) still in W(T) and U(T)",
            retention(variant, which),
            AtLeast(0.95),
            "li2023, Lemma 4",
        )
        for variant in VARIANTS
        for suffix, which, words in (
            ("", "kept", "whatever their output sign"),
            (".signed", "kept_signed", "with the right output sign"),
        )
    ),
    Claim(
        "L4.shared",
        "Lemma 4 with one sign a neuron, as in the proofs (argmax, right output sign).",
        "share of W(0) and U(0) still in W(T) and U(T), shared_scaled readout",
        retention("argmax", "kept_signed", "shared_scaled"),
        AtLeast(0.95),
        "li2023, Lemma 4",
    ),
    Claim(
        "D1.certain",
        "The mass of a pattern-1 query on pattern 1 never leaves the corrected bracket.",
        "largest distance outside the bracket of extreme logits, all trials and looks",
        outside,
        AtMost(1e-5),
        "limelight; correction of li2023, Definition 1",
    ),
    Claim(
        "D1.envelope",
        "Definition 1 brackets that mass through training (q from the own-pattern logit).",
        "share of looks inside [p_n, 1 - (S - s) phi_n]",
        bracketed,
        AtLeast(0.95),
        "li2023, Definition 1",
    ),
    Claim(
        "L2.keys",
        "Key features of the discriminative patterns grow (Lemma 2, claim 2).",
        "length of W_K mu_1 at the end over the start",
        growth("key.1"),
        AtLeast(1.1),
        "li2023, Lemma 2",
    ),
    Claim(
        "L2.idle",
        "Key features of the other patterns do not grow (Lemma 2, claim 2).",
        "mean length of W_K mu_k, k >= 3, at the end over the start",
        growth("key.idle"),
        AtMost(1.1),
        "li2023, Lemma 2",
    ),
)

figure = Figure(
    name="lemmas",
    title="lucky neurons, features and envelopes through training",
    statement="lucky neurons are many at the start and stay lucky; features of the discriminative "
    "patterns grow; attention follows its envelope",
    setups={
        "smoke": setup("smoke", 2, ["position"], width=200, examples=50, steps=60),
        "small": setup(
            "small", 3, ["position", "shared_scaled"], width=1000, examples=200, steps=300
        ),
        "paper": setup(
            "paper",
            20,
            ["position", "shared_scaled"],
            width=1000,
            examples=200,
            steps=300,
            noise=0.01,
        ),
    },
    claims=CLAIMS,
    draws={
        "lucky": draw_lucky,
        "kept": draw_kept,
        "envelope": draw_envelope,
        "features": draw_features,
        "rows": draw_rows,
    },
    summary=summary,
    reference="Definitions 1 and 2, Lemmas 2 to 4",
    departures="the settings of fig4; three readings of Definition 2, because the literal set is "
    "empty; q is the root of the own-pattern logit, because with the paper's q = 1 the envelope is "
    "not a bound",
)
