"""A real Chromium, where there is one."""

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find_chromium() -> str | None:
    """The browser: what `LIMELIGHT_CHROMIUM` names, or the first that is installed."""
    named = os.environ.get("LIMELIGHT_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


#: Why nothing is known of the pages.
MISSING = (
    "NO CHROMIUM: the pages were NOT tested in a browser. Install one (Debian: apt-get install"
    " chromium), or name it: LIMELIGHT_CHROMIUM=/path/to/chromium"
)
