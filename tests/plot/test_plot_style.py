import os
import threading

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.text import Text

from limelight._core.errors import InputError
from limelight._core.files import write_whole
from limelight._core.maths import in_mathtext
from limelight.plot import ONE_COLUMN, TWO_COLUMNS, Series, provenance, render, save, style
from limelight.plot import lines as curves
from limelight.plot._looks import looks_of
from limelight.plot.style import new_figure


def lines():
    x = np.arange(5.0)
    return curves([("a", x, x**2), ("b", x, x)], x_label="x", y_label="y", title="Two lines")


def lightness(colour):
    channel = np.asarray(colour[:3])
    linear = np.where(channel > 0.04045, ((channel + 0.055) / 1.055) ** 2.4, channel / 12.92)
    y = float(linear @ [0.2126, 0.7152, 0.0722])
    return 116 * y ** (1 / 3) - 16 if y > 0.008856 else 903.3 * y


def test_the_success_map_rises_evenly_in_lightness():
    steps = np.diff([lightness(style.SHADES(v)) for v in np.linspace(0, 1, 21)])
    assert steps.min() > 0.85 * steps.mean()
    assert steps.max() < 1.15 * steps.mean()
    assert lightness(style.SHADES(0.0)) < 20
    assert lightness(style.SHADES(1.0)) > 95


def test_lines_are_told_apart_without_colour():
    looks = looks_of([Series(str(i), [], []) for i in range(35)]).values()
    assert len({(str(look.dash), look.marker) for look in looks}) == 35
    assert len({(look.colour, str(look.dash)) for look in looks}) == 35


def test_a_figure_has_the_size_and_axes_asked_for():
    figure = new_figure(TWO_COLUMNS, 2.5, rows=2, columns=3)
    assert figure.get_size_inches().tolist() == [7.0, 2.5]
    assert len(figure.axes) == 6


@pytest.mark.parametrize("width", [ONE_COLUMN, TWO_COLUMNS])
def test_long_words_stay_on_the_page(page, width):
    figure = curves(
        [("a", [0, 1], [0, 1])],
        x_label="the number of iterations after which the test loss stays under $10^{-3}$ for good",
        y_label="attention mass on label-relevant tokens, averaged over all queries of a sample",
        title="A title of so many words that it cannot possibly stand on one line of a column",
        width=width,
    )
    figure = figure.captioned(*provenance("paper", 50), "commit ffffffffff", "a note " * 12)
    assert page(figure).cut_off() == []
    assert page(figure).crowded() == []


def test_provenance_leaves_out_what_is_not_known():
    assert provenance() == ()
    assert provenance(trials=3) == ("3 trials per cell",)


def test_one_long_word_does_not_break_the_lines_around_it():
    text = "accuracy of averaged-representation-networks over the first ten steps"
    assert len(style.wrap(text, 1.2, 8.0).split("\n")) <= 4


def test_a_formula_is_never_broken():
    text = style.wrap("word " * 10 + r"$\alpha_* + \beta_* + \gamma_*$ " * 4, 1.5, 8.0)
    assert all(line.count("$") % 2 == 0 for line in text.split("\n"))
    assert " ".join(text.split()) == " ".join(
        ("word " * 10 + r"$\alpha_* + \beta_* + \gamma_*$ " * 4).split()
    )


# --- files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_figure_gives_the_same_bytes(tmp_path, kind):
    figure = lines()
    save(figure, tmp_path / f"a.{kind}")
    save(figure, tmp_path / f"b.{kind}")
    save(lines(), tmp_path / f"c.{kind}")
    first = (tmp_path / f"a.{kind}").read_bytes()
    assert first == (tmp_path / f"b.{kind}").read_bytes() == (tmp_path / f"c.{kind}").read_bytes()
    assert first.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[kind])
    assert len(list(tmp_path.iterdir())) == 3


def test_files_carry_no_date():
    assert b"<dc:date>" not in render(lines(), "svg")
    assert b"CreationDate" not in render(lines(), "pdf")
    assert b"tEXt" not in render(lines(), "png")


def test_a_png_has_at_least_200_dots_an_inch():
    width = int.from_bytes(render(lines())[16:20], "big")
    assert width >= 200 * ONE_COLUMN


def test_global_settings_are_left_as_they_were():
    before = dict(mpl.rcParams)
    render(lines(), "svg")
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("name", ["a.gif", "a", "a.png.txt"])
def test_an_unknown_suffix_is_refused_with_a_hint(tmp_path, name):
    with pytest.raises(InputError, match=r"use \.png, \.svg or \.pdf"):
        save(lines(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_an_input_error(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.png").mkdir()
    for place in ("missing/a.png", "file/a.png", "folder.png"):
        with pytest.raises(InputError, match="cannot write"):
            save(lines(), tmp_path / place)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder.png"]


def test_a_failed_write_keeps_the_old_file_and_leaves_no_litter(tmp_path, monkeypatch):
    target = tmp_path / "a.png"
    target.write_bytes(b"old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left"):
        write_whole(target, b"new")
    assert target.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.png"]


def test_a_link_is_followed(tmp_path):
    (tmp_path / "real.png").write_bytes(b"")
    (tmp_path / "link.png").symlink_to(tmp_path / "real.png")
    save(lines(), tmp_path / "link.png")
    assert (tmp_path / "link.png").is_symlink()
    assert (tmp_path / "real.png").read_bytes().startswith(b"\x89PNG")


def test_figures_are_made_and_written_in_threads():
    alone = render(lines())
    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(render(lines()))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [alone] * 4


def test_a_figure_without_a_layout_is_written_too():
    figure = lines().matplotlib()
    figure.set_layout_engine("none")
    assert render(figure) == render(figure)


@pytest.mark.parametrize("width", [3.4, 4.6, 7.0])
@pytest.mark.parametrize(
    "words",
    [
        "Contexts of 3,200 bits do not tell a logarithm from a line, nor from a square root",
        "With mmm bold words www that are wider than plain ones: $N \\propto \\alpha_*^{-2}$",
        "One title that ends just before the edge of a picture which is as wide as a page is",
    ],
)
def test_a_title_ends_inside_its_picture(words, width):
    for end in range(len(words.split()), 2, -1):
        text = " ".join(words.split()[:end])
        figure = style.new_figure(width=width)
        style.head(figure, text, f"{text}, in plain letters")
        figure.canvas.draw()
        for line in figure.texts:
            assert line.get_window_extent().x1 <= 0.99 * figure.bbox.width, text


def test_a_minus_in_words_is_drawn_as_one():
    t = [1.0, 2.0]
    picture = curves([("slope -2", t, t)], x_label="1 - cosine of $a-b$", y_label="5 x 5 average")
    figure = picture.matplotlib()
    (axes,) = figure.axes
    assert axes.get_xlabel() == "1 − cosine of $a-b$"
    assert axes.get_ylabel() == "5 × 5 average"
    said = {text.get_text() for text in figure.findobj(Text)}
    assert "slope −2" in said


def test_a_line_of_maths_ends_inside_its_width():
    words = (
        "Trained and frozen attention with alpha_# held at a quarter of alpha_*; li2023, Figure 3,"
    )
    text = in_mathtext(f"{words} without its confounder")
    for width in (2.0, 3.0, 4.4, 4.5, 4.6):
        for line in style.wrap(text, width, style.TICK).split("\n"):
            assert style.text_width(line, style.TICK) <= width
