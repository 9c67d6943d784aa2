"""What li2023 proves, as functions.

`learning` Theorem 1 and Proposition 1; `attention` Proposition 2, its ceiling and Definition 1;
`neurons` Lemmas 3 and 4; `errata` what is wrong in print.
"""

from limelight.theory.li2023.attention import (
    Envelopes,
    attention_envelopes,
    envelope_bound,
    mass_bound,
    mass_ceiling,
)
from limelight.theory.li2023.errata import erratum
from limelight.theory.li2023.learning import learning, relevant_needed
from limelight.theory.li2023.neurons import cap_share, lucky_kept, lucky_neurons, lucky_share

__all__ = [
    "Envelopes",
    "attention_envelopes",
    "cap_share",
    "envelope_bound",
    "erratum",
    "learning",
    "lucky_kept",
    "lucky_neurons",
    "lucky_share",
    "mass_bound",
    "mass_ceiling",
    "relevant_needed",
]
