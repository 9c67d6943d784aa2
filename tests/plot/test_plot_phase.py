from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.lines import Line2D

from limelight import plot
from limelight._core.errors import InputError
from limelight.fit import threshold
from limelight.plot import Series, Span, success_rates
from limelight.plot.style import caption
from limelight.table import Table

LABELS = {"x_label": "inverse square", "y_label": "examples"}


def phase_diagram(*parts, **options):
    return plot.phase_diagram(*parts, **options).matplotlib()


def phase(*parts, **options):
    return plot.phase(*parts, **options).matplotlib()


def mesh(figure):
    (found,) = [c for c in figure.axes[0].collections if type(c).__name__ == "QuadMesh"]
    return found


def line(figure, label) -> Line2D:
    (found,) = [each for each in figure.axes[0].lines if each.get_label() == label]
    return found


def legend(figure):
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def full(sweep, **more):
    alpha, examples, rate, half = sweep
    x = alpha**-2.0
    edge = Series("half succeed", x, half, half * 0.8, half * np.array([np.inf, *[1.2] * 5]))
    return phase_diagram(
        *(x, examples, rate),
        **LABELS,
        title="Success",
        edge=edge,
        theory=[("linear fit", x, 4.9 * x - 18.8), ("order", x, 2 * x)],
        validity=Span("outside the theorem", 7.2, np.inf),
        top=("share", alpha),
        **more,
    )


def test_the_map_holds_the_rates_in_ascending_order(sweep):
    alpha, examples, rate, _ = sweep
    figure = phase_diagram(alpha**-2.0, examples, rate, **LABELS)
    assert np.array_equal(mesh(figure).get_array(), rate[:, ::-1])
    assert mesh(figure).get_clim() == (0, 1)


def test_cells_are_bounded_by_the_middles_and_hold_their_values(sweep):
    alpha, examples, rate, _ = sweep
    corners = mesh(phase_diagram(alpha**-2.0, examples, rate, **LABELS)).get_coordinates()
    across, upwards = corners[0, :, 0], corners[:, 0, 1]
    x = np.sort(alpha**-2.0)
    assert np.allclose(across[1:-1], (x[1:] + x[:-1]) / 2)
    assert np.allclose(upwards[1:-1], np.sqrt(examples[1:] * examples[:-1]))
    assert np.all((across[:-1] < x) & (x < across[1:]))
    assert np.all((upwards[:-1] < examples) & (examples < upwards[1:]))


def test_ticks_stand_at_the_values_that_were_run(sweep):
    alpha, examples, rate, _ = sweep
    axes = phase_diagram(alpha**-2.0, examples, rate, **LABELS).axes[0]
    assert axes.get_yscale() == "log"
    found = sorted({*axes.get_yticks(), *axes.get_yticks(minor=True)})
    assert found == examples.tolist()
    assert [t.get_text() for t in axes.get_yticklabels()][-1] == "48"


def test_everything_given_is_drawn_and_named(sweep, page):
    alpha, _, _, half = sweep
    figure = full(sweep)
    axes = figure.axes[0]
    assert page(figure).named() == {"half succeed", "linear fit", "order", "outside the theorem"}
    assert axes.get_legend() is None
    assert line(figure, "half succeed").get_ydata() == pytest.approx(half[::-1])
    x = np.sort(alpha**-2.0)
    assert line(figure, "linear fit").get_xydata() == pytest.approx(np.c_[x, 4.9 * x - 18.8])
    border = (x[x < 7.2][-1] + x[x > 7.2][0]) / 2  # whole cells are hatched, by their middles
    (wall,) = [each for each in axes.lines if list(each.get_xdata()) == [border, border]]
    assert wall is not None
    (hatched,) = [c for c in axes.collections if c.get_hatch()]
    assert hatched.get_datalim(axes.transData).x0 == pytest.approx(border)
    assert hatched.get_datalim(axes.transData).x1 == pytest.approx(axes.get_xlim()[1])
    (arrow,) = [each for each in axes.lines if each.get_marker() == 6]
    assert arrow.get_xdata() == pytest.approx([0.32**-2])
    assert axes.get_xlabel() == "inverse square"
    assert axes.get_ylabel() == "examples"
    assert figure.axes[1].get_ylabel() == "share of trials that succeed"
    assert [text.get_text() for text in figure.texts] == ["Success"]


def test_the_other_side_of_the_validity_line(sweep):
    alpha, examples, rate, _ = sweep
    beyond = Span("outside", -np.inf, 0.372)
    figure = phase_diagram(alpha, examples, rate, **LABELS, validity=beyond)
    axes = figure.axes[0]
    (hatched,) = [c for c in axes.collections if c.get_hatch()]
    assert hatched.get_datalim(axes.transData).x0 == pytest.approx(axes.get_xlim()[0])
    assert hatched.get_datalim(axes.transData).x1 == pytest.approx(0.375)  # between 0.36 and 0.39


@pytest.mark.parametrize("width", [3.4, 7.0])
def test_nothing_overlaps_or_is_cut_off(sweep, page, width):
    figure = full(sweep, width=width)
    caption(figure, "small scale", "20 trials per cell", "commit 0123456789")
    done = page(figure)
    assert done.names_on_nothing()
    assert done.cut_off() == []
    assert done.crowded() == []


def test_a_dense_grid_keeps_its_labels_apart(page):
    x, y = np.linspace(1, 10, 40), np.geomspace(2, 2000, 40)
    figure = phase_diagram(x, y, np.full((40, 40), 0.5), **LABELS)
    assert page(figure).crowded() == []
    assert "2000" in [t.get_text() for t in figure.axes[0].get_yticklabels()]


def test_missing_and_marked_cells(sweep, page):
    alpha, examples, rate, _ = sweep
    holed = rate.copy()
    holed[0, 2] = np.nan
    marks = np.zeros(rate.shape, bool)
    marks[3, 1] = True
    figure = phase_diagram(alpha, examples, holed, **LABELS, marked=("unconverged", marks))
    assert mesh(figure).get_array().mask.sum() == 1
    assert legend(figure) == ["no data"]  # a texture that can lie in many places
    assert page(figure).named() == {"unconverged"}
    assert line(figure, "unconverged").get_xydata().tolist() == [[0.34, 6.0]]


def test_one_cell_is_a_phase_diagram(page):
    figure = phase_diagram([0.0], [8], [[0.5]], **LABELS)
    page(figure)
    assert mesh(figure).get_array().tolist() == [[0.5]]


@pytest.mark.parametrize(
    ("x", "y", "rate", "why"),
    [
        ([1, 2], [1, 2, 3], np.zeros((2, 3)), "shapes do not agree"),
        ([], [], np.zeros((0, 0)), "shapes do not agree"),
        ([1, 1], [1, 2], np.zeros((2, 2)), "repeats"),
        ([1, 2], [0, 2], np.zeros((2, 2)), "positive"),
        ([1, np.inf], [1, 2], np.zeros((2, 2)), "finite"),
        ([1, 2], [1, 2], np.full((2, 2), 1.5), "outside"),
    ],
)
def test_what_cannot_be_drawn_is_refused(x, y, rate, why):
    with pytest.raises(InputError, match=why):
        phase_diagram(x, y, rate, **LABELS)


# --- from a table -----------------------------------------------------------------------------


def table(**extra):
    length = np.repeat([20, 40, 80], 4 * 5)
    examples = np.tile(np.repeat([25, 50, 100, 200], 5), 3)
    accuracy = np.where(examples >= 2 * length, 0.99, 0.6)
    columns = {"world.length": length, "train.examples": examples, "accuracy": accuracy}
    return Table(columns | extra, ("world.length", "train.examples", *extra))


def edge():
    return SimpleNamespace(
        x=lambda axis: {"world.length": [20, 40, 80]}[axis],
        values=np.array([35.0, 70.0, 140.0]),
        low=np.array([25.0, 50.0, 100.0]),
        high=np.array([50.0, 100.0, np.inf]),
        **{"measure": "accuracy", "level": 0.95, "below": False},
    )


def test_rates_of_a_table():
    x, y, rate, trials = success_rates(table(), "world.length", "train.examples", "accuracy", 0.95)
    assert x.tolist() == [20, 40, 80]
    assert y.tolist() == [25, 50, 100, 200]
    assert rate.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert (trials == 5).all()
    flipped = success_rates(
        table(), "world.length", "train.examples", "accuracy", 0.95, below=True
    )[2]
    assert np.array_equal(flipped, 1 - rate)


def test_rates_of_a_trace_with_holes_and_nans():
    loss = np.array([[1.0, 0.0], [1.0, np.nan], [0.0, 1.0]])
    rows = Table({"a": np.array([1, 1, 2]), "b": np.array([1, 1, 2]), "loss": loss}, ("a", "b"))
    _, _, rate, trials = success_rates(rows, "a", "b", "loss", 0.5, below=True)
    assert np.array_equal(rate, [[0.5, np.nan], [np.nan, 0.0]], equal_nan=True)
    assert trials.tolist() == [[2, 0], [0, 1]]


def test_a_phase_diagram_from_a_table_and_a_fitted_edge(page):
    figure = phase(table(), x="world.length", y="train.examples", edge=edge())
    assert mesh(figure).get_array().sum() == 6
    assert line(figure, "half of the trials succeed").get_ydata().tolist() == [35, 70, 140]
    assert figure.get_supxlabel() == "5 trials per cell · success: test accuracy ≥ 0.95"
    assert page(figure).cut_off() == []


def test_an_axis_that_moves_with_x_is_no_third_axis():
    both = table(**{"world.half": np.repeat([10, 20, 40], 20)})
    _, _, rate, _ = success_rates(both, "world.length", "train.examples", "accuracy", 0.95)
    assert rate.sum() == 6


def test_a_diverged_trial_does_not_succeed():
    columns = table().columns | {"diverged": np.tile([True, False, False, False, False], 12)}
    rows = Table(columns, ("world.length", "train.examples"))
    rate = success_rates(rows, "world.length", "train.examples", "accuracy", 0.95)[2]
    assert rate.max() == 0.8


def test_the_edge_of_a_real_fit(page):
    fitted = threshold(table(), along="train.examples", measure="accuracy", level=0.95)
    figure = phase(table(), x="world.length", y="train.examples", edge=fitted)
    assert line(figure, "half of the trials succeed").get_ydata() == pytest.approx(fitted.values)
    assert page(figure).named() == {"half of the trials succeed"}
    with pytest.raises(InputError, match=r"lies along 'train\.examples'"):
        phase(table(), x="train.examples", y="world.length", edge=fitted)


def test_an_unresolved_threshold_shows_its_interval_only():
    never = table().where(world__length=80).rows(np.arange(15))
    fitted = threshold(never, along="train.examples", measure="accuracy", level=0.95)
    figure = phase(never, x="world.length", y="train.examples", edge=fitted)
    assert np.isnan(line(figure, "half of the trials succeed").get_ydata()).all()
    assert 6 in [each.get_marker() for each in figure.axes[0].lines]


def test_a_transformed_axis_keeps_its_raw_names_on_top():
    figure = phase(
        table(), "world.length", "train.examples", edge(), transform=lambda v: 1 / v, x_label="1/L"
    )
    assert line(figure, "half of the trials succeed").get_xdata() == pytest.approx(
        [1 / 80, 1 / 40, 1 / 20]
    )
    (upper,) = figure.axes[0].child_axes
    assert upper.get_xlabel() == "number of tokens $T$"
    assert [t.get_text() for t in upper.get_xticklabels()] == ["80", "40", "20"]


def test_a_table_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match="no rule for success"):
        phase(table(), "world.length", "train.examples")
    more = table(**{"world.rule": np.tile([0, 1], 30)})
    with pytest.raises(InputError, match=r"where\(world__rule"):
        phase(more, "world.length", "train.examples", edge())
    words = Table({"a": np.array(["u", "v"]), "b": np.array([1, 2]), "m": np.ones(2)}, ("a", "b"))
    with pytest.raises(InputError, match="does not hold numbers"):
        phase(words, "a", "b", measure="m", level=0.5)
    with pytest.raises(InputError, match="no rows"):
        phase(words.rows(np.zeros(2, bool)), "a", "b", measure="m", level=0.5)
    with pytest.raises(InputError, match="did you mean accuracy"):
        phase(table(), "world.length", "train.examples", measure="acuracy", level=0.5)
