"""Statistics on tables: intervals, thresholds, laws and the bootstrap; no model is rebuilt.

- `estimates`: the estimates that claims rest on, from rows to a number with its interval;
  `curves`: where curves cross a level, laws.
- `intervals`: Wilson's and the exact interval for success rates, their paired difference, the
  bootstrap for means.
- `thresholds`: the size at which half the trials succeed, on arrays.
- `edge`: the same on a table, one threshold for every combination of the other axes.
- `critical`: the first size of a grid at which more than half succeed, and its bootstrap.
- `laws`: lines, logarithms and powers with intervals; `comparison` ranks sets of predictors.
- `trends`: does success rise, are these later than those; several tests as one.
- `resample`: the bootstrap over trials, independent or with common trials.
- `listing`: numbers of every cell as lines of text.
"""

from limelight.fit.comparison import Candidate, compare_predictors
from limelight.fit.critical import CriticalSizes, critical_sizes, nearest_interval
from limelight.fit.edge import Edge, successes, threshold
from limelight.fit.intervals import exact, mean_interval, newcombe, paired_interval, wilson
from limelight.fit.laws import LAWS, Law, fit_law, squares_left
from limelight.fit.listing import tabulate
from limelight.fit.resample import (
    percentile_interval,
    resample_counts,
    resample_means,
    trial_weights,
)
from limelight.fit.thresholds import Threshold, fit_threshold, resolved, threshold_values
from limelight.fit.trends import holm, later, median_interval, rising, together

__all__ = [  # noqa: RUF022
    # success rates and means
    "exact",
    "mean_interval",
    "median_interval",
    "newcombe",
    "paired_interval",
    "wilson",
    # how many examples are needed
    "CriticalSizes",
    "Edge",
    "Threshold",
    "critical_sizes",
    "fit_threshold",
    "resolved",
    "successes",
    "threshold",
    "threshold_values",
    # laws, and which one fits
    "LAWS",
    "Candidate",
    "Law",
    "compare_predictors",
    "fit_law",
    "squares_left",
    # trends, and several tests as one
    "holm",
    "later",
    "rising",
    "together",
    # the bootstrap
    "nearest_interval",
    "percentile_interval",
    "resample_counts",
    "resample_means",
    "trial_weights",
    # words
    "tabulate",
]
