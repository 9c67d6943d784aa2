r"""Clusters in self-attention, and rank collapse with depth.

`angles` tokens at equal angles and two clusters, exactly; `residuals` how far rows are from being
equal, and the bound on it; `limits` which theorem speaks of a value matrix; `statements` all of it
by label.
"""

from typing import TYPE_CHECKING

from limelight._core.lazy import on_first_use

if TYPE_CHECKING:
    from limelight.theory.geshkovski2023.angles import (
        cosine_after,
        equal_layer,
        equal_rate,
        equal_time,
        hemisphere_probability,
        layers_until,
        merge_law,
        merge_time,
        pair_rate,
    )
    from limelight.theory.geshkovski2023.limits import limit_kind
    from limelight.theory.geshkovski2023.residuals import (
        collapse_bound,
        residual_range,
        spread_factor,
    )

__all__ = [
    # Equal angles, and two clusters.
    "cosine_after",
    "equal_layer",
    "equal_rate",
    "equal_time",
    "hemisphere_probability",
    "layers_until",
    "merge_law",
    "merge_time",
    "pair_rate",
    # Rank collapse.
    "collapse_bound",
    "residual_range",
    "spread_factor",
    # Which theorem speaks of a value matrix.
    "limit_kind",
]

__getattr__ = on_first_use(__name__)
