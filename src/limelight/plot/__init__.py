r"""A picture is data: what to draw, as plain values; Matplotlib draws it when it is saved or shown.

A drawing function takes a table and returns a `Picture`. It says nothing of where the table comes
from: the caption (scale, trials) is added by whoever calls it, before the picture's own `note`.

    from limelight import plot

    def draw(table):
        return plot.lines(
            plot.over_cells(table, x="train.examples", y="test_loss", by="world.noise"),
            x_label="training examples $N$",
            y_label="test loss",
            log_x=True,
            references=[plot.Reference("chance", 0.5)],
            note="bands: 95 % intervals of the mean",
        )

    draw(table).save("loss.png")

**Ready-made pictures.** `lines` is one panel of lines with bands, laws as `guides`, and reference
lines; `panels` is a grid of panels with one set of names; `phase` and `phase_diagram` show where
trials succeed; `mass_by_role` and `similarity_maps` show attention; `example` is one example of a
world, `parts` the arrays of a model. `over_cells` and `band` read lines off a table; `regions`
names the parts of a map.

**Everything else** is a `Picture` of `Panel`s with `Axis` and marks:

    law = plot.Guide("limit law", fine, predicted, colour="ink")
    seen = plot.over_cells(table, x="world.size", y=ratio, by="world.sigma",
                           name=r"$\sigma$ = {:g}", form=plot.Points)
    left = plot.Panel(
        "best logit scale",
        [*seen, law, plot.Reference("printed bound", 0.5)],
        y=plot.Axis("ratio", log=True, limits=(0.1, 2), ticks=(0.1, 0.2, 0.5, 1, 2)),
        x=plot.Axis("cluster size", log=True, ticks=sizes),
    )
    picture = plot.Picture([left, right], width=plot.TWO_COLUMNS, height=2.7, note="d = $10^6$")

Marks: `Series` (line and band), `Points` (marks and error bars, also horizontal ones), `Guide` (a
thin line), `Bundle` (one thin line per run), `Bars`, `Reference` (a straight line), `Span` (a
shaded strip), `Text`, `Map` (coloured cells with a colour bar), `Contour`, `Image`.

**Looks follow labels.** A label has one colour, marker and dash in the whole picture and one name,
which stands beside it. `Points("A", ...)` and `Guide("A", ...)` together are marks on their law,
with one name for both. Give `colour=` (a place in the palette, "ink" or "muted"), `marker=` or
`dash=` only where they mean something, such as one colour for each noise level and one dash for
each number of clusters; then explain them by marks without points:
`Guide("C = 2", [], [], colour="ink", dash=1)`. These alone have a legend.
A mark without a label is muted. NaN is a gap; an infinite or NaN end of an interval is open, and
reaches the frame or is an arrow.

**Rows with names** (one per arm or setting) are an `Axis(categories=[...])` with `Points` at 0, 1,
2, ...; `share="y"` writes the names once. **Movies** are pictures with `frames`.

Importing this package loads neither Matplotlib nor JAX.
"""

from typing import TYPE_CHECKING, Any

from limelight.plot.captions import captioned, provenance
from limelight.plot.cells import band, over_cells
from limelight.plot.examples import example
from limelight.plot.lines import lines, panels
from limelight.plot.maps import mass_by_role
from limelight.plot.marks import (
    Bars,
    Bundle,
    Contour,
    Guide,
    Image,
    Map,
    Mark,
    Points,
    Reference,
    Series,
    Span,
    Text,
)
from limelight.plot.patches import attention_over_image, patch_sets, similarity_maps
from limelight.plot.phase import phase, phase_diagram, success_rates
from limelight.plot.picture import ONE_COLUMN, TWO_COLUMNS, WIDE, Axis, Panel, Picture
from limelight.plot.plain import measures, plain
from limelight.plot.regions import regions
from limelight.plot.weights import parts

if TYPE_CHECKING:
    from limelight.plot.files import animate, render, save

_WITH_MATPLOTLIB = {
    "animate": "files",
    "render": "files",
    "save": "files",
}

__all__ = [  # noqa: RUF022
    # pictures
    "Picture",
    "Panel",
    "Axis",
    "ONE_COLUMN",
    "WIDE",
    "TWO_COLUMNS",
    # marks
    "Mark",
    "Series",
    "Points",
    "Guide",
    "Bundle",
    "Bars",
    "Reference",
    "Span",
    "Text",
    "Map",
    "Contour",
    "Image",
    # any table
    "plain",
    "measures",
    # lines and points
    "lines",
    "panels",
    "over_cells",
    "band",
    # phase diagrams
    "phase",
    "phase_diagram",
    "regions",
    "success_rates",
    # attention
    "attention_over_image",
    "mass_by_role",
    "patch_sets",
    "similarity_maps",
    # a world and a model
    "example",
    "parts",
    # captions and files
    "captioned",
    "provenance",
    "save",
    "render",
    "animate",
]


def __getattr__(name: str) -> Any:
    """What needs Matplotlib is loaded when it is first used."""
    import importlib

    if name not in _WITH_MATPLOTLIB:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_WITH_MATPLOTLIB[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
