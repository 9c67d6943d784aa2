import numpy as np
import pytest
from matplotlib.text import Text

from limelight import plot
from limelight._core.errors import InputError
from limelight.plot import Guide, Panel, Points, Reference, Series
from limelight.plot.style import caption

STEPS = np.arange(0, 300, 5.0)


def rise(label, first, last):
    middle = last + (first - last) * np.exp(-STEPS / 14)
    return Series(label, STEPS, middle, middle - 0.01, middle + 0.01)


def roles():
    return [
        rise("all queries", 0.567, 0.838),
        rise("label-relevant queries", 0.737, 0.947),
        rise("non-discriminative queries", 0.384, 0.741),
        rise("confusion queries", 0.469, 0.594),
    ]


def curves(*parts, **options):
    return plot.lines(*parts, **options).matplotlib()


def fit_panel(*parts, fits=(), **options):
    return curves([Points("measured", *parts)], guides=fits, **options)


def panels(*parts, **options):
    return plot.panels(*parts, **options).matplotlib()


def beside(figure):
    """Names in the right margin."""
    return [text.get_text().replace("\n", " ") for text in figure.axes[0].texts]


def test_lines_bands_and_references_hold_what_was_given():
    figure = curves(
        roles(),
        x_label="iteration",
        y_label="mass",
        limits=(0.3, 1),
        references=[Reference("ceiling", 0.926), Reference("limit", 0.947, "all queries")],
    )
    axes = figure.axes[0]
    drawn = {line.get_label(): line for line in axes.lines}
    for series in roles():
        assert np.array_equal(drawn[series.label].get_xdata(), STEPS)
        assert np.array_equal(drawn[series.label].get_ydata(), series.y)
    assert len(axes.collections) == 4
    level = [line.get_ydata()[0] for line in axes.lines if len(line.get_xdata()) == 2]
    assert level == [0.926, 0.947]
    # Too close to each other for the margin: the lines are named inside the panel.
    assert beside(figure)[:2] == ["ceiling", "limit"]
    assert {*beside(figure)[2:]} == {series.label for series in roles()}
    assert axes.get_legend() is None
    assert axes.get_ylim() == (0.3, 1.0)
    by_level = {line.get_ydata()[0]: line for line in axes.lines if len(line.get_xdata()) == 2}
    assert by_level[0.947].get_color() == drawn["all queries"].get_color()


@pytest.mark.parametrize("width", [3.4, 7.0])
def test_nothing_covers_the_data(page, width):
    close = [Reference("ceiling, all", 0.947), Reference("ceiling,\nthe rest", 0.926)]
    figure = curves(
        roles(), x_label="iteration", y_label="mass", title="Mass", references=close, width=width
    )
    caption(figure, "small scale", "3 trials per cell")
    done = page(figure)
    assert done.names_on_nothing()
    assert done.cut_off() == []
    assert done.crowded() == []


def ends(many, last=10.0, apart=1.0):
    """Lines that end at one x, some way from each other."""
    return [Series(f"line {i}", [0, last], [0, i * apart]) for i in range(many)]


@pytest.mark.parametrize(
    ("series", "inside", "listed"),
    [
        (ends(4), 0, []),
        (ends(1), 1, []),
        (ends(8), 8, []),  # too many to read in a margin
        ([*ends(5, apart=0), Series("far", [0, 10], [0, 9])], 6, []),  # far from their lines
        ([*ends(2), Series("short", [0, 3], [0, 1])], 3, []),  # ends in the middle of the panel
        ([*ends(2), Guide("dashed", [], [], colour="ink")], 2, ["dashed"]),  # not drawn
    ],
)
def test_every_line_has_its_name_beside_it(page, series, inside, listed):
    figure = curves(series, x_label="x", y_label="y", title="A title", width=4.6)
    legend = figure.axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == listed if legend else not listed
    assert {*beside(figure)} == {one.label for one in series} - {*listed}
    done = page(figure)
    assert len(done.named()) == inside  # the others stand in the margin
    assert done.names_on_nothing()
    assert done.cut_off() == []
    assert done.crowded() == []


def test_what_leads_to_a_name_in_the_margin_crosses_no_other(page):
    close = [Series(f"a long name {i}", [0, 10], [0.5, 0.5 + i / 1e3]) for i in range(4)]
    figure = curves(close, x_label="x", y_label="y", limits=(0, 1))
    page(figure)
    names = figure.axes[0].texts
    assert len(names) == 4
    for name in names:
        words = Text.get_window_extent(name)  # without the line
        assert name.arrow_patch.get_window_extent().x1 <= words.x0 + 1


def test_a_name_stands_nearer_to_its_line_than_to_another(page):
    """Against distances computed point by point."""
    x = np.linspace(0, 10, 200)
    waves = [Series(f"wave {i}", x, np.sin(x + i) + 1.5 * i) for i in range(4)]
    parts = [Panel(name, waves) for name in ("left", "right")]
    figure = panels(parts, x_label="x")
    done = page(figure)
    assert done.named() == {wave.label for wave in waves}
    assert not figure.legends
    for axes in figure.axes:
        for text in axes.texts:
            box = text.get_window_extent()
            away = {
                line.get_label(): _distance(axes.transData.transform(line.get_xydata()), box)
                for line in axes.lines
            }
            assert min(away, key=away.__getitem__) == text.get_text()


def _distance(places, box):
    """From a box to the nearest of some places."""
    x = np.maximum(np.maximum(box.x0 - places[:, 0], places[:, 0] - box.x1), 0)
    y = np.maximum(np.maximum(box.y0 - places[:, 1], places[:, 1] - box.y1), 0)
    return np.hypot(x, y).min()


def test_logarithmic_axes_and_gaps(page):
    middle = np.array([1, 0.1, np.nan, 1e-3])
    figure = curves(
        [Series("loss", [1, 10, 100, 1000], middle, middle / 2, middle * 2)],
        **{"x_label": "x", "y_label": "y", "log_x": True, "log_y": True},
    )
    page(figure)
    axes = figure.axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.get_ylim()[0] > 0


def test_series_that_cannot_be_drawn_are_refused():
    with pytest.raises(InputError, match="no series"):
        curves([], x_label="x", y_label="y")
    with pytest.raises(InputError, match="did you mean all queries"):
        curves(roles(), x_label="x", y_label="y", references=[Reference("c", 0.9, "all querys")])


@pytest.mark.parametrize("log", [False, True])
def test_a_fit_panel_shows_points_bars_and_lines(sweep, page, log):
    alpha, _, _, half = sweep
    x = alpha**-2.0
    low, high = 0.8 * half, 1.2 * half
    high[0] = np.inf
    fits = [Guide("linear: $R^2$ = 0.92", x, 4.9 * x - 18.7, width=1.2)]
    figure = fit_panel(
        *(x, half, low, high),
        **{"x_label": "x", "y_label": "N50", "fits": fits, "log_x": log, "log_y": log},
    )
    axes = figure.axes[0]
    drawn = {line.get_label(): line for line in axes.lines}
    assert drawn["measured"].get_ydata() == pytest.approx(half[::-1])
    assert drawn[fits[0].label].get_xdata() == pytest.approx(np.sort(x))
    bars = [segment[:, 1] for segment in axes.collections[0].get_segments()]
    assert [bar[0] for bar in bars] == pytest.approx(low[::-1])
    assert bars[-1][1] == axes.get_ylim()[1]
    assert [line.get_marker() for line in axes.lines].count(6) == 1
    assert beside(figure) == ["measured", "linear: $R^2$ = 0.92"]
    done = page(figure)
    assert done.names_clear()
    assert done.cut_off() == []
    assert done.crowded() == []


def test_points_alone_and_points_unknown(page):
    page(fit_panel([1, 2], [3, 4], x_label="x", y_label="y"))
    page(fit_panel([1.0], [np.nan], [np.nan], [np.nan], x_label="x", y_label="y"))
    page(fit_panel([1.0], [2.0], x_label="x", y_label="y", log_x=True, log_y=True))


def test_shared_panels_keep_room_below_and_above_whatever_their_order():
    x = [1, 2, 3]
    high = Series("a", x, [0.3, 0.5, 1.0], [0.1, 0.3, 0.9], [0.5, 0.7, 1.0])
    low = Series("a", x, [0.0, 0.2, 0.4], [0.0, 0.1, 0.2], [0.1, 0.4, 0.6])
    for parts in ((high, low), (low, high)):
        made = [Panel("", [line]) for line in parts]
        figure = panels(made, x_label="x", columns=2, share=True)
        for axes in figure.axes:
            bottom, top = axes.get_ylim()
            assert bottom < -0.01
            assert top > 1.01


def test_a_logarithmic_axis_of_less_than_a_decade_names_its_ends():
    figure = curves([("a", [100, 400, 800], [1, 2, 3])], x_label="T", y_label="y", log_x=True)
    axes = figure.axes[0]
    places = {*axes.get_xticks(), *axes.get_xticks(minor=True)}
    assert {100.0, 200.0, 400.0, 800.0} <= places


def test_short_lines_have_every_mark_and_long_ones_about_ten():
    short, long = np.arange(1.0, 13.0), np.arange(1.0, 200.0)
    figure = curves([("short", short, short), ("long", long, long)], x_label="x", y_label="y")
    together = panels([Panel("one", [("short", short, short), ("long", long, long)])], x_label="x")
    for axes in (figure.axes[0], together.axes[0]):
        every = {line.get_label(): line.get_markevery() for line in axes.get_lines()}
        assert every["short"] is None
        assert every["long"][1] == 0.1


@pytest.mark.parametrize(("x", "whole"), [([0, 5, 10, 15, 20], True), ([0, 0.5, 1.2], False)])
def test_whole_numbers_have_whole_ticks(x, whole):
    figure = curves([("a", x, x)], x_label="removed tokens", y_label="y", width=4.6)
    figure.draw_without_rendering()
    ticks = figure.axes[0].get_xticks()
    assert (ticks == np.round(ticks)).all() == whole
