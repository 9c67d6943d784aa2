"""Accuracy of a pruned ViT against what it costs, as a picture."""

from limelight.instruments.prune import NONE, Pruned, PrunedRow
from limelight.plot import Axis, Guide, Mark, Panel, Picture, Points, Reference, Series
from limelight.plot.picture import TWO_COLUMNS


def draw_curve(found: Pruned) -> Picture:
    """Accuracy against measured time and against FLOPs, a line for each policy and block."""
    whole = next(row for row in found.rows if row.policy == NONE)
    several = len(found.at) > 1
    groups: dict[tuple[str, int], list[PrunedRow]] = {}
    for row in found.rows:
        if row.policy != NONE:
            groups.setdefault((row.policy, row.at), []).append(row)
    policies = list(dict.fromkeys(policy for policy, _ in groups))
    unit, size = unit_of(whole.flops)

    def lines(x):
        star = {"colour": "ink", "marker": "*", "size": 9}
        marks: list[Mark] = [Points("whole network", [x(whole)], [100 * whole.accuracy], **star)]
        marks += [Series(policy, [], [], colour=i, dash=0) for i, policy in enumerate(policies)]
        for (policy, at), rows in groups.items():
            places, accuracy = [x(r) for r in rows], [100 * r.accuracy for r in rows]
            look = {"colour": policies.index(policy), "dash": found.at.index(at)}
            marks.append(Series(policy, places, accuracy, **look))
        if several:  # colours are policies, dashes are blocks
            marks += [
                Guide(f"cut after block {at}", [], [], colour="ink", dash=i)
                for i, at in enumerate(found.at)
            ]
        return [*marks, Reference("", 100 * whole.accuracy)]

    device = found.machine["device"]
    where = f"{device['cores']} CPU cores" if device["platform"] == "cpu" else device["kind"]
    parts = [
        Panel("measured", lines(lambda r: r.milliseconds), Axis("accuracy, %"),
              f"milliseconds per image ({where})"),
        Panel("counted", lines(lambda r: r.flops / size), Axis(""), f"{unit} per image"),
    ]  # fmt: skip
    cut = f"cut after block {found.at[0]}; " if not several else ""
    ends = 100 * (whole.interval[1] - whole.interval[0]) / 2
    note = f"{found.images}; {cut}an accuracy is known to about {ends:.1f} points (95 %)"
    return Picture(parts, 2, TWO_COLUMNS, 3.2, note=note, share="y")


def unit_of(largest: int) -> tuple[str, float]:
    """The unit for counts up to this one, and its size.

    Example:
        >>> unit_of(423_000), unit_of(2_600_000_000)
        (('kFLOPs', 1000.0), ('GFLOPs', 1000000000.0))
    """
    units = (("TFLOPs", 1e12), ("GFLOPs", 1e9), ("MFLOPs", 1e6))
    return next((unit for unit in units if largest >= unit[1]), ("kFLOPs", 1e3))
