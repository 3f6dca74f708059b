// graph.js - the graph of a model in layers: nodes below what they get their values from. Only what is
// in view is in the document, so that ten thousand nodes scroll like ten.

const NODE = { height: 30, line: 16, gap: 22, layer: 46, widest: 280, character: 6.9 };

// Nodes stand in the order in which they run: an edge that leads back closes a loop.
function layersOf(graph) {
  const layer = new Int32Array(graph.nodes.length);
  for (const [from, to] of graph.edges) // ascending by "to"
    if (from < to) layer[to] = Math.max(layer[to], layer[from] + 1);
  const first = new Int32Array(graph.nodes.length).fill(0x7fffffff);
  for (const [from, to] of graph.edges) if (from < to) first[from] = Math.min(first[from], layer[to]);
  // an input stands above its first reader
  graph.nodes.forEach((node, i) => {
    if (node.kind === "input" && first[i] < 0x7fffffff) layer[i] = Math.max(0, first[i] - 1);
  });
  return layer;
}

// Points of no size on each layer that a long edge passes, so that it goes around what it passes.
function routed(graph, layer) {
  const points = graph.nodes.map((node, i) => ({ node, index: i, layer: layer[i], up: [], down: [], ...boxOf(node) }));
  const edges = [];
  let budget = 40000;
  for (const [from, to, said] of graph.edges) {
    const label = said || (graph.is_flow ? null : shapeOnEdge(graph.nodes[from]));
    const back = from >= to;
    const [a, b] = back ? [to, from] : [from, to];
    const path = [points[a]];
    const span = layer[b] - layer[a];
    if (span > 1 && (budget -= span) > 0)
      for (let at = layer[a] + 1; at < layer[b]; at++) {
        const point = { layer: at, up: [], down: [], width: 10, height: 0 };
        points.push(point);
        path.push(point);
      }
    path.push(points[b]);
    for (let i = 0; i + 1 < path.length; i++) {
      path[i].down.push(path[i + 1]);
      path[i + 1].up.push(path[i]);
    }
    edges.push({ path, back, label, from, to });
  }
  return { points, edges };
}

// What flows stands below the name of what makes it. Byte code names the types of what it allocates; what
// goes in and comes out the signature of its function tells.
function typesOf(file, graph) {
  const model = graph.name && !graph.is_flow && file.models.find((m) => m.module === graph.module && m.name === graph.name);
  if (!model || !model.signature) return;
  const long = (type) => type.replace(/^([fiu])(?=\d)/, (letter) => ({ f: "float", i: "int", u: "uint" })[letter]);
  const inputs = new Map([...model.signature.matchAll(/(\w+): (\w+\[[^\]]*\])/g)].map((m) => [m[1], long(m[2])]));
  const results = model.signature.match(/ -> \((\w+\[[^\]]*\])\)$/);
  for (const node of graph.nodes)
    node.type = node.type || (node.kind === "input" ? inputs.get(node.label) : node.kind === "output" && results ? long(results[1]) : undefined);
}

// How long operators took, by name, microseconds: of a trace, or of the JSON of --run --profile.
function readTimes() {
  const times = new Map();
  const add = (name, us, calls) => { const old = times.get(name) || { us: 0, calls: 0 }; times.set(name, { us: old.us + us, calls: old.calls + calls }); };
  let given = null;
  try { given = JSON.parse(page.times); } catch { return times; }
  for (const event of Array.isArray(given.traceEvents) ? given.traceEvents : Array.isArray(given) ? given : [])
    if (event && event.ph === "X" && Number.isFinite(event.dur)) add(String(event.name), event.dur, 1);
  const operators = given.profile && given.profile.operators;
  for (const row of Array.isArray(operators) ? operators : []) if (row && Number.isFinite(row.total)) add(String(row.name), row.total * 1e6, Number(row.calls) || 1);
  return times;
}

const times = page.times === undefined ? null : readTimes();

function duration(us) {
  return us < 1000 ? `${us.toFixed(us < 10 ? 2 : 0)}\u00a0\u00b5s` : us < 1e6 ? `${(us / 1000).toFixed(us < 1e4 ? 2 : 1)}\u00a0ms` : `${(us / 1e6).toFixed(2)}\u00a0s`;
}

// The share of each node in the time of the nodes that the profile knows; nodes of one name share it.
function heatOf(graph) {
  if (!times) return 0;
  const same = new Map();
  const nameOf = (node) => node.label.split("\n")[0];
  for (const node of graph.nodes) if (times.has(nameOf(node))) same.set(nameOf(node), (same.get(nameOf(node)) || 0) + 1);
  const whole = [...same.keys()].reduce((sum, name) => sum + times.get(name).us, 0);
  for (const node of graph.nodes) {
    const time = times.get(nameOf(node));
    if (time) Object.assign(node, { us: time.us / same.get(nameOf(node)), share: time.us / same.get(nameOf(node)) / (whole || 1) });
  }
  const most = Math.max(0, ...graph.nodes.map((node) => node.share || 0));
  for (const node of graph.nodes) if (node.share !== undefined) node.heat = most ? node.share / most : 0;
  return whole;
}

// "float32[4, 24]" as "4\u00d724", for the edge that it flows along.
function shapeOnEdge(node) {
  const shape = node.type && /\[([^\]]*)\]/.exec(node.type);
  return shape ? shape[1].replace(/,\s*/g, "\u00d7") || "scalar" : null;
}

function boxOf(node) {
  const lines = [...node.label.split("\n"), ...(node.type ? [node.type] : []), ...(node.us !== undefined ? [`${duration(node.us)}, ${percent(node.share, 1)}`] : [])];
  const longest = Math.max(...lines.map((line) => line.length));
  return { lines, width: Math.min(NODE.widest, Math.max(56, longest * NODE.character + 24)), height: NODE.height + (lines.length - 1) * NODE.line };
}

const mean = (list, of) => list.reduce((sum, item) => sum + of(item), 0) / list.length;

function order(rows) {
  rows.forEach((row) => row.forEach((point, i) => (point.at = i)));
  const sort = (row, side) => {
    for (const point of row) point.wish = point[side].length ? mean(point[side], (other) => other.at) : point.at;
    row.sort((a, b) => a.wish - b.wish);
    row.forEach((point, i) => (point.at = i));
  };
  for (let sweep = 0; sweep < 6; sweep++) {
    for (let i = 1; i < rows.length; i++) sort(rows[i], "up");
    for (let i = rows.length - 2; i >= 0; i--) sort(rows[i], "down");
  }
}

// Each point as near to the middle of its neighbours as its row allows.
function settle(row, wishOf) {
  const groups = [];
  for (const point of row) {
    let group = { points: [point], width: point.width, wish: wishOf(point) - point.width / 2, weight: 1 };
    while (groups.length) {
      const last = groups[groups.length - 1];
      if (last.wish + last.width + NODE.gap <= group.wish) break;
      groups.pop(); // they would overlap: from here on they move as one
      const shift = last.width + NODE.gap;
      group = { points: [...last.points, ...group.points], width: shift + group.width, weight: last.weight + group.weight,
        wish: (last.wish * last.weight + (group.wish - shift) * group.weight) / (last.weight + group.weight) };
    }
    groups.push(group);
  }
  for (const group of groups) {
    let x = group.wish;
    for (const point of group.points) {
      point.x = x + point.width / 2;
      x += point.width + NODE.gap;
    }
  }
}

function layout(graph) {
  const layer = layersOf(graph);
  const { points, edges } = routed(graph, layer);
  const rows = [];
  for (const point of points) (rows[point.layer] = rows[point.layer] || []).push(point);
  for (let i = 0; i < rows.length; i++) rows[i] = rows[i] || [];
  order(rows);
  for (const row of rows) {
    let x = 0;
    for (const point of row) { point.x = x + point.width / 2; x += point.width + NODE.gap; }
  }
  for (let sweep = 0; sweep < 4; sweep++) {
    rows.forEach((row) => settle(row, (p) => (p.up.length ? mean(p.up, (o) => o.x) : p.down.length ? mean(p.down, (o) => o.x) : p.x)));
    [...rows].reverse().forEach((row) => settle(row, (p) => (p.down.length ? mean(p.down, (o) => o.x) : p.up.length ? mean(p.up, (o) => o.x) : p.x)));
  }
  let y = 20;
  for (const row of rows) {
    const height = Math.max(NODE.height, ...row.map((point) => point.height));
    for (const point of row) point.y = y + height / 2;
    y += height + NODE.layer;
  }
  const left = points.reduce((least, p) => Math.min(least, p.x - p.width / 2), Infinity) - 30;
  for (const point of points) point.x -= left;
  const width = points.reduce((most, p) => Math.max(most, p.x + p.width / 2), 0) + 30;
  for (const edge of edges) {
    edge.top = Math.min(...edge.path.map((point) => point.y));
    edge.bottom = Math.max(...edge.path.map((point) => point.y));
  }
  return { nodes: points.slice(0, graph.nodes.length), edges, width, height: y };
}

function curve(path) {
  let d = "";
  for (let i = 0; i + 1 < path.length; i++) {
    const a = path[i], b = path[i + 1];
    const y0 = a.y + a.height / 2, y1 = b.y - b.height / 2 - (i + 2 === path.length ? 5 : 0), bend = (y1 - y0) / 2;
    if (!i) d += `M${a.x.toFixed(1)} ${y0.toFixed(1)}`;
    d += `C${a.x.toFixed(1)} ${(y0 + bend).toFixed(1)} ${b.x.toFixed(1)} ${(y1 - bend).toFixed(1)} ${b.x.toFixed(1)} ${y1.toFixed(1)}`;
    if (i + 2 < path.length) d += `L${b.x.toFixed(1)} ${y1.toFixed(1)}`;
  }
  return d;
}

// A jump backwards goes around the side of the nodes.
function loop(edge) {
  const [low, high] = [edge.path[edge.path.length - 1], edge.path[0]];
  const x = Math.max(low.x + low.width / 2, high.x + high.width / 2) + 40;
  return `M${low.x + low.width / 2} ${low.y}C${x} ${low.y} ${x} ${high.y} ${high.x + high.width / 2 + 5} ${high.y}`;
}

function clip(text, width) {
  const most = Math.floor((width - 20) / NODE.character);
  return text.length > most ? text.slice(0, Math.max(1, most - 1)) + "\u2026" : text;
}

function nodeShape(point, chosen, choose) {
  const { node } = point;
  const top = point.y - point.height / 2;
  const shape = svg("g", { class: `g-node g-${node.kind}${chosen ? " chosen" : ""}` },
    svg("rect", { x: point.x - point.width / 2, y: top, width: point.width, height: point.height, rx: node.kind === "input" || node.kind === "output" ? point.height / 2 : 6 }),
    ...point.lines.map((line, i) => svg("text", { x: point.x, y: top + NODE.height / 2 + 4 + i * NODE.line, "text-anchor": "middle", class: i ? "sub" : null }, clip(line, point.width))),
    svg("title", {}, `${node.label}${node.detail ? `\n${node.detail}` : ""}`));
  if (node.heat !== undefined) {
    shape.classList.add("timed");
    shape.style.setProperty("--heat", `${Math.round(6 + 86 * node.heat)}%`);
  }
  shape.addEventListener("click", () => choose(point.index));
  return shape;
}

function edgeShape(edge, chosen) {
  const line = svg("path", { class: `g-edge${edge.from === chosen || edge.to === chosen ? " chosen" : ""}`, d: edge.back ? loop(edge) : curve(edge.path), "marker-end": "url(#arrow)" });
  if (!edge.label) return line;
  const a = edge.path[0], b = edge.path[1];
  return svg("g", {}, line, svg("text", { class: "g-label", x: (a.x + b.x) / 2 + 6, y: (a.y + a.height / 2 + b.y - b.height / 2) / 2 + 4 }, edge.label));
}

// What is around one node, as buttons: the way through the graph without a mouse.
function neighbours(graph, index, choose) {
  const near = (title, list) => list.length
    ? el("p", {}, `${title}: `, ...list.slice(0, 40).flatMap((other) => [el("button", { class: "link", type: "button", onclick: () => choose(other) }, graph.nodes[other].label.split("\n")[0]), " "]), list.length > 40 ? `and ${list.length - 40} more` : null)
    : null;
  const from = [...new Set(graph.edges.filter((edge) => edge[1] === index).map((edge) => edge[0]))];
  const to = [...new Set(graph.edges.filter((edge) => edge[0] === index).map((edge) => edge[1]))];
  return [graph.is_flow ? near("comes from", from) : null, near(graph.is_flow ? "goes on to" : "is used by", to)];
}

function graphView(file, graph, open) {
  typesOf(file, graph);
  const whole = heatOf(graph);
  const plan = layout(graph);
  const drawing = svg("g", {});
  const picture = svg("svg", { role: "img", "aria-label": `Graph of ${graph.name || graph.module}: ${plural(graph.nodes.length, "node")}, ${plural(graph.edges.length, "edge")}` },
    svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" }, svg("path", { d: "M0 0L8 4L0 8z", class: "g-arrow" }))), drawing);
  const stage = el("div", { class: "stage", tabindex: "0", role: "region", "aria-label": "Drawing of the graph; j and k walk through its nodes" }, picture);
  const detail = el("div", { class: "detail", "aria-live": "polite" }, el("p", { class: "note" }, "Click a node, or walk with j and k, to see what it is."));
  let scale = 1, chosen = -1, drawn = "";

  function paint(always) {
    const slack = 300;
    const from = stage.scrollTop / scale - slack, to = (stage.scrollTop + stage.clientHeight) / scale + slack;
    const window = `${Math.floor(from / 150)} ${Math.floor(to / 150)}`;
    if (!always && window === drawn) return;
    drawn = window;
    drawing.replaceChildren(
      ...plan.edges.filter((edge) => edge.bottom >= from && edge.top <= to).map((edge) => edgeShape(edge, chosen)),
      ...plan.nodes.filter((point) => point.y + point.height >= from && point.y - point.height <= to).map((point) => nodeShape(point, point.index === chosen, choose)));
  }

  function resize() {
    picture.setAttribute("width", plan.width * scale);
    picture.setAttribute("height", plan.height * scale);
    picture.setAttribute("viewBox", `0 0 ${plan.width} ${plan.height}`);
    paint(true);
  }

  function zoom(to) {
    const x = (stage.scrollLeft + stage.clientWidth / 2) / scale, y = (stage.scrollTop + stage.clientHeight / 2) / scale;
    scale = Math.min(3, Math.max(0.1, to));
    resize();
    stage.scrollTo(x * scale - stage.clientWidth / 2, y * scale - stage.clientHeight / 2);
  }

  function choose(index) {
    const { node, x, y } = plan.nodes[(chosen = index)];
    const name = node.label;
    const kernel = file.kernels.find((k) => k.name === name || k.name === `${name}_kernel`);
    const called = file.functions.find((f) => f.name === name);
    detail.replaceChildren(el("h3", {}, name.split("\n")[0]), chip(node.kind),
      node.detail && node.detail !== node.type ? el("p", {}, graph.is_flow ? "Instructions" : "Instruction: % is a register, c[] a constant, in: its operands, dst: its result") : "",
      node.us !== undefined ? el("p", {}, `${duration(node.us)}, ${percent(node.share, 1)} of the graph`) : "",
      node.detail && node.detail !== node.type ? el("pre", {}, node.detail) : "",
      ...[attributeList(file, graph, index), takenTable(file, graph, index, choose, open), ...neighbours(graph, index, choose)].filter(Boolean),
      called ? el("button", { class: "link", type: "button", onclick: () => open.named("functions", called) }, `host function ${name}`) : "",
      " ", kernel ? el("button", { class: "link", type: "button", onclick: () => open.named("kernels", kernel) }, `kernel ${kernel.name}`) : "");
    if (y * scale < stage.scrollTop + 40 || y * scale > stage.scrollTop + stage.clientHeight - 40 || x * scale < stage.scrollLeft || x * scale > stage.scrollLeft + stage.clientWidth)
      stage.scrollTo(x * scale - stage.clientWidth / 2, y * scale - stage.clientHeight / 2);
    paint(true);
  }

  const fit = () => zoom(Math.min(1, (stage.clientWidth - 4) / plan.width));
  const view = el("div", { class: "graph" },
    el("div", { class: "tools" },
      el("button", { type: "button", "aria-label": "Smaller", onclick: () => zoom(scale / 1.3) }, "\u2212"),
      el("button", { type: "button", "aria-label": "Larger", onclick: () => zoom(scale * 1.3) }, "+"),
      el("button", { type: "button", onclick: fit }, "Fit the width"),
      el("span", { class: "note" }, `${plural(graph.nodes.length, "node")}, ${plural(graph.edges.length, "edge")}${graph.is_flow ? "; a node is a run of instructions" : "; weights are not drawn, a node says which it takes"}${whole ? `; coloured by time, ${duration(whole)} in all` : times ? "; the profile has no operator of it" : ""}`)),
    stage, detail);
  stage.addEventListener("scroll", () => requestAnimationFrame(() => paint(false)));
  view.step = (by) => choose(Math.min(plan.nodes.length - 1, Math.max(0, chosen + by)));
  view.choose = choose;
  view.shown = () => {
    resize();
    // not smaller than can be read
    zoom(Math.min(1, Math.max(0.6, (stage.clientWidth - 4) / plan.width)));
    stage.scrollTo(Math.max(0, (plan.width * scale - stage.clientWidth) / 2), 0);
    new ResizeObserver(() => paint(true)).observe(stage);
  };
  return view;
}
