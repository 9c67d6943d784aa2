r"""Lucky neurons: Lemma 3, how many there are, and Lemma 4, whether they stay."""

import math

from scipy.special import betainc

from limelight.theory.base import Bound, Condition


def lucky_share(patterns: int, slack: float, epsilon: float = 0.0) -> float:
    r"""Lemma 3's share of lucky neurons, $\frac{1}{M} (1 - \epsilon - (\sigma+\tau) M/\pi)$.

    Example:
        >>> round(lucky_share(5, 0.1), 3)
        0.168

    Reference: li2023, Lemma 3.
    """
    return (1.0 - epsilon - slack * patterns / math.pi) / patterns


def cap_share(dimension: int, angle: float) -> float:
    r"""Share of random directions within an angle of a given one.

    $$\tfrac12 I_{\sin^2\theta}\big(\tfrac{d-1}{2}, \tfrac12\big), \quad \theta \le \pi/2$$

    Example:
        >>> cap_share(3, math.pi / 2), round(cap_share(3, math.pi / 3), 6)
        (0.5, 0.25)
    """
    inner = min(angle, math.pi - angle)
    share = 0.5 * float(betainc((dimension - 1) / 2, 0.5, math.sin(inner) ** 2))
    return share if angle <= math.pi / 2 else 1.0 - share


def lucky_neurons(
    width: int = 1000,
    patterns: int = 5,
    dimension: int = 10,
    examples: int = 200,
    value_error: float = 0.1,
    noise: float = 0.03,
    epsilon: float = 0.1,
) -> Bound:
    r"""Lucky neurons at the start, at least, as Lemma 3 counts them.

    $$|\mathcal W(0)|, |\mathcal U(0)| \ge \frac{m}{M}
      \Big(1 - \epsilon_m - \frac{(\sigma+\tau) M}{\pi}\Big)$$

    Notation: `dimension` is their $m_a$, `epsilon` their $\epsilon_m$.
    Departures: kind `printed`. With Definition 2 as it stands the set is empty in practice (its
        expected size is among the quantities); the proof treats the angle of a Gaussian row as
        uniform on $[0, 2\pi]$. Read as "$p_1$ is the best aligned" the expected size is $m/M$ and
        the bound holds; read with the margin that the proof uses it fails.

    Example:
        >>> import limelight as ll
        >>> round(ll.theory.li2023.lucky_neurons(width=1000, patterns=5).value, 1)
        138.6

    Reference: li2023, Definition 2 and Lemma 3.
    """
    slack = value_error + noise
    needed = patterns**2 * math.log(max(examples, 2)) * (epsilon**-2 if epsilon > 0 else math.inf)
    share = lucky_share(patterns, slack, epsilon)
    return Bound(
        name="lucky neurons in each set, at least",
        value=width * share,
        kind="printed",
        conditions=(
            Condition("width", width, ">=", needed, "order-wise"),
            Condition("some are left", share, ">", 0.0),
        ),
        quantities={
            "share of all neurons": share,
            "expected, Definition 2 literally": width * cap_share(dimension, slack),
            "expected, best aligned": width / patterns,
        },
        notes=("Definition 2 literally gives an empty set, see the expected size",),
        reference="li2023, Lemma 3",
    )


def lucky_kept(batch: int = 16) -> Bound:
    r"""Share of the lucky neurons at the start that are lucky ever after, as Lemma 4 says.

    $\mathcal W(0) \subseteq \mathcal W(t)$ and $\mathcal U(0) \subseteq \mathcal U(t)$ for all
    $t$ if the batch is of order 1.

    Departures: kind `printed`. Neither Definition 2 nor the lemma speaks of the output sign; a
        neuron of $\mathcal W$ whose mean output weight is negative is pushed away. `lemmas`
        measures both.

    Example:
        >>> import limelight as ll
        >>> ll.theory.li2023.lucky_kept(batch=16).name
        'share of lucky neurons kept'

    Reference: li2023, Lemma 4.
    """
    return Bound(
        name="share of lucky neurons kept",
        value=1.0,
        kind="printed",
        conditions=(Condition("batch of order 1", batch, ">=", 1, "order-wise"),),
        notes=("holds for the right output sign only; limelight show li2023 lemmas",),
        reference="li2023, Lemma 4",
    )
