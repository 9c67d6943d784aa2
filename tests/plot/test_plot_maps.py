import numpy as np
import pytest

from limelight import plot
from limelight.core.errors import InputError
from limelight.plot import role_mass
from limelight.plot.style import caption

ORDER = ["label-relevant", "confusion", "non-discriminative"]


def attention_map(*parts, **options):
    return plot.attention_map(*parts, **options).matplotlib()


def attention_maps(*parts, **options):
    return plot.attention_maps(*parts, **options).matplotlib()


def mass_by_role(*parts, **options):
    return plot.mass_by_role(*parts, **options).matplotlib()


@pytest.fixture
def tokens():
    rng = np.random.default_rng(0)
    roles = rng.permutation(np.repeat(ORDER, [25, 2, 23])).tolist()
    weights = rng.dirichlet(np.ones(50), size=50)
    return weights, roles


def mesh(axes):
    (found,) = [c for c in axes.collections if type(c).__name__ == "QuadMesh"]
    return np.asarray(found.get_array())


def test_tokens_are_sorted_by_role_and_stay_in_order_within(tokens):
    weights, roles = tokens
    place = [i for role in ORDER for i, each in enumerate(roles) if each == role]
    axes = attention_map(weights, roles, order=ORDER).axes[0]
    assert np.array_equal(mesh(axes), weights[np.ix_(place, place)])
    names = [t.get_text().replace("\n", "") for t in axes.get_xticklabels()]
    assert names == [t.get_text().replace("\n", "") for t in axes.get_yticklabels()] == ORDER
    walls = sorted(line.get_xdata()[0] for line in axes.lines if line.get_xdata()[0] > 0)
    assert [w for w in walls if w > 1] == [25, 27]
    assert axes.get_ylim() == (50, 0)


def test_roles_come_in_order_of_appearance_when_not_told():
    assert role_mass(np.eye(3), ["b", "a", "b"])[0] == ("b", "a")


def test_panels_share_one_scale(tokens, page):
    weights, roles = tokens
    figure = attention_maps(
        [("before", weights), ("after", weights**2)], roles, order=ORDER, title="Attention"
    )
    caption(figure, "one example")
    before, after = figure.axes
    assert before.collections[0].get_clim() == after.collections[0].get_clim()
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["before", "after"]
    done = page(figure)
    assert done.cut_off() == []
    assert done.crowded() == []


def test_narrow_roles_keep_their_names_apart(page):
    roles = [*["one-thing"] * 20, "second-role", "third-role", "fourth-role", *["rest"] * 20]
    figure = attention_map(np.eye(43), roles)
    assert page(figure).crowded() == []


def test_mass_is_the_mean_over_queries_of_the_sum_over_keys(tokens):
    weights, roles = tokens
    names, mass = role_mass(weights, roles, ORDER)
    roles = np.array(roles)
    for q, query in enumerate(names):
        for k, key in enumerate(names):
            direct = weights[roles == query][:, roles == key].sum(axis=1).mean()
            assert mass[q, k] == pytest.approx(direct)
    assert mass.sum(axis=1) == pytest.approx(np.ones(3))


def test_mass_by_role_writes_every_number(page):
    before, after = np.array([[0.737, 0.263], [np.nan, 1.0]]), np.array([[0.95, 0.05], [0.5, 0.5]])
    figure = mass_by_role(
        [("before", before), ("after", after)],
        ["relevant", "rest"],
        ["here", "there"],
        title="Mass",
    )
    first, second = figure.axes
    assert [t.get_text() for t in first.texts] == ["0.74", "0.26", "–", "1.00"]
    assert np.array_equal(mesh(second), after)
    assert [t.get_text() for t in first.get_yticklabels()] == ["relevant", "rest"]
    assert page(figure).cut_off() == []


def test_maps_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="3 tokens"):
        attention_map(np.eye(2), ["a", "b", "c"])
    with pytest.raises(InputError, match="did you mean label"):
        attention_map(np.eye(2), ["label", "lable"], order=["label"])
    with pytest.raises(InputError, match="no attention map"):
        attention_maps([], ["a"])
    with pytest.raises(InputError, match="2 by 1"):
        mass_by_role([("", np.eye(2))], ["a", "b"], ["a"])
    with pytest.raises(InputError, match="no matrix"):
        mass_by_role([], ["a"])


def test_an_empty_map_has_a_scale(page):
    page(attention_map(np.zeros((2, 2)), ["a", "b"]))
