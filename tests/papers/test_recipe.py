"""What recipes are made of: claims from estimators, scales as differences, statements by name."""

import subprocess
import sys

import numpy as np
import pytest

from limelight.claims import AtLeast, Estimate
from limelight.experiments import Study
from limelight.models import Shallow
from limelight.papers.contents import Statement
from limelight.papers.recipe import Figure, Scale, claim, claims, scales
from limelight.table import Table
from limelight.theory.li2023 import learning
from limelight.train.minibatch import Train
from limelight.worlds import Patterns


@claims(
    "x.share{suffix}",
    "More than {level:g} ({words}).",
    AtLeast(0.5),
    at="limelight; {words}",
    cases=(
        {"suffix": "", "level": 1.0, "words": "one"},
        {"suffix": ".two", "level": 2.0, "words": "two"},
    ),
)
def share(table: Table, level: float) -> Estimate:
    """Share of trials with y above {level:g}."""
    return Estimate(float(np.mean(table["y"] > level)), None, len(table))


def test_one_estimator_is_one_claim_per_case():
    one, two = share
    assert (one.name, two.name) == ("x.share", "x.share.two")
    assert two.statement == "More than 2 (two)."
    assert two.statistic == "share of trials with y above 2"
    assert two.reference == "limelight; two"
    table = Table({"y": np.array([0.5, 1.5, 1.5, 2.5])})
    assert [c.decide(table, "").value for c in share] == [0.75, 0.25]
    assert [c.decide(table, "").verdict for c in share] == ["holds", "fails"]


def test_words_of_a_claim_are_the_docstring_unless_given():
    read = lambda table: Estimate(1.0, None, 1)
    assert claim("a", "A.", AtLeast(0.0), at="b", statistic="as said")(read).statistic == "as said"
    (found,) = claims("a", "A.", AtLeast(0.0), at="b", cases=[{"n": 2}], statistic="{n} said")(read)
    assert found.statistic == "2 said"


def test_axes_that_a_scale_does_not_sweep_are_not_shared_there():
    figure = Figure(
        statement="",
        trial=Study(world=Patterns(), model=Shallow(), train=Train(steps=9)),
        grid={"train.rate": [1.0, 2.0], "world.relevant": [0.3, 0.5]},
        trials=3,
        scales=scales(
            smoke=Scale(trials=1, grid={"train.rate": None}, settings={"train.steps": 5}),
            small=Scale(),
        ),
        claims=(),
        pictures={},
        shared=("train.rate", "world.relevant"),
    )
    assert figure.setup("paper").shared == ("train.rate", "world.relevant")
    smoke = figure.setup("smoke")
    assert (smoke.shared, list(smoke.axes)) == (("world.relevant",), ["world.relevant"])
    assert (smoke.trials, smoke.experiment.train.steps) == (1, 5)


def test_a_statement_by_name_is_the_function_itself():
    named = Statement("a", "", "limelight.theory.li2023:learning", {"frozen": True})
    direct = Statement("a", "", learning)
    assert named.settings == direct.settings | {"frozen": True}
    assert str(named.evaluate({"frozen": "false"})) == str(direct.evaluate({}))
    assert str(named.evaluate({})) == str(direct.evaluate({"frozen": "true"}))


@pytest.mark.parametrize("key", ["li2023"])
def test_a_table_of_contents_loads_nothing_heavy(key):
    code = (
        f"import sys, limelight.papers.{key} as p; assert p.paper.titles;"
        "heavy = {'jax', 'matplotlib', 'scipy.stats', 'equinox', 'pyarrow'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
