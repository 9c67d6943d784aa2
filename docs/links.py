"""Check every link of the built site that stays inside it: pages, files and anchors.

    python docs/links.py docs/_build/html

Leaves with 1 and names what leads nowhere; also what would be fetched from another host.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page names, what it points to, and what it loads."""

    def __init__(self, text: str):
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Gather from one tag."""
        given = {name: value for name, value in attrs if value}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        if tag in ("img", "script", "source", "iframe") and "src" in given:
            self.loaded.add(given["src"])
        if tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.add(given["href"])


def check(folder: Path) -> tuple[list[str], int]:
    """What is wrong, and how many links were followed."""
    pages = {path: Page(path.read_text()) for path in sorted(folder.rglob("*.html"))}
    wrong, followed = [], 0
    for path, page in pages.items():
        here = path.relative_to(folder)
        for target in sorted(page.loaded | page.links):
            parts = urlsplit(target)
            if parts.scheme in ("http", "https") or parts.netloc:
                if target in page.loaded:
                    wrong.append(f"{here} loads {target} from elsewhere")
                continue
            if parts.scheme:  # data:, mailto:
                continue
            followed += 1
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not file.exists():
                wrong.append(f"{here}: no file {target}")
            known = pages[file].anchors if file in pages else {unquote(parts.fragment)}
            if parts.fragment and unquote(parts.fragment) not in known:
                wrong.append(f"{here}: no anchor {target}")
    return wrong, followed


def main(words: list[str]) -> int:
    """Check a folder."""
    wrong, followed = check(Path(words[0]).resolve())
    for line in wrong:
        print(line)
    print(f"{followed} links inside the site, {len(wrong)} of them lead nowhere")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
