"""Pages: what a browser shows of runs and of published results.

- `report`: one page that needs no other file. `site`: a folder of pages.
- `parts`: claims, figures, tables.
- `shell`: the head of every page, its policy, and text made safe.
"""

from limelight._page.report import Section, write_report

__all__ = ["Section", "write_report"]
