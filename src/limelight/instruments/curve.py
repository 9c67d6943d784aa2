"""Accuracy of a pruned ViT against what it costs, as a picture."""

from limelight.instruments.prune import NONE, Pruned, PrunedRow
from limelight.plot import Mark, Panel, Picture, Points, Reference, Series
from limelight.plot.picture import TWO_COLUMNS

#: A policy that knows where the image is, which no user does.
TRUTH = "truth"
#: The loss of accuracy at which a cut still counts as none.
LITTLE = 0.01


def draw_curve(found: Pruned) -> Picture:
    """Accuracy against measured time and FLOPs: a column per block, a line per policy."""
    whole = next(row for row in found.rows if row.policy == NONE)
    groups: dict[tuple[str, int], list[PrunedRow]] = {}
    for row in found.rows:
        if row.policy != NONE:
            groups.setdefault((row.policy, row.at), []).append(row)
    policies = list(dict.fromkeys(policy for policy, _ in groups))
    unit, size = unit_of(whole.flops)
    level = 100 * whole.accuracy

    def lines(x, block: int) -> list[Mark]:
        drawn: list[Mark] = [Reference("", level)]
        for (policy, at), rows in groups.items():
            if at == block:
                places, accuracy = [x(r) for r in rows], [100 * r.accuracy for r in rows]
                drawn.append(Series(policy, places, accuracy, colour=policies.index(policy)))
        return [*drawn, Points("", [x(whole)], [level], colour="ink", marker="*", size=9)]

    device = found.machine["device"]
    where = f"{device['cores']} CPU cores" if device["platform"] == "cpu" else device["kind"]
    sides = {
        f"milliseconds per image ({where})": lambda r: r.milliseconds,
        f"{unit} per image": lambda r: r.flops / size,
    }
    cuts = found.at
    parts = [
        Panel(f"cut after block {at}", lines(x, at), "" if number else "accuracy, %", label)
        for label, x in sides.items()
        for number, at in enumerate(cuts)
    ]
    ends = 100 * (whole.interval[1] - whole.interval[0]) / 2
    note = (
        f"{found.images}; an accuracy is known to about {ends:.1f} points (95 %)",
        "star and dashed line: the whole network",
    )
    columns, high = (2, 3.0) if len(cuts) == 1 else (len(cuts), 4.6)
    picture = Picture(parts, columns, TWO_COLUMNS, high, note=note, share="y")
    return picture.titled(
        finding(found), "Accuracy against time and FLOPs, by what tokens are kept"
    )


def finding(found: Pruned) -> str:
    """What a reader wants to know: how much faster at a loss of a point at most."""
    rows = [row for row in found.rows if row.policy not in (NONE, TRUTH)]
    close = [row for row in rows if row.difference >= -LITTLE]
    if not close:
        return "Every cut costs more than a point of accuracy"
    best = max(close, key=lambda row: row.speedup)
    return (
        f"{best.speedup:.2f} times as fast at {100 * best.difference:+.1f} points of accuracy:"
        f" {best.policy}, cut after block {best.at}"
    )


def unit_of(largest: int) -> tuple[str, float]:
    """The unit for counts up to this one, and its size.

    Example:
        >>> unit_of(423_000), unit_of(2_600_000_000)
        (('kFLOPs', 1000.0), ('GFLOPs', 1000000000.0))
    """
    units = (("TFLOPs", 1e12), ("GFLOPs", 1e9), ("MFLOPs", 1e6))
    return next((unit for unit in units if largest >= unit[1]), ("kFLOPs", 1e3))
