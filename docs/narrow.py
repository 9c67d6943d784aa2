"""Open every page of a built site in a browser and name what is wider than the window.

    python docs/narrow.py docs/_build/html [WIDTH ...]

Widths are in pixels, 420 and 1,400 unless given. Leaves with 1 where a page scrolls sideways. Needs
Playwright, and Chromium: the system's, or the one that `LIMELIGHT_CHROMIUM` names. Without one it
says so, and checks nothing.
"""

import os
import shutil
import sys
from pathlib import Path

#: What sticks out of the window and is not inside something that scrolls by itself.
WIDER = """() => {
  const room = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= room) return [];
  const scrolls = (e) => e && (/auto|scroll|hidden/.test(getComputedStyle(e).overflowX)
    ? e !== document.documentElement && e !== document.body : scrolls(e.parentElement));
  return [...document.querySelectorAll("body *")]
    .filter((e) => e.getBoundingClientRect().right > room + 1 && !scrolls(e.parentElement))
    .map((e) => e.tagName.toLowerCase() + (e.className ? "." + e.className : "") + ": "
      + e.textContent.trim().slice(0, 60))
    .slice(0, 3);
}"""


def chromium() -> str | None:
    """A browser, wherever one is."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    here = next(filter(None, map(shutil.which, names)), None)
    return os.environ.get("LIMELIGHT_CHROMIUM") or here


def wide(folder: Path, widths: list[int]) -> tuple[list[str], int]:
    """What is too wide, page by page, and how many pages were opened."""
    from playwright.sync_api import sync_playwright

    pages, wrong = sorted(folder.rglob("*.html")), []
    start = {"executable_path": chromium(), "args": ["--no-sandbox"]}
    with sync_playwright() as playwright, playwright.chromium.launch(**start) as opened:
        for width in widths:
            tab = opened.new_page(viewport={"width": width, "height": 900})
            for path in pages:
                tab.goto(path.as_uri(), wait_until="load")
                here = path.relative_to(folder)
                wrong += [f"{here} at {width}: {what}" for what in tab.evaluate(WIDER)]
            tab.close()
    return wrong, len(pages)


def main(words: list[str]) -> int:
    """Check a folder."""
    if chromium() is None:
        print("no Chromium is installed here: how wide pages are was not checked")
        return 0
    widths = [int(word) for word in words[1:]] or [420, 1400]
    wrong, pages = wide(Path(words[0]).resolve(), widths)
    for line in wrong:
        print(line)
    at = " and ".join(f"{width} px" for width in widths)
    print(f"{pages} pages at {at}, {len(wrong)} things wider than the window")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
