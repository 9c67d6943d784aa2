"""A record of pruning as a picture.

    python benchmarks/prune_picture.py RECORD.json [RECORD.json ...] -o OUT.png

Records of `prune_tome.py`: points of accuracy lost against measured speed, one panel for each
machine. One record of `limelight prune --json`: its curve, as `--plot` draws it.
"""

import argparse
import json
from dataclasses import fields
from pathlib import Path

from limelight.instruments.curve import draw_curve
from limelight.instruments.prune import Pruned, PrunedRow
from limelight.plot import Axis, Panel, Picture, Reference, Series
from limelight.plot.picture import TWO_COLUMNS

POLICIES = ("attention", "similarity", "norm", "random")


def curve(record: dict) -> Picture:
    """Of one run of `limelight prune`."""
    names = {field.name for field in fields(PrunedRow)}
    ends = lambda value: tuple(value) if isinstance(value, list) else value
    rows = [{k: ends(v) for k, v in row.items() if k in names} for row in record["rows"]]
    at = record["pruned_behind_block"]
    machine = {key: record[key] for key in ("commit", "versions", "device")}
    return draw_curve(
        Pruned(
            tuple(PrunedRow(**row) for row in rows),
            tuple(at) if isinstance(at, list) else (at,),
            record["images"],
            record["batch"],
            record["timed_rounds"],
            machine,
        )
    )


def beside_tome(records: list[dict]) -> Picture:
    """Accuracy lost against measured speed, ToMe's line in black."""
    panels = []
    for record in records:
        groups: dict[str, list[dict]] = {}
        for row in record["rows"][1:]:
            groups.setdefault(row["policy"], []).append(row)
        blocks = sorted({int(name.split()[-1]) for name in groups if name != "tome"})
        marks = []
        for name, rows in groups.items():
            x, y = [row["speedup"] for row in rows], [row["lost"] for row in rows]
            policy = name.partition(", block ")[0]
            if name == "tome":
                marks.append(Series("ToMe", x, y, colour="ink", dash=0, marker="D", width=1.8))
            else:
                marks.append(Series(policy, x, y, colour=POLICIES.index(policy)))
        marks.append(Reference("", 0.0))
        clock = "wall clock" if record["clock"] == "wall" else "processor seconds"
        title = f"{record['device']}, {clock}; {record['images'].split(' of ')[0]}"
        panels.append(Panel(title, marks, Axis("points of accuracy lost"), "times as fast"))
    cut = f"cut after block {', '.join(map(str, blocks))}"
    note = cut, "lower and further right is better; DeiT-tiny on CIFAR-10 images, 224 pixels"
    picture = Picture(panels, len(panels), TWO_COLUMNS, 3.3, note=note, share="y")
    return picture.titled(_behind(records), "Points of accuracy lost against measured speed")


def _behind(records: list[dict]) -> str:
    """How far dropping is behind merging, at the largest speed that all of it reaches."""
    compared = [found for record in records for found in record["at_equal_speed"].values()]
    speed = max(set.intersection(*({*found} for found in compared)), key=float)
    over = [found[speed]["over_tome"][0] for found in compared]
    return (
        f"At {speed} times the speed dropping tokens loses {min(over):.1f} to {max(over):.1f}"
        " points more than merging them (ToMe)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("records", type=Path, nargs="+")
    parser.add_argument("-o", "--out", type=Path, required=True)
    given = parser.parse_args()
    records = [json.loads(path.read_text()) for path in given.records]
    tome = all("at_equal_speed" in record for record in records)
    (beside_tome(records) if tome else curve(records[0])).save(given.out)


if __name__ == "__main__":
    main()
