"""A chart in a notebook: a frame that holds all it needs, and may ask the network for nothing."""

import html
import json
from functools import cache
from typing import Any

#: Draws the chart, and gives the frame its height; expressions are walked, never compiled.
_DRAW = """
const spec = JSON.parse(document.getElementById("spec").textContent);
const fit = () => {
  if (frameElement) frameElement.style.height = document.documentElement.offsetHeight + 4 + "px";
};
vegaEmbed("#chart", spec, { mode: "vega-lite", ast: true, actions: false, renderer: "RENDERER" })
  .then(({ view }) => {
    for (const [name, words] of Object.entries(spec.usermeta.places)) {
      const slider = document.querySelector(`input[type=range][name="${name}"]`);
      if (!slider) continue;
      const told = document.createElement("output");  // what the place means, not its number
      const say = (_, place) => { told.textContent = words[place]; };
      slider.parentElement.append(told);
      view.addSignalListener(name, say);
      say(name, view.signal(name));
    }
    new ResizeObserver(fit).observe(document.body);
  });
"""
_STYLE = (
    "html { overflow-y: hidden } body { margin: 0; background: white; color: #1a1a1a;"
    " font: 13px/1.4 system-ui, sans-serif } .vega-bind { margin: .3em 0 }"
    " .vega-bind-name { margin-right: .6em } input[type=range] + span { display: none }"
)
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"


@cache
def vega() -> str:
    """The JavaScript that draws charts: Vega, Vega-Lite and Vega-Embed in one piece."""
    import vl_convert

    bundle = vl_convert.javascript_bundle()  # pyright: ignore[reportCallIssue]
    # Inside a page nothing may look like the end of its element.
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def framed(spec: dict[str, Any], title: str, caption: str, renderer: str) -> str:
    """A specification with its controls as a frame of its own, about 1 MB.

    Altair's own form loads Vega from a network, which a notebook need not have.
    """
    told = json.dumps(spec, ensure_ascii=False).replace("<", "\\u003c")
    inside = (
        '<!DOCTYPE html><html><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<style>{_STYLE}</style></head><body>"
        f'<div id="chart"></div><p>{html.escape(caption)}</p>'
        f'<script type="application/json" id="spec">{told}</script>'
        f"<script>{vega()}</script><script>{_DRAW.replace('RENDERER', renderer)}</script>"
        "</body></html>"
    )
    return (
        f'<iframe title="{html.escape(title or "chart")}" srcdoc="{html.escape(inside)}"'
        ' style="width: 100%; height: 520px; border: 0"></iframe>'
    )
