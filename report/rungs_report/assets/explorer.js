"use strict";
// The report's interactive part: filters, one chart with hover, zoom and keys, and a sortable table. No library, no network.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const by = (id) => document.getElementById(id);
  const FILTERS = ["operation", "kind", "shape", "distribution", "mode"];
  const state = { operation: "", kind: "", shape: "", distribution: "", mode: "", n: "", y: data.measures[0].name, lines: "first", search: "" };
  // Which lines the chart shows: see the select of that name.
  const LINES = {
    first: (row) => row.problem.first.has(row.variant),
    ours: (row) => ["door", "ours", "cub"].includes(row.variant.kind),
    libraries: (row) => row.variant.kind !== "shapes",
    all: () => true,
  };
  const WRITTEN = { ratio, percent: (value) => (value === null ? "–" : significant(value) + " %"), number: significant, time: duration };
  const MEASURES = Object.fromEntries(data.measures.map((each) => [each.name, { ...each, log: each.unit === "number" || each.unit === "time", of: (row) => row[each.name] ?? null, told: WRITTEN[each.unit] }]));
  const VERDICTS = { FASTER: "faster", SAME: "tie", SLOWER: "CUB wins", AMBIGUOUS: "undecided" };
  const KINDS = ["door", "cub", "ours", "libraries", "shapes"];
  const hidden = new Set();
  let sort = { column: "place", down: false }, view = null, lines = [], cursor = null, problem = null, highlighted = null;

  // ---- how numbers are written: as everywhere in the report

  function significant(value) {
    if (value === null || value === undefined) return "–";
    if (value === 0) return "0";
    const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(Number(value.toPrecision(3))))));
    return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits, maximumSignificantDigits: digits ? undefined : 3 });
  }
  function ratio(value) {
    if (value === null || value === undefined) return "–";
    return value < 0.095 ? Number(value.toPrecision(2)) + "x" : value < 9.995 ? value.toFixed(2) + "x" : significant(value) + "x";
  }
  function duration(us) {
    if (us === null || us === undefined) return "–";
    return us >= 1e6 ? significant(us / 1e6) + " s" : us >= 1e3 ? significant(us / 1e3) + " ms" : significant(us) + " µs";
  }
  const end = (value) => (value < 10 ? value.toFixed(3) : significant(value));
  function size(count) {
    for (const [unit, suffix] of [[2 ** 40, "Ti"], [2 ** 30, "Gi"], [2 ** 20, "Mi"], [2 ** 10, "Ki"]])
      if (count >= unit && count % unit === 0) return (count / unit).toLocaleString("en") + " " + suffix;
    return count.toLocaleString("en");
  }

  // A place on the axis is a count, or the name of what stands there.
  const named = (place) => (data.labels.length ? data.labels[Math.round(Math.log2(place))] || "" : size(place));

  // ---- data: columns of numbers, names by index

  for (const each of data.problems) each.first = new Set(each.first.map((number) => data.variants[number]));
  const rows = data.rows.place.map((_, i) => {
    const row = Object.fromEntries(Object.entries(data.rows).map(([name, column]) => [name, column[i]]));
    row.variant = data.variants[row.variant];
    row.problem = data.problems[row.problem];
    row.ends = (row.low ?? null) === null ? null : [row.low, row.high];
    row.verdict = data.verdicts[row.verdict || 0];
    return row;
  });
  const rowsOf = new Map(data.problems.map((each) => [each, []]));
  for (const row of rows) rowsOf.get(row.problem).push(row);

  // ---- filters: each offers what is there under those before it

  function choices(name) {
    const before = FILTERS.slice(0, FILTERS.indexOf(name));
    const found = data.problems.filter((each) => before.every((other) => each[other] === state[other]));
    return [...new Set(found.map((each) => each[name]))];
  }
  function fill(select, values, chosen, told) {
    select.replaceChildren(...values.map((value) => {
      const option = document.createElement("option");
      option.value = value;
      option.textContent = told(value);
      option.selected = value === chosen;
      return option;
    }));
    select.closest("label").hidden = values.length < 2;
  }
  function refilter(first) {
    for (const name of FILTERS) {
      const values = choices(name);
      if (!values.includes(state[name])) state[name] = values[0];
      fill(by(name), values, state[name], (value) => data.words[value] || value || "–");
    }
    const found = data.problems.find((each) => FILTERS.every((name) => each[name] === state[name]));
    if (found !== problem) {
      problem = found;
      view = null;
      cursor = null;
      highlighted = null;
    }
    const sizes = [...new Set(rowsOf.get(problem).map((row) => row.place))].sort((a, b) => a - b);
    if (!sizes.map(String).includes(state.n)) state.n = "";
    fill(by("n"), ["", ...sizes.map(String)], state.n, (value) => (value ? named(Number(value)) : "all"));
    by("y").value = state.y;
    by("lines").value = state.lines;
    draw();
    if (!first) remember();
  }
  const offered = (row) => LINES[state.lines](row) && row.variant.name.toLowerCase().includes(state.search.toLowerCase());
  const shown = (row) => offered(row) && !hidden.has(row.variant);

  // ---- the chart

  const SVG = "http://www.w3.org/2000/svg";
  function add(parent, tag, attributes, text) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  }
  const MARKS = {
    circle: (r) => `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0`,
    square: (r) => `M${-r},${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
    "triangle-up": (r) => `M0,${-1.2 * r}L${1.2 * r},${r}H${-1.2 * r}z`,
    "triangle-down": (r) => `M0,${1.2 * r}L${1.2 * r},${-r}H${-1.2 * r}z`,
    diamond: (r) => `M0,${-1.4 * r}L${1.4 * r},0L0,${1.4 * r}L${-1.4 * r},0z`,
    cross: (r) => `M${-1.3 * r},${-r / 2.2}h${r * 0.85}v${-r * 0.85}h${r * 0.9}v${r * 0.85}h${r * 0.85}v${r * 0.9}h${-r * 0.85}v${r * 0.85}h${-r * 0.9}v${-r * 0.85}h${-r * 0.85}z`,
  };
  const MARGIN = { left: 58, right: 16, top: 14, bottom: 42 };
  let scale = null;

  function draw() {
    const svg = by("chart");
    const width = svg.clientWidth || 760, height = svg.clientHeight || 420;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.replaceChildren();
    const own = rowsOf.get(problem);
    // Without CUB there is no speed-up, and without a roof no ceiling: then what there is.
    const drawn = [state.y, ...Object.keys(MEASURES)].find((name) => own.some((row) => MEASURES[name].of(row) !== null)) || state.y;
    const measure = MEASURES[drawn];
    legend(own);
    const points = own.filter((row) => shown(row) && row.place > 0 && measure.of(row) !== null);
    const all = own.filter((row) => row.place > 0).map((row) => Math.log2(row.place));
    const whole = all.length ? [Math.min(...all) - 0.3, Math.max(...all) + 0.3] : [0, 1];
    if (!view) view = whole;
    const inside = points.filter((row) => Math.log2(row.place) >= view[0] && Math.log2(row.place) <= view[1]);
    by("chart").setAttribute("aria-label", `${problem.says}: ${measure.says} over ${data.axis}, ${new Set(points.map((row) => row.variant)).size} variants. Arrow keys walk the points, plus and minus zoom, zero shows all.`);
    if (!inside.length) {
      add(svg, "text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, "nothing to show: " + (points.length ? "zoom out" : "another measure, or more variants"));
      scale = null;
      lines = [];
      tip(null);
      table();
      return;
    }
    const values = inside.map(measure.of);
    let [low, high] = [Math.min(...values), Math.max(...values)];
    if (drawn === "percent") [low, high] = [0, Math.max(high, 100)];
    // Losers far below would press everything of interest into one line: they are in the table.
    if (drawn === "speedup") [low, high] = [Math.max(0.5, Math.min(low, 0.9)), Math.max(high, 1.1)];
    const forward = measure.log ? Math.log10 : (v) => v;
    [low, high] = [forward(low), forward(high)];
    const pad = (high - low || 1) * 0.06;
    [low, high] = [drawn === "percent" ? 0 : low - pad, high + pad];
    const x = (place) => MARGIN.left + ((Math.log2(place) - view[0]) / (view[1] - view[0])) * (width - MARGIN.left - MARGIN.right);
    const y = (v) => height - MARGIN.bottom - ((forward(v) - low) / (high - low)) * (height - MARGIN.top - MARGIN.bottom);
    scale = { x, y, width, height };

    const room = Math.max(1, Math.ceil((view[1] - view[0]) / ((width - MARGIN.left) / (data.labels.length ? 96 : 62))));
    for (let e = Math.ceil(view[0]); e <= view[1]; e++) {
      if (e % room || e < 0) continue;
      add(svg, "line", { class: "grid", x1: x(2 ** e), x2: x(2 ** e), y1: MARGIN.top, y2: height - MARGIN.bottom });
      add(svg, "text", { x: x(2 ** e), y: height - MARGIN.bottom + 16, "text-anchor": "middle" }, named(2 ** e));
    }
    for (const v of ticks(low, high, measure.log)) {
      add(svg, "line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(v), y2: y(v) });
      add(svg, "text", { x: MARGIN.left - 7, y: y(v) + 4, "text-anchor": "end" }, Number(v.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 }));
    }
    add(svg, "text", { x: (MARGIN.left + width) / 2, y: height - 6, "text-anchor": "middle" }, data.axis);
    add(svg, "text", { x: 14, y: height / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${height / 2})` }, measure.says);
    const level = { speedup: 1, percent: 100 }[drawn];
    if (level) add(svg, "line", { class: "level", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(level), y2: y(level) });
    const clip = add(add(svg, "defs", {}), "clipPath", { id: "inside" });
    add(clip, "rect", { x: MARGIN.left, y: MARGIN.top, width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom });
    const plane = add(svg, "g", { "clip-path": "url(#inside)" });

    lines = [];
    const variants = [...new Set(points.map((row) => row.variant))].sort((a, b) => KINDS.indexOf(b.kind) - KINDS.indexOf(a.kind));
    for (const variant of variants) {
      const line = points.filter((row) => row.variant === variant).sort((a, b) => a.place - b.place);
      const faint = highlighted && highlighted !== variant;
      const strong = highlighted === variant || variant.kind === "cub" || variant.kind === "door";
      const group = add(plane, "g", { opacity: faint ? 0.25 : 1, "data-variant": variant.name });
      const path = line.map((row, i) => `${i ? "L" : "M"}${x(row.place).toFixed(1)},${y(measure.of(row)).toFixed(1)}`).join("");
      add(group, "path", { d: path, fill: "none", stroke: variant.colour, "stroke-width": strong ? 2.8 : 1.4, "stroke-dasharray": variant.dash });
      for (const row of line) {
        const place = { row, x: x(row.place), y: y(measure.of(row)) };
        add(group, "path", { d: MARKS[variant.mark](3.4), transform: `translate(${place.x.toFixed(1)},${place.y.toFixed(1)})`, fill: variant.colour });
        if (place.x >= MARGIN.left && place.x <= width - MARGIN.right && place.y <= height - MARGIN.bottom) lines.push(place);
      }
    }
    if (cursor) {
      const again = lines.find((place) => place.row === cursor.row);
      cursor = again || null;
      mark();
    }
    tip(cursor);
    table();
  }
  function ticks(low, high, log) {
    if (log) {
      const found = [];
      for (let e = Math.floor(low); e <= high; e++) for (const step of high - low > 3 ? [1] : [1, 2, 5]) found.push(step * 10 ** e);
      return found.filter((v) => Math.log10(v) >= low && Math.log10(v) <= high);
    }
    const rough = (high - low) / 6, base = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((f) => f * base).find((s) => s >= rough);
    const found = [];
    for (let v = Math.ceil(low / step) * step; v <= high; v += step) found.push(Number(v.toPrecision(6)));
    return found;
  }
  function mark() {
    by("chart").querySelector("#cursor")?.remove();
    if (cursor) add(by("chart"), "circle", { id: "cursor", cx: cursor.x, cy: cursor.y, r: 8, fill: "none", stroke: "currentColor", "stroke-width": 2 });
  }
  function tip(place) {
    const box = by("tip");
    box.hidden = !place;
    if (!place) return;
    const row = place.row;
    const said = [row.variant.name, `${data.axis}: ${named(row.place)}`];
    for (const [name, each] of Object.entries(MEASURES)) {
      const value = each.of(row);
      if (value === null) continue;
      const interval = row.ends && (name === "speedup" || name === "link") ? ` (${row.ends.map(end).join(" to ")})` : "";
      const unit = { ratio: " " + each.says.replace("speed-up ", ""), percent: " of the ceiling", number: " " + each.says, time: "" }[each.unit];
      said.push(each.told(value) + unit + interval + (name === "speedup" && row.verdict ? ", " + VERDICTS[row.verdict] : ""));
    }
    box.replaceChildren(...said.map((line, i) => Object.assign(document.createElement(i ? "div" : "strong"), { textContent: line })));
    const left = place.x > scale.width / 2 ? place.x - box.offsetWidth - 14 : place.x + 14;
    box.style.left = Math.max(2, Math.min(left, scale.width - box.offsetWidth - 2)) + "px";
    box.style.top = Math.max(2, Math.min(place.y - 10, scale.height - box.offsetHeight - 4)) + "px";
  }
  function at(place) {
    cursor = place;
    mark();
    tip(place);
    by("chart").querySelectorAll("[data-variant]").forEach((group) => {
      group.setAttribute("opacity", place && group.dataset.variant !== place.row.variant.name ? 0.25 : 1);
    });
  }
  function zoom(factor, around) {
    const middle = around ?? (view[0] + view[1]) / 2;
    view = view.map((end) => middle + (end - middle) * factor);
    if (view[1] - view[0] > 60) view = null;
    draw();
  }
  const exponent = (px) => view[0] + ((px - MARGIN.left) / (scale.width - MARGIN.left - MARGIN.right)) * (view[1] - view[0]);

  function listen() {
    const svg = by("chart");
    let grip = null;
    const local = (event) => { const box = svg.getBoundingClientRect(); return { x: event.clientX - box.left, y: event.clientY - box.top }; };
    svg.addEventListener("pointermove", (event) => {
      const p = local(event);
      if (grip && scale) {
        const moved = ((grip.x - p.x) / (scale.width - MARGIN.left - MARGIN.right)) * (grip.view[1] - grip.view[0]);
        if (Math.abs(grip.x - p.x) > 3) { view = grip.view.map((end) => end + moved); draw(); }
        return;
      }
      let near = null, least = 40 ** 2;
      for (const place of lines) {
        const far = (place.x - p.x) ** 2 + (place.y - p.y) ** 2;
        if (far < least) [near, least] = [place, far];
      }
      at(near);
    });
    svg.addEventListener("pointerleave", () => { grip = null; at(null); });
    svg.addEventListener("blur", () => at(null));
    svg.addEventListener("pointerdown", (event) => { if (event.pointerType === "mouse") grip = { ...local(event), view }; });
    window.addEventListener("pointerup", () => { grip = null; });
    svg.addEventListener("dblclick", () => { view = null; draw(); });
    svg.addEventListener("wheel", (event) => {
      if (!scale) return;
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, exponent(local(event).x));
    }, { passive: false });
    svg.addEventListener("keydown", (event) => {
      const keys = { "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1.4), 0: () => { view = null; draw(); }, Escape: () => at(null) };
      if (keys[event.key]) keys[event.key]();
      else if (event.key.startsWith("Arrow") && lines.length) walk(event.key);
      else return;
      event.preventDefault();
    });
    by("in").onclick = () => zoom(0.7);
    by("out").onclick = () => zoom(1.4);
    by("whole").onclick = () => { view = null; draw(); };
    for (const name of [...FILTERS, "n", "y", "lines"]) by(name).onchange = (event) => { state[name] = event.target.value; refilter(); };
    by("search").oninput = (event) => { state.search = event.target.value; draw(); remember(); };
    window.addEventListener("resize", draw);
  }
  function walk(key) {
    if (!cursor) return at(lines[0]);
    const same = (place) => place.row.variant === cursor.row.variant;
    const sorted = key === "ArrowLeft" || key === "ArrowRight"
      ? lines.filter(same).sort((a, b) => a.x - b.x)
      : lines.filter((place) => place.row.place === cursor.row.place).sort((a, b) => b.y - a.y);
    const place = sorted.findIndex((each) => each.row === cursor.row);
    const next = sorted[place + (key === "ArrowRight" || key === "ArrowUp" ? 1 : -1)];
    if (next) at(next);
  }

  // ---- legend and table

  function legend(own) {
    const there = new Set(own.filter(offered).map((row) => row.variant));
    const variants = data.variants.filter((variant) => there.has(variant)).sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
    by("legend").replaceChildren(...variants.map((variant) => {
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-pressed", String(!hidden.has(variant)));
      button.title = variant.idea;
      const svg = add(button, "svg", { width: 12, height: 12, viewBox: "-6 -6 12 12", "aria-hidden": "true" });
      add(svg, "path", { d: MARKS[variant.mark](4), fill: variant.colour });
      button.append(variant.name);
      button.onclick = () => {
        if (!hidden.delete(variant)) hidden.add(variant);
        draw();
        [...by("legend").children].find((each) => each.textContent === variant.name)?.focus();
      };
      return button;
    }));
  }
  const ORDINARY = "speedup" in MEASURES;
  const COLUMNS = [
    ["place", data.axis, (row) => named(row.place), (row) => row.place],
    ["variant", "variant", (row) => row.variant.name, (row) => row.variant.name],
    ...Object.values(MEASURES).map((each) => [each.name, { time: "time", ratio: each.says.replace("speed-up ", ""), percent: "% of ceiling" }[each.unit] || each.says, (row) => each.told(each.of(row)), each.of]),
    ...(rows.some((row) => row.ends) ? [["interval", "interval", (row) => (row.ends ? row.ends.map(end).join(" to ") : ""), (row) => (row.ends ? row.ends[0] : null)]] : []),
    ...(ORDINARY
      ? [
          ["verdict", "verdict", (row) => VERDICTS[row.verdict] || "", (row) => VERDICTS[row.verdict] || null],
          ["error", "error", (row) => significant(row.error), (row) => row.error],
          ["repeats", "same bits", (row) => (row.repeats ? "yes" : "no"), (row) => row.repeats],
        ]
      : []),
  ];
  function table() {
    const own = rowsOf.get(problem).filter((row) => shown(row) && (!state.n || String(row.place) === state.n));
    const [, , , value] = COLUMNS.find(([name]) => name === sort.column);
    own.sort((a, b) => {
      const [p, q] = [value(a), value(b)];
      if (p === q) return a.place - b.place || (a.time ?? a.link) - (b.time ?? b.link);
      if (p === null || p === undefined) return 1;
      if (q === null || q === undefined) return -1;
      return (p < q ? -1 : 1) * (sort.down ? -1 : 1);
    });
    if (by("says").textContent !== problem.says) by("says").textContent = problem.says;
    by("count").textContent = `${own.length.toLocaleString("en")} rows`;
    const head = document.createElement("tr");
    for (const [name, says] of COLUMNS) {
      const th = document.createElement("th");
      th.scope = "col";
      th.setAttribute("aria-sort", sort.column === name ? (sort.down ? "descending" : "ascending") : "none");
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = says + (sort.column === name ? (sort.down ? " ▾" : " ▴") : "");
      button.onclick = () => {
        sort = { column: name, down: sort.column === name && !sort.down };
        table();
        by("head").querySelectorAll("button")[COLUMNS.findIndex(([each]) => each === name)].focus();
      };
      th.append(button);
      head.append(th);
    }
    by("head").replaceChildren(head);
    by("body").replaceChildren(...own.map((row) => {
      const tr = document.createElement("tr");
      if (row.variant.kind === "cub" || row.variant.kind === "door") tr.className = "strong";
      for (const [name, , told] of COLUMNS) {
        const td = document.createElement("td");
        td.textContent = told(row);
        if (name === "verdict") td.className = row.verdict;
        tr.append(td);
      }
      tr.onpointerenter = () => { if (highlighted !== row.variant) { highlighted = row.variant; light(); } };
      return tr;
    }));
  }
  function light() {
    by("chart").querySelectorAll("[data-variant]").forEach((group) => {
      group.setAttribute("opacity", highlighted && group.dataset.variant !== highlighted.name ? 0.25 : 1);
    });
  }

  // ---- the address remembers what is shown, so that a view can be sent to somebody

  const initial = { ...state };
  function remember() {
    history.replaceState(null, "", "#" + new URLSearchParams(Object.entries(state).filter(([name, value]) => value !== initial[name])));
  }
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) if (name in state) state[name] = value;
  if (!(state.y in MEASURES)) state.y = initial.y;
  if (!(state.lines in LINES)) state.lines = initial.lines;
  by("search").value = state.search;
  by("body").parentElement.addEventListener("pointerleave", () => { highlighted = null; light(); });
  listen();
  refilter(true);
})();
