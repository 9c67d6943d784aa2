import dataclasses
import subprocess
import sys

import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight.claims import Estimate
from limelight.fit import exact, mean_interval
from limelight.plot import (
    TWO_COLUMNS,
    Axis,
    Bars,
    Bundle,
    Contour,
    Guide,
    Image,
    Map,
    Panel,
    Picture,
    Points,
    Reference,
    Series,
    Span,
    Text,
    band,
    captioned,
    lines,
    over_cells,
    render,
    save,
)
from limelight.plot.style import COLOURS, DASHES, INK, MUTED
from limelight.table import Table

X = np.arange(1.0, 5.0)


def one(*marks, **options):
    """The figure and the axes of a picture of one panel."""
    figure = Picture([Panel("", marks, **options)]).matplotlib()
    return figure, figure.axes[0]


def entries(figure):
    """What the legend shows: label, marker, dash, colour."""
    legend = figure.axes[0].get_legend() or (figure.legends or [None])[0]
    if legend is None:
        return {}
    texts = [text.get_text() for text in legend.get_texts()]
    return dict(zip(texts, legend.legend_handles, strict=True))


# --- values -----------------------------------------------------------------------------------


def test_describing_a_picture_loads_no_drawing_library():
    code = (
        "import sys, limelight.plot as plot\n"
        "plot.lines([('a', [1, 2], [1, 2])], x_label='x', y_label='y').captioned('small scale')\n"
        "assert not {'matplotlib', 'jax'} & {name.split('.')[0] for name in sys.modules}\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_picture_is_a_value_that_can_be_replaced():
    picture = lines([("a", X, X)], x_label="x", y_label="y", note="a note")
    changed = dataclasses.replace(picture, caption=("small scale",))
    assert picture.facts == ("a note",)
    assert changed.facts == ("small scale", "a note")
    assert changed.matplotlib().get_supxlabel() == "small scale · a note"
    assert dataclasses.replace(changed, caption=()) == picture


def test_the_caption_of_a_run_comes_from_its_table():
    rows = Table({"a": X}, (), {"scale": "small", "configuration": {"trials": 20}})
    picture = captioned(lines([("a", X, X)], x_label="x", y_label="y", note="b"), rows)
    assert picture.facts == ("small scale", "20 trials per cell", "b")
    assert captioned(picture, Table({"a": X}, ())) == picture


def test_a_picture_without_panels_is_refused():
    with pytest.raises(InputError, match="no panels"):
        Picture([])


def test_saving_and_showing(tmp_path):
    picture = lines([("a", X, X)], x_label="x", y_label="y")
    picture.save(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes() == render(picture) == render(picture.matplotlib())
    assert picture._repr_png_().startswith(b"\x89PNG")
    movie = dataclasses.replace(picture, frames=[picture, picture])
    save(movie, tmp_path / "b.png")
    assert (tmp_path / "b.png").read_bytes() == render(picture)
    assert (tmp_path / "b.gif").read_bytes().startswith(b"GIF")


# --- looks ------------------------------------------------------------------------------------


def test_a_label_has_one_look_everywhere_and_one_entry():
    left = Panel("left", [Series("a", X, X), Points("b", X, X)])
    right = Panel("right", [Guide("b", X, 2 * X), Series("a", X, X**2)])
    figure = Picture([left, right], width=TWO_COLUMNS).matplotlib()
    colours = [{line.get_label(): line.get_color() for line in axes.lines} for axes in figure.axes]
    assert colours == [{"a": COLOURS[0], "b": COLOURS[1]}, {"a": COLOURS[0], "b": COLOURS[1]}]
    assert entries(figure) == {}
    assert sorted(text.get_text() for axes in figure.axes for text in axes.texts) == ["a", "b"]


def test_an_entry_shows_a_line_and_the_first_marker_of_its_label():
    """What no panel shows has an entry: here a key to shapes and dashes."""
    figure, _ = one(
        Series("a", X, X),
        Points("key", [], [], colour=1, marker="s"),
        Points("key", [], [], colour=1, hollow=True),
        Guide("key", [], [], colour=1, dash=1),
    )
    entry = entries(figure)["key"]
    assert (entry.get_marker(), entry.get_linestyle()) == ("s", "--")
    assert entry.get_markerfacecolor() == COLOURS[1]


def test_looks_that_are_asked_for_take_no_turn_in_the_palette():
    figure, axes = one(
        Guide("law", X, X, colour="ink", dash=2),
        Series("a", X, X),
        Points("", X, X, colour=4, marker="x"),
        Guide("", X, X),
    )
    law, a, crosses, silent = axes.lines
    assert (law.get_color(), a.get_color()) == (INK, COLOURS[0])
    assert law.get_linestyle() == axes.plot([], [], linestyle=DASHES[2])[0].get_linestyle()
    assert (crosses.get_color(), crosses.get_marker()) == (COLOURS[4], "x")
    assert silent.get_color() == MUTED
    assert [text.get_text() for text in axes.texts] == ["law", "a"]


def test_a_mark_without_points_is_explained_and_not_drawn():
    figure, axes = one(Series("a", X, X), Guide("dashed: C = 2", [], [], colour="ink", dash=1))
    assert [line.get_label() for line in axes.lines] == ["a"]
    assert list(entries(figure)) == ["dashed: C = 2"]
    assert [text.get_text() for text in axes.texts] == ["a"]


# --- marks ------------------------------------------------------------------------------------


def test_points_have_bars_both_ways_and_arrows_at_open_ends():
    _, axes = one(
        Points("a", X, X, X - 1, [2, 3, 4, np.inf], x_low=X - 0.5, x_high=X + 0.5, hollow=True),
        y=Axis(limits=(0, 6)),
    )
    up, across = (part.get_segments() for part in axes.collections)
    assert [list(bar[:, 1]) for bar in up] == [[0, 2], [1, 3], [2, 4], [3, 6]]
    assert [list(bar[:, 0]) for bar in across] == [[v - 0.5, v + 0.5] for v in X]
    arrow, marks = axes.lines
    assert (arrow.get_marker(), list(arrow.get_xdata())) == (6, [4])
    assert marks.get_markerfacecolor() == "white"
    assert marks.get_linestyle() == "None"


def test_a_bundle_has_a_line_for_each_run_and_one_name():
    runs = np.outer(np.arange(1, 7), X)
    figure, axes = one(Bundle("runs", X, runs))
    assert np.array_equal([line.get_ydata() for line in axes.lines], runs)
    assert len({line.get_color() for line in axes.lines}) == 1
    assert [text.get_text() for text in axes.texts] == ["runs"]
    assert entries(figure) == {}


def test_references_are_named_in_the_margin_of_one_panel_and_in_the_first_of_several():
    marks = [Series("a", X, X), Reference("top", 3.0, "a"), Reference("end", 2.0, vertical=True)]
    figure, axes = one(*marks)
    assert axes.texts[0].get_text() == "top"
    assert {text.get_text() for text in axes.texts} == {"top", "a", "end"}
    level, upright = axes.lines[-2:]
    assert (list(level.get_ydata()), level.get_color()) == ([3, 3], COLOURS[0])
    assert (list(upright.get_xdata()), upright.get_color()) == ([2, 2], MUTED)
    both = Picture([Panel("", marks), Panel("", marks)], width=TWO_COLUMNS).matplotlib()
    assert entries(both) == {}
    names = [{text.get_text() for text in axes.texts} for axes in both.axes]
    assert names == [{"a", "top", "end"}, set()]


def test_spans_words_and_bars():
    figure, axes = one(
        Bars("accuracy", [0, 1], [30, 70.25]),
        Span("outside", 1.0, np.inf),
        Text("here", (0.5, 50)),
        Text("corner", "upper right"),
        x=Axis(categories=["plain", "shuffled"]),
        y=Axis("accuracy", limits=(0, 100)),
    )
    assert axes.get_xlim() == pytest.approx((-0.6, 1.6))
    assert [t.get_text() for t in axes.get_xticklabels()] == ["plain", "shuffled"]
    assert [patch.get_height() for patch in axes.containers[0]] == [30, 70.25]
    assert {text.get_text() for text in axes.texts} == {"30.0", "70.2", "here", "corner", "outside"}
    (strip,) = [patch for patch in axes.patches if patch not in axes.containers[0]]
    assert (strip.get_x(), strip.get_x() + strip.get_width()) == (1.0, pytest.approx(1.6))
    assert list(entries(figure)) == ["accuracy"]


def test_maps_of_one_scale_share_a_bar_and_missing_cells_are_named():
    values = np.array([[0.1, 1.0], [np.nan, 10.0]])
    cells = Map(values, "ratio", x=[1, 10], y=[1, 2], low=0.1, high=10, scale="log")
    hatched = dataclasses.replace(cells, missing="hatched")
    parts = [Panel("", [part], x=Axis(log=True)) for part in (cells, hatched)]
    figure = Picture(parts, width=TWO_COLUMNS).matplotlib()
    *maps, bar = figure.axes
    assert len(maps) == 2
    assert bar.get_ylabel() == "ratio"
    mesh = maps[0].collections[0]
    assert (type(mesh.norm).__name__, mesh.get_clim()) == ("LogNorm", (0.1, 10))
    assert mesh.get_array().mask.sum() == 1
    borders = np.array(mesh.get_coordinates()[0, :, 0])
    assert borders == pytest.approx([10**-0.5, 10**0.5, 10**1.5])  # half-way in the logarithm
    assert list(entries(figure)) == ["no data"]


def test_a_matrix_has_its_first_row_on_top_and_numbers_where_asked():
    _, axes = one(Map([[0.25, 1.0]], numbers=True, low=0, high=1))
    assert (axes.get_xlim(), axes.get_ylim()) == ((0, 2), (1, 0))
    assert [text.get_text() for text in axes.texts] == ["0.25", "1.00"]
    assert not len(axes.get_xticks())
    assert axes.get_aspect() == 1


def test_a_contour_follows_its_level_or_is_left_out():
    x, y = np.linspace(0, 4, 9), np.linspace(0, 1, 3)
    values = np.tile(x, (3, 1))
    figure, axes = one(Contour("half", x, y, values, 2.25), Contour("never", x, y, values, 9))
    (drawn,) = axes.collections
    assert drawn.get_paths()[0].vertices[:, 0] == pytest.approx(2.25)
    assert [text.get_text() for text in axes.texts] == ["half"]
    assert list(entries(figure)) == ["never"]


def test_an_image_lies_under_its_map():
    pixels = np.random.default_rng(0).random((8, 8, 3))
    centres = np.array([2.0, 6.0])
    figure, axes = one(Image(pixels, grey=True), Map(np.eye(2), x=centres, y=centres, opacity=0.5))
    assert axes.get_ylim() == (8, 0)
    assert list(axes.images[0].get_extent()) == [0, 8, 8, 0]
    assert np.array(axes.collections[0].get_coordinates()[0, :, 0]) == pytest.approx([0, 4, 8])
    assert entries(figure) == {}


# --- axes -------------------------------------------------------------------------------------


def test_ticks_are_named_as_asked_and_thinned_where_there_is_no_room():
    _, axes = one(Series("a", X, X), x=Axis("x", ticks={1: "one", 4: "four"}))
    assert list(axes.get_xticks()) == [1, 4]
    assert [t.get_text() for t in axes.get_xticklabels()] == ["one", "four"]
    many = np.arange(100.0)
    _, axes = one(Series("a", many, many), x=Axis(ticks=many))
    assert len(axes.get_xticks()) < 20
    assert len(axes.get_xticks()) + len(axes.get_xticks(minor=True)) == 100


def test_guides_do_not_stretch_the_range_but_everything_measured_does():
    _, axes = one(Series("a", X, X, X - 1, X + 1), Guide("law", X, 1000 * X))
    low, high = axes.get_ylim()
    assert -1 < low < 0
    assert 5 < high < 6
    _, alone = one(Guide("law", X, 1000 * X))
    assert alone.get_ylim()[1] > 4000


def test_shared_axes_are_named_once():
    names = ["first", "second", "third", "fourth"]
    parts = [
        Panel(title, [Points("a", X * k, range(4))], Axis("arm", categories=names), "error")
        for k, title in ((1, "one"), (2, "two"))
    ]
    figure = Picture(parts, width=TWO_COLUMNS, height=2, share="y").matplotlib()
    left, right = figure.axes
    assert (left.get_ylabel(), right.get_ylabel()) == ("arm", "")
    assert [t.get_text() for t in left.get_yticklabels()] == names
    assert not right.yaxis.get_tick_params()["labelleft"]
    assert left.get_ylim() == right.get_ylim()
    assert left.get_xlim() != right.get_xlim()


@pytest.mark.parametrize("title", ["", "A title over all panels"])
def test_several_panels_stay_clear_of_each_other(page, title):
    marks = [Series(f"a line with a name of its own, {i}", X, i * X) for i in range(6)]
    parts = [
        Panel(f"panel {i}", marks, Axis("loss of everything", log=i == 1), "training step")
        for i in range(5)
    ]
    figure = Picture(
        parts, columns=3, width=TWO_COLUMNS, height=4, title=title, note="a note " * 40
    ).matplotlib()
    assert len(figure.axes) == 5
    done = page(figure)
    assert done.cut_off() == []
    assert done.crowded() == []


def test_long_names_of_rows_leave_room_for_titles(page):
    names = [f"a network with a name of some length, number {i}" for i in range(4)]
    title = "a title that is rather too long for one line"
    parts = [
        Panel(title, [Points("a", X, range(4))], Axis(categories=names), "error") for _ in range(3)
    ]
    picture = Picture(parts, width=TWO_COLUMNS, height=2, share="y")
    assert page(picture).cut_off() == []
    assert page(picture).crowded() == []


# --- from a table -----------------------------------------------------------------------------


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    size, noise = np.repeat([10, 20, 40], 20), np.tile(np.repeat([0.5, 1.0], 10), 3)
    loss = noise / size + 0.01 * rng.random(60)
    columns = {"size": size, "world.noise": noise, "loss": loss, "won": loss < 0.03}
    return Table(columns, ("size", "world.noise"))


def test_lines_over_cells_hold_means_and_their_intervals(table):
    low, high = over_cells(table, "size", "loss", by="world.noise")
    assert (low.label, high.label) == ("noise = 0.5", "noise = 1")
    for line, noise in ((low, 0.5), (high, 1.0)):
        for i, size in enumerate((10, 20, 40)):
            mine = table["loss"][(table["size"] == size) & (table["world.noise"] == noise)]
            ends = mean_interval(mine, level=0.95)
            assert np.array(line.x)[i] == size
            assert np.array(line.y)[i] == pytest.approx(mine.mean())
            found = [np.array(line.low)[i], np.array(line.high)[i]]
            assert found == pytest.approx([float(end) for end in ends])


def test_a_column_of_yes_and_no_is_a_share_with_its_exact_interval(table):
    (line,) = over_cells(table.where(world__noise=0.5), "size", "won", name="won", form=Points)
    assert isinstance(line, Points)
    wins = [
        table["won"][(table["size"] == n) & (table["world.noise"] == 0.5)].sum() for n in line.x
    ]
    assert np.array(line.y) == pytest.approx(np.array(wins) / 10)
    assert [np.array(line.low), np.array(line.high)] == [
        pytest.approx(end) for end in exact(wins, [10] * 3)
    ]


def test_a_cell_may_say_an_estimate_a_number_or_three(table):
    def read(rows):
        size = int(rows["size"][0])
        found = {10: Estimate(1.0, (0.5, 2.0), 3), 20: 2.0, 40: (3.0, 2.5, np.inf)}
        return found[size]

    (line,) = over_cells(table, "size", read, name="found", transform=lambda n: 1 / n)
    assert list(line.x) == [1 / 10, 1 / 20, 1 / 40]
    assert list(line.y) == [1, 2, 3]
    assert np.array_equal(line.low, [0.5, np.nan, 2.5], equal_nan=True)
    assert np.array_equal(line.high, [2, np.nan, np.inf], equal_nan=True)
    (plain,) = over_cells(table, "size", lambda rows: 1.0, name="one")
    assert not plain.has_band


def test_an_average_over_a_forgotten_axis_is_refused(table):
    with pytest.raises(InputError, match=r"varies over 'world\.noise'"):
        over_cells(table, "size", "loss")
    assert over_cells(table, "size", lambda rows: rows["loss"].max())[0].label == ""


def test_a_band_over_trials():
    trials = np.array([[1.0, 2.0], [3.0, 2.0], [2.0, 2.0]])
    found = band("a", [0, 1], trials)
    assert np.array(found.y) == pytest.approx([2, 2])
    assert [found.low, found.high] == [pytest.approx(end) for end in mean_interval(trials)]
    assert not band("a", [0, 1], trials[:1]).has_band
