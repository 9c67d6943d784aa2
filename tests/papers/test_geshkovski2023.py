"""What the claims of geshkovski2023 do with tables that cannot answer them."""

import copy
import dataclasses
from pathlib import Path

import pytest

import limelight as ll
from limelight.claims import Undecided
from limelight.papers.geshkovski2023 import circle

PUBLISHED = Path(__file__).parents[2] / "results" / "geshkovski2023" / "circle"


def test_clusters_are_not_counted_at_a_time_that_the_flow_does_not_reach():
    whole = ll.open(PUBLISHED)
    manifest = copy.deepcopy(dict(whole.manifest))
    manifest["configuration"]["experiment"]["until"] = 100.0
    at_100, at_500 = (claim.estimate for claim in circle.root)
    short = dataclasses.replace(whole, manifest=manifest)
    with pytest.raises(Undecided, match="ends at t = 100, before t = 500"):
        at_500(short)
    assert at_100(short).n == at_500(whole).n
