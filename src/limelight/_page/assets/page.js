// What a page does with a reader: charts with their controls, players, filters.
// Nothing is computed here: every number was computed before, and is only chosen.
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.remove("no-js");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const el = (tag, attributes = {}, ...children) => {
    const found = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) found.setAttribute(name, value);
    found.append(...children);
    return found;
  };

  // --- charts -------------------------------------------------------------------------------
  // Colours of words and axes follow the page, in light and in dark.
  // So do blue and grey lines, too dark for a dark page, and the names of lines, darkened for a white one.
  const ink = { "--ink": "#1a1a1a", "--soft": "#595959", "--line": "#d9d9d9", "--blue": "#0072b2", "--grey": "#7a7a7a",
    "--orange-name": "#bc5300", "--green-name": "#008662", "--pink-name": "#a05f83", "--ochre-name": "#9c6f00",
    "--sky-name": "#3c7da1", "--grey-name": "#757575" };
  // A canvas knows no variables: there they are read, and read again when the page changes.
  const coloured = (text, drawn) => Object.entries(ink).reduce((found, [name, colour]) => {
    const here = drawn === "canvas" ? getComputedStyle(root).getPropertyValue(name).trim() : `var(${name})`;
    return found.replaceAll(`"${colour}"`, `"${here}"`);
  }, text);

  const unpacked = async (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  };

  // What draws charts: a script of the page, or packed in it, unpacked when the first chart comes near.
  // Its digest stands in the page's policy, so that nothing else runs this way.
  const inside = document.getElementById("vega");
  let drawing = null;
  const ready = () => drawing ??= window.vegaEmbed ? Promise.resolve() : unpacked(inside.textContent)
    .then((script) => { document.head.append(el("script", {}, script)); });

  // Rows of views as wide as there is room: a wide view takes all of it, small ones wrap.
  const laid = (spec, room) => {
    const margin = spec.usermeta.margin;
    const beside = room - margin >= 300;
    for (const param of spec.params) if (param.name === "beside") param.value = beside ? 1 : 0;
    const wide = Math.max(200, room - (beside ? margin : 75));
    // Words end with the room that there is.
    spec.config.axis.titleLimit = spec.config.title.limit = wide;
    spec.config.legend.labelLimit = spec.config.legend.titleLimit = Math.min(320, wide);
    for (const row of spec.vconcat) {
      if (row.concat) {
        const widths = row.concat.map((view) => view.width), many = widths.length;
        const square = row.concat.filter((view) => view.width === view.height);  // stays so
        const all = widths.reduce((sum, each) => sum + each + 50, 30);
        const share = Math.floor((room - 20) / many) - 55;
        if (new Set(widths).size === 1 && share >= 150) {  // alike: all in one row, as wide as it goes
          for (const view of row.concat) view.width = Math.min(share, 1.5 * view.width);
        }
        row.columns = all <= room || share >= 150 ? many
          : Math.max(1, Math.floor(room / (Math.max(...widths) + 70)));
        for (const view of row.concat) view.width = Math.min(view.width, room - 70);
        for (const view of square) view.height = view.width;
      } else row.width = wide;
    }
    return spec;
  };

  let number = 0;
  const controlOf = (control, set) => {
    const id = `control-${++number}`;
    if (control.form === "choice") {
      const row = el("div", { class: "row" });
      control.options.forEach((words, place) => {
        const input = el("input", { type: "radio", name: id, value: place });
        input.checked = place === control.start;
        input.addEventListener("change", () => set(place));
        row.append(el("label", {}, input, words));
      });
      return el("fieldset", { class: "control choice", "data-name": control.name },
        el("legend", {}, control.label), row);
    }
    if (control.form === "switch") {
      const input = el("input", { type: "checkbox", id });
      input.checked = control.start === 1;
      input.addEventListener("change", () => set(input.checked ? 1 : 0));
      return el("div", { class: "control switch", "data-name": control.name },
        el("label", { for: id }, input, control.label));
    }
    const last = control.options.length - 1;
    const input = el("input", { type: "range", id, min: 0, max: last, step: 1, value: control.start });
    const told = el("output", { for: id });
    const say = () => {
      told.textContent = control.options[+input.value];
      input.setAttribute("aria-valuetext", control.options[+input.value]);
    };
    input.addEventListener("input", () => { say(); set(+input.value); });
    say();
    const label = el("label", { for: id }, `${control.label} `, told);
    const box = el("div", { class: `control slider ${control.form}`, "data-name": control.name }, label);
    if (control.form !== "player") { box.append(input); return box; }
    // A player: the slider moves by itself, until it is touched or at its end.
    const button = el("button", { type: "button", "aria-pressed": "false" }, "Play");
    let timer = null;
    const stop = () => {
      clearInterval(timer); timer = null;
      button.textContent = "Play"; button.setAttribute("aria-pressed", "false");
    };
    const move = (place) => { input.value = place; say(); set(place); };
    const play = () => {
      if (+input.value >= last) move(0);
      button.textContent = "Pause"; button.setAttribute("aria-pressed", "true");
      timer = setInterval(() => {
        if (+input.value >= last) stop(); else move(+input.value + 1);
      }, still.matches ? 1000 : Math.max(80, Math.min(500, 8000 / last)));
    };
    button.addEventListener("click", () => timer ? stop() : play());
    input.addEventListener("pointerdown", stop);
    input.addEventListener("keydown", (event) => {
      if (event.key === " ") { event.preventDefault(); timer ? stop() : play(); } else stop();
    });
    box.append(el("div", { class: "play" }, button, input));
    return box;
  };

  const draw = async (live) => {
    const source = document.getElementById(live.dataset.chart);
    const [text] = await Promise.all([unpacked(source.textContent), ready()]);
    const renderer = live.dataset.renderer;
    const controls = JSON.parse(live.dataset.controls);
    const state = Object.fromEntries(controls.map((control) => [control.name, control.start]));
    const plot = el("div", { class: "plot" });
    let view = null, width = 0;
    const set = (name) => async (value) => {
      state[name] = value;
      live.dataset.state = JSON.stringify(state);
      const began = performance.now();
      if (view) await view.signal(name, value).runAsync();
      live.dataset.took = Math.round(performance.now() - began);
    };
    const still = live.closest("figure").querySelector(".still :is(img, svg)");
    const show = async () => {
      const room = live.clientWidth;
      if (!room || room === width) return;
      width = room;
      // How wide words come out is known when they are drawn: what is too wide is laid out anew.
      for (let less = 0, tries = 0; tries < 4; tries++) {
        const spec = laid(JSON.parse(coloured(text, renderer)), room - less);
        for (const param of spec.params) if (param.name in state) param.value = state[param.name];
        spec.description = still?.alt || still?.getAttribute("aria-label") || "";  // for who hears it
        view?.finalize();
        const found = await vegaEmbed(plot, spec, {
          ast: true, actions: false, renderer, defaultStyle: false,
          tooltip: { disableDefaultStyle: true, theme: "page" }, mode: "vega-lite",
        });
        view = live.view = found.view;
        const over = plot.scrollWidth - plot.clientWidth;
        if (over <= 1 || room - less < 240) break;
        less += over + 4;
      }
    };
    const box = el("div", { class: "controls" }), switches = el("div", { class: "switches" });
    for (const control of controls) {
      (control.form === "switch" ? switches : box).append(controlOf(control, set(control.name)));
    }
    if (switches.hasChildNodes()) box.append(switches);
    live.append(...(controls.length ? [box] : []), plot);
    live.dataset.state = JSON.stringify(state);
    try {
      await show();
      live.closest("figure").classList.add("alive");
      live.dataset.ready = "yes";
    } catch (error) {  // the picture on paper stays
      live.hidden = true;
      console.error(error);
    }
    if (renderer === "canvas") {
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { width = 0; show(); });
    }
    let waiting = 0;
    addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(show, 150); });
  };

  // A chart is drawn when it comes near the screen.
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) { near.unobserve(entry.target); draw(entry.target); }
    }
  }, { rootMargin: "800px" });
  if (inside || window.vegaEmbed) document.querySelectorAll(".live[data-chart]").forEach((live) => near.observe(live));

  // --- filters ------------------------------------------------------------------------------
  const filters = document.querySelector(".filters");
  if (filters) {
    const tiles = [...document.querySelectorAll(".filtered > *")];
    const count = document.querySelector(".filters output");
    const fields = [...filters.querySelectorAll("input, select")];
    // What is chosen stands in the address, so that it can be sent and comes back with "back".
    const remember = () => {
      const asked = fields.filter((field) => field.value).map((field) => [field.name, field.value]);
      const words = new URLSearchParams(asked).toString();
      try {
        history.replaceState(null, "", `${location.pathname}${words && "?"}${words}${location.hash}`);
      } catch { /* a browser that lets no page from disk do so */ }
    };
    const asked = new URLSearchParams(location.search);
    for (const field of fields) field.value = asked.get(field.name) ?? "";
    for (const select of filters.querySelectorAll("select")) if (select.selectedIndex < 0) select.value = "";
    const apply = () => {
      const chosen = [...filters.querySelectorAll("select")].filter((select) => select.value);
      const words = filters.querySelector("input").value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const tile of tiles) {
        const said = tile.dataset.words;
        tile.hidden = !(chosen.every((select) => tile.dataset[select.name] === select.value)
          && words.every((word) => said.includes(word)));
        shown += !tile.hidden;
      }
      count.textContent = `${shown} of ${tiles.length} claims`;
      filters.querySelector("button").hidden = !fields.some((field) => field.value);
    };
    filters.addEventListener("input", () => { apply(); remember(); });
    filters.addEventListener("reset", (event) => {
      event.preventDefault();  // what the address asked for is no start to go back to
      for (const field of fields) field.value = "";
      apply(); remember(); fields[0].focus();
    });
    filters.addEventListener("submit", (event) => event.preventDefault());
    apply();
    // A link to a claim shows it, whatever is filtered out.
    const reveal = () => {
      const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (target?.hidden) { target.hidden = false; target.scrollIntoView(); }
    };
    addEventListener("hashchange", reveal);
    reveal();
  }
})();
