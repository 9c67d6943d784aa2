"""Figure 7 on CIFAR-100 at the paper's network, trained six times as long as `fig7-wide`.

Ten epochs end far from the smallest loss, and the gap between the two kinds of attention might open
later. The rule is that of Figure 7, fixed before the table.
"""

from limelight.papers.jelassi2022.fig7_wide import at_the_paper_s_width

figure = at_the_paper_s_width(
    "long", 60, 3, "CIFAR-100, at the paper's width, trained six times as long"
)
