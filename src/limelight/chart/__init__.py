"""Charts that answer to a reader: the same tables as `plot`, in a browser or a notebook.

A chart is data, like a picture: views in Vega-Lite, the numbers under them, and controls. All
statistics are computed by `fit` beforehand, for every place of every control; what runs in the
browser only chooses among them.

- `Explorer`: a phase diagram whose criterion moves.
- `of_picture`: the lines, points and maps of any picture, each told under the pointer.
- `player`: maps and curves of a training, moved by one slider.

    figure = ll.papers.li2023.figure("fig1a")
    figure.chart(table)             # shows itself in a notebook
    figure.chart(table).altair()    # a chart of Altair, to change or to save
"""

from limelight.chart.chart import Chart, Control
from limelight.chart.curves import of_picture
from limelight.chart.explorer import LOSSES, Explorer
from limelight.chart.player import Film, Strip, player

__all__ = ["LOSSES", "Chart", "Control", "Explorer", "Film", "Strip", "of_picture", "player"]
