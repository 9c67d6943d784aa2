"""Figures from tables and plain arrays.

`phase` draws where trials succeed, `curves` lines and fits, `maps` attention by role, `patches`
maps over the patches of an image, `panels` several panels of lines; `style` is how they look,
`files` how they are written, `marks` and `grid` what they share. Every drawing function returns a
matplotlib `Figure`; none uses pyplot, so they work without a display and in threads.
"""

from limelight.plot.curves import Reference, curves, fit_label, fit_panel
from limelight.plot.files import Movie, animate, render, save
from limelight.plot.grid import Marked, TopAxis, success_rates
from limelight.plot.maps import attention_map, attention_maps, mass_by_role, role_mass
from limelight.plot.marks import Series
from limelight.plot.panels import Panel, panels
from limelight.plot.patches import attention_over_image, similarity_maps
from limelight.plot.phase import Validity, phase, phase_diagram
from limelight.plot.style import ONE_COLUMN, TWO_COLUMNS, caption, new_figure, provenance

__all__ = [
    "ONE_COLUMN",
    "TWO_COLUMNS",
    "Marked",
    "Movie",
    "Panel",
    "Reference",
    "Series",
    "TopAxis",
    "Validity",
    "animate",
    "attention_map",
    "attention_maps",
    "attention_over_image",
    "caption",
    "curves",
    "fit_label",
    "fit_panel",
    "mass_by_role",
    "new_figure",
    "panels",
    "phase",
    "phase_diagram",
    "provenance",
    "render",
    "role_mass",
    "save",
    "similarity_maps",
    "success_rates",
]
