"""Pages: what a browser shows of a run."""

from limelight._page.report import Section, write_report

__all__ = ["Section", "write_report"]
