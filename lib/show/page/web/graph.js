// graph.js - the graph of a model, drawn: only what is in view is in the document, so that ten thousand nodes scroll like
// ten. What is drawn as what says fold.js, where it stands plan.js.

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

function curve(path) {
  let d = "";
  for (let i = 0; i + 1 < path.length; i++) {
    const a = path[i], b = path[i + 1];
    const y0 = a.y + (a.tall || a.height) / 2, y1 = b.y - (b.tall || b.height) / 2 - (i + 2 === path.length ? 5 : 0), bend = (y1 - y0) / 2;
    if (!i) d += `M${a.x.toFixed(1)} ${y0.toFixed(1)}`;
    d += Math.abs(a.x - b.x) < 0.5 ? `L${b.x.toFixed(1)} ${y1.toFixed(1)}` : `C${a.x.toFixed(1)} ${(y0 + bend).toFixed(1)} ${b.x.toFixed(1)} ${(y1 - bend).toFixed(1)} ${b.x.toFixed(1)} ${y1.toFixed(1)}`;
    if (i + 2 < path.length) d += `L${b.x.toFixed(1)} ${y1.toFixed(1)}`;
  }
  return d;
}

// A jump backwards goes around the side of the nodes.
function loop(edge) {
  const [low, high] = [edge.path[edge.path.length - 1], edge.path[0]];
  const x = Math.max(low.x + low.inner / 2, high.x + high.inner / 2) + 40;
  return `M${low.x + low.inner / 2} ${low.y}C${x} ${low.y} ${x} ${high.y} ${high.x + high.inner / 2 + 5} ${high.y}`;
}

function clip(text, width) {
  const most = Math.floor((width - 20) / NODE.character);
  return text.length > most ? text.slice(0, Math.max(1, most - 1)) + "\u2026" : text;
}

// What stands beside a node: weights, what is made of them alone, values from far above.
function pillShapes(box, choose) {
  const right = box.x - box.inner / 2 - 14, width = box.aside - 16;
  return box.pills.map((pill, i) => {
    const y = box.y + (i - (box.pills.length - 1) / 2) * (NODE.pill + 4);
    const shape = svg("g", { class: `g-pill g-${pill.kind}` },
      svg("path", { class: "g-stem", d: `M${right} ${y}C${right + 8} ${y} ${right + 6} ${box.y} ${right + 14} ${box.y}` }),
      svg("rect", { x: right - width, y: y - NODE.pill / 2, width, height: NODE.pill, rx: pill.kind === "input" || pill.kind === "more" ? 10 : 4 }),
      svg("text", { x: right - width / 2, y: y + 4, "text-anchor": "middle" }, clip(tail(pill.label, Math.floor((width - 8) / 6)), width + 14)),
      svg("title", {}, pill.kind === "far" ? `${pill.label}: a value from further above` : pill.label));
    shape.addEventListener("click", (event) => { event.stopPropagation(); choose(pill.index); });
    return shape;
  });
}

function boxShape(box, chosen, act) {
  const { node, kind } = box;
  const top = box.y - box.tall / 2, left = box.x - box.inner / 2;
  if (kind === "frame") {
    const step = (by, text, says, x) => svg("g", { class: "g-step", onclick: (event) => { event.stopPropagation(); act.turn(box, by); } },
      svg("rect", { x: x - 11, y: box.y - box.height / 2 + 6, width: 22, height: 22, rx: 5 }), svg("text", { x, y: box.y - box.height / 2 + 21, "text-anchor": "middle" }, text), svg("title", {}, says));
    const shape = svg("g", { class: `g-frame${chosen ? " chosen" : ""}` },
      svg("rect", { x: box.x - box.width / 2, y: box.y - box.height / 2, width: box.width, height: box.height, rx: 10 }),
      svg("text", { x: box.x - box.width / 2 + 14, y: box.y - box.height / 2 + 22, class: "g-title" }, box.title), svg("title", {}, `${box.title}: click its frame to close it`),
      step(-1, "\u2039", "the one before", box.x + box.width / 2 - 74), step(1, "\u203a", "the next one", box.x + box.width / 2 - 48), step(0, "\u00d7", "close", box.x + box.width / 2 - 20));
    shape.addEventListener("click", () => act.toggle(box));
    return shape;
  }
  const category = node && categoryOf(node);
  const round = kind === "port" || (node && (node.kind === "input" || node.kind === "output"));
  const shape = svg("g", { class: ["g-node", `g-${node ? node.kind : kind}`, category && `k-${category}`, node && node.state && `g-${node.state}`, chosen && "chosen"].filter(Boolean).join(" ") },
    kind === "fold" ? [8, 4].map((by) => svg("rect", { class: "g-behind", x: left + by, y: top + by, width: box.inner, height: box.tall, rx: 7 })) : [],
    svg("rect", { x: left, y: top, width: box.inner, height: box.tall, rx: round ? Math.min(15, box.tall / 2) : 6 }),
    ...box.lines.map((line, i) => svg("text", { x: box.x, y: top + (kind === "port" ? 11 : NODE.height / 2) + 4 + i * NODE.line, "text-anchor": "middle", class: i ? "sub" : null }, clip(line, box.inner))),
    svg("title", {}, kind === "port" ? box.title : kind === "fold" ? `${box.lines.join("\n")}\nclick to open it` : `${node.label}${node.detail ? `\n${node.detail}` : ""}`));
  if (node && node.heat !== undefined) {
    shape.classList.add("timed");
    shape.style.setProperty("--heat", `${Math.round(6 + 86 * node.heat)}%`);
  }
  shape.addEventListener("click", () => (kind === "fold" ? act.toggle(box) : act.choose(box.index)));
  return box.pills.length ? svg("g", {}, ...pillShapes(box, act.choose), shape) : shape;
}

function edgeShape(edge, chosen, states) {
  const state = states && (states(edge.source) === "removed" || states(edge.target) === "removed" ? " g-removed" : states(edge.source) === "added" || states(edge.target) === "added" ? " g-added" : "");
  const line = svg("path", { class: `g-edge${edge.source === chosen || edge.target === chosen ? " chosen" : ""}${state || ""}`, d: edge.back ? loop(edge) : curve(edge.path), "marker-end": `url(#${edge.arrow})` });
  if (!edge.label) return line;
  const a = edge.path[0], b = edge.path[1];
  // beside a line that goes down, in one that goes far to the side
  const far = Math.abs(a.x - b.x) > 80;
  return svg("g", {}, line, svg("text", { class: "g-label", x: far ? (a.x + b.x) / 2 : Math.max(a.x, b.x) + 6, "text-anchor": far ? "middle" : null, y: (a.y + (a.tall || a.height) / 2 + b.y - (b.tall || b.height) / 2) / 2 + 4 }, edge.label));
}

// What is around one node, as buttons: the way through the graph without a mouse.
function neighbours(graph, index, choose) {
  const { up, down } = relate(graph);
  const near = (title, list) => list.length
    ? el("p", {}, `${title}: `, ...list.slice(0, 40).flatMap((other) => [el("button", { class: "link", type: "button", onclick: () => choose(other) }, firstLine(graph.nodes[other])), " "]), list.length > 40 ? `and ${list.length - 40} more` : null)
    : null;
  const into = graph.is_flow ? [...new Set(graph.edges.filter((edge) => edge[1] === index).map((edge) => edge[0]))] : [];
  const out = graph.is_flow ? [...new Set(graph.edges.filter((edge) => edge[0] === index).map((edge) => edge[1]))] : down[index];
  return [graph.is_flow ? near("comes from", into) : null, near(graph.is_flow ? "goes on to" : "is used by", out)];
}

// The whole graph in the corner, and a frame that is the part in view.
function minimap(go) {
  const canvas = el("canvas", { class: "minimap", width: 120, height: 160, "aria-hidden": "true" });
  let plan = null, scale = 1, hold = false;
  const at = (event) => { const box = canvas.getBoundingClientRect(); go((event.clientX - box.left) / scale, (event.clientY - box.top) / scale); };
  canvas.addEventListener("pointerdown", (event) => { hold = true; canvas.setPointerCapture(event.pointerId); at(event); });
  canvas.addEventListener("pointermove", (event) => hold && at(event));
  canvas.addEventListener("pointerup", () => (hold = false));
  let picture = null;
  canvas.draw = (of, x, y, width, height) => {
    if (of !== plan) {
      plan = of;
      scale = Math.min(120 / plan.width, 160 / plan.height);
      canvas.width = Math.max(8, Math.round(plan.width * scale));
      canvas.height = Math.max(8, Math.round(plan.height * scale));
      picture = el("canvas", { width: canvas.width, height: canvas.height });
      const draw = picture.getContext("2d");
      draw.fillStyle = getComputedStyle(canvas).getPropertyValue("color");
      for (const box of plan.boxes) {
        draw.globalAlpha = box.kind === "frame" ? 0.12 : 0.55;
        draw.fillRect((box.x - box.inner / 2) * scale, (box.y - box.tall / 2) * scale, Math.max(1, box.inner * scale), Math.max(1, box.tall * scale));
      }
    }
    const draw = canvas.getContext("2d");
    draw.clearRect(0, 0, canvas.width, canvas.height);
    draw.drawImage(picture, 0, 0);
    draw.strokeStyle = getComputedStyle(canvas).getPropertyValue("outline-color");
    draw.lineWidth = 1.5;
    draw.strokeRect(x * scale + 0.75, y * scale + 0.75, Math.max(4, width * scale - 1.5), Math.max(4, height * scale - 1.5));
    canvas.hidden = width >= plan.width - 1 && height >= plan.height - 1;
  };
  return canvas;
}

function legendOf(graph) {
  const used = new Set(graph.nodes.map(categoryOf));
  const list = CATEGORIES.filter(([name]) => used.has(name));
  return list.length > 1 ? el("ul", { class: "legend", "aria-label": "Colours" }, ...list.map(([name, title]) => el("li", {}, el("span", { class: `swatch k-${name}`, "aria-hidden": "true" }), title))) : null;
}

const LEAST_SCALE = 0.12, MOST_SCALE = 3, READABLE = 0.7;

let graphViews = 0;

function graphView(file, graph, open, noted) {
  typesOf(file, graph);
  const whole = heatOf(graph);
  const state = { folded: true, open: new Map() };
  let plan = planOf(graph, state);
  const drawing = svg("g", {}), arrow = `arrow-${++graphViews}`;
  const picture = svg("svg", { role: "img", "aria-label": `Graph of ${graph.name || graph.module}: ${plural(graph.nodes.length, "node")}, ${plural(graph.edges.length, "edge")}` },
    svg("defs", {}, svg("marker", { id: arrow, viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" }, svg("path", { d: "M0 0L8 4L0 8z", class: "g-arrow" }))), drawing);
  const room = el("div", { class: "room" }, picture);
  const stage = el("div", { class: "stage", tabindex: "0", role: "region", "aria-label": "Drawing of the graph; j and k walk through its boxes, Enter opens a block, plus and minus zoom" }, room);
  const detail = el("div", { class: "detail", "aria-live": "polite" }, el("p", { class: "note" }, "Click a box, or walk with j and k, to see what it is. A block that repeats opens by a click or Enter."));
  const map = minimap((x, y) => stage.scrollTo(x * scale - stage.clientWidth / 2, y * scale - stage.clientHeight / 2));
  let scale = 1, chosen = null, drawn = null; // chosen: { index } or { block, shift }

  const isChosen = (box) => chosen && (box.kind === "node" ? chosen.index === box.index : box.block !== undefined && chosen.block === box.block && chosen.shift === box.shift);
  const states = graph.nodes.some((node) => node.state) ? (index) => index !== undefined && graph.nodes[index].state : null;

  // the picture is as large as what is seen and some around it, and moves there
  function paint(always) {
    const slack = 400;
    const view = { left: stage.scrollLeft, top: stage.scrollTop, right: stage.scrollLeft + stage.clientWidth, bottom: stage.scrollTop + stage.clientHeight };
    map.draw(plan, view.left / scale, view.top / scale, stage.clientWidth / scale, stage.clientHeight / scale);
    if (!always && drawn && view.left >= drawn.left && view.top >= drawn.top && view.right <= drawn.right && view.bottom <= drawn.bottom) return;
    const width = Math.max(stage.clientWidth, plan.width * scale), height = Math.max(stage.clientHeight, plan.height * scale);
    drawn = { left: Math.max(0, view.left - slack), top: Math.max(0, view.top - slack), right: Math.min(width, view.right + slack), bottom: Math.min(height, view.bottom + slack) };
    show(drawn);
  }

  function show(part) {
    const middle = Math.max(0, (stage.clientWidth - plan.width * scale) / 2);
    const [left, top, right, bottom] = [(part.left - middle) / scale, part.top / scale, (part.right - middle) / scale, part.bottom / scale];
    Object.assign(picture.style, { left: `${part.left}px`, top: `${part.top}px` });
    picture.setAttribute("width", part.right - part.left);
    picture.setAttribute("height", part.bottom - part.top);
    picture.setAttribute("viewBox", `${left} ${top} ${right - left} ${bottom - top}`);
    const seen = (box) => box.y + box.height / 2 >= top && box.y - box.height / 2 <= bottom && box.x + box.width / 2 >= left && box.x - box.width / 2 <= right;
    const boxes = plan.boxes.filter(seen);
    drawing.replaceChildren(
      ...boxes.filter((box) => box.kind === "frame").map((box) => boxShape(box, isChosen(box), act)),
      ...plan.edges.filter((edge) => edge.bottom >= top && edge.top <= bottom && edge.right >= left && edge.left <= right).map((edge) => edgeShape(Object.assign(edge, { arrow }), chosen && chosen.index, states)),
      ...boxes.filter((box) => box.kind !== "frame").map((box) => boxShape(box, isChosen(box), act)));
  }

  function resize() {
    Object.assign(picture.style, { left: "0", top: "0" }); // where it was it would keep the old room
    picture.setAttribute("width", 0);
    picture.setAttribute("height", 0);
    room.style.width = `${plan.width * scale}px`;
    room.style.height = `${plan.height * scale}px`;
    paint(true);
  }

  function zoom(to, x, y) {
    const [px, py] = [x === undefined ? stage.clientWidth / 2 : x, y === undefined ? stage.clientHeight / 2 : y];
    const gx = (stage.scrollLeft + px) / scale, gy = (stage.scrollTop + py) / scale;
    scale = Math.min(MOST_SCALE, Math.max(LEAST_SCALE, to));
    resize();
    stage.scrollTo(gx * scale - px, gy * scale - py);
    paint(true);
  }

  function reveal(box) {
    const { x, y } = box, margin = 40, middle = Math.max(0, (stage.clientWidth - plan.width * scale) / 2);
    const [sx, sy] = [x * scale + middle, (box.kind === "frame" ? y - box.height / 2 + 20 : y) * scale];
    if (sy < stage.scrollTop + margin || sy > stage.scrollTop + stage.clientHeight - margin || sx < stage.scrollLeft || sx > stage.scrollLeft + stage.clientWidth)
      stage.scrollTo(sx - stage.clientWidth / 2, sy - stage.clientHeight / (box.kind === "frame" ? 6 : 2));
    paint(true);
  }

  // After blocks opened or closed; what stays in its place is what was clicked.
  function planAgain(find) {
    const before = find && plan.boxes.find(find), from = before && before.y - (before.kind === "frame" ? before.height : before.tall) / 2;
    plan = planOf(graph, state);
    const after = find && plan.boxes.find(find);
    resize();
    if (before && after) stage.scrollTop += (after.y - (after.kind === "frame" ? after.height : after.tall) / 2 - from) * scale;
    paint(true);
    return after;
  }

  const sameBlock = (block, shift) => (box) => box.block === block && box.shift === shift;

  function toggle(box) {
    const key = `${box.block.at + box.shift}`;
    if (state.open.has(key)) state.open.delete(key);
    else state.open.set(key, 0);
    chosen = { block: box.block, shift: box.shift };
    describe(planAgain(sameBlock(box.block, box.shift)));
  }

  function turn(box, by) {
    if (!by) return toggle(box);
    const key = `${box.block.at + box.shift}`;
    state.open.set(key, (state.open.get(key) + by + box.block.count) % box.block.count);
    chosen = { block: box.block, shift: box.shift };
    describe(planAgain(sameBlock(box.block, box.shift)));
    announce(`${box.block.word} ${state.open.get(key) + 1} of ${box.block.count}`);
  }

  // Opens the blocks that a node is in.
  function openTo(index) {
    const { place } = relate(graph);
    let items = graph.fold, at = place[index], shift = 0;
    for (let block; state.folded && at >= 0 && (block = items.find((item) => typeof item !== "number" && at - shift >= item.at && at - shift < item.at + item.period * item.count)); items = block.items) {
      const turnAt = Math.floor((at - shift - block.at) / block.period);
      state.open.set(`${block.at + shift}`, turnAt);
      shift += turnAt * block.period;
    }
    planAgain(null);
  }

  function choose(index) {
    const { owner } = relate(graph);
    const shownAs = owner[index] >= 0 ? owner[index] : index;
    if (!plan.ofNode.has(shownAs)) openTo(shownAs);
    chosen = { index };
    const box = plan.ofNode.get(shownAs);
    if (box) reveal(box);
    describe({ kind: "node", index });
    if (noted) noted(index);
  }

  function describe(box) {
    if (!box) return;
    detail.replaceChildren(...(box.kind === "node" || box.kind === "port" ? nodeDetail(box.index) : blockDetail(box)).filter((part) => part !== null && part !== undefined));
  }

  function blockDetail(box) {
    const { block } = box, { sequence } = relate(graph), begin = block.at + (box.shift || 0);
    const counts = new Map();
    for (const i of sequence.slice(begin, begin + block.period)) counts.set(firstLine(graph.nodes[i]), (counts.get(firstLine(graph.nodes[i])) || 0) + 1);
    const isOpen = state.open.has(`${begin}`);
    return [el("h3", {}, `${block.count} \u00d7 ${block.word}`), el("p", {}, `${plural(block.period, "operator")} each, ${plural(block.period * block.count, "operator")} in all; they do the same with other weights.`),
      el("p", { class: "buttons" }, el("button", { type: "button", onclick: () => toggle(box) }, isOpen ? "Close" : "Open one"), isOpen ? el("button", { type: "button", onclick: () => turn(box, -1) }, "Previous") : null, isOpen ? el("button", { type: "button", onclick: () => turn(box, 1) }, "Next") : null),
      box.us ? el("p", {}, `${duration(box.us)}, ${percent(box.share, 1)} of the graph`) : null,
      el("table", { class: "taken" }, el("thead", { class: "hidden" }, el("tr", {}, el("th", { scope: "col" }, "Operator"), el("th", { scope: "col" }, "How often"))),
        el("tbody", {}, ...[...counts].slice(0, TAKEN_SHOWN).map(([name, count]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", { class: "numeric" }, `${count}\u00d7`)))))];
  }

  function nodeDetail(index) {
    const node = graph.nodes[index], name = node.label;
    const kernel = file.kernels.find((k) => k.name === name || k.name === `${name}_kernel`);
    const called = file.functions.find((f) => f.name === name);
    const category = CATEGORIES.find(([word]) => word === categoryOf(node));
    return [el("h3", {}, firstLine(node)), chip(node.kind), node.state ? chip(node.state, CHANGES[node.state]) : null, category ? chip(category[1], `k-${category[0]}`) : null,
      node.was ? el("p", {}, "Before: ", el("code", {}, node.was)) : null,
      node.us !== undefined ? el("p", {}, `${duration(node.us)}, ${percent(node.share, 1)} of the graph`) : null,
      attributeList(file, graph, index), takenTable(file, graph, index, choose, open), ...neighbours(graph, index, choose),
      node.detail && node.detail !== node.type ? el("p", {}, graph.is_flow ? "Instructions" : "Instruction: % is a register, c[] a constant, in: its operands, dst: its result") : null,
      node.detail && node.detail !== node.type ? el("pre", {}, node.detail) : null,
      called ? el("p", {}, el("button", { class: "link", type: "button", onclick: () => open.named("functions", called) }, `host function ${name}`)) : null,
      kernel ? el("p", {}, el("button", { class: "link", type: "button", onclick: () => open.named("kernels", kernel) }, `kernel ${kernel.name}`)) : null];
  }

  // the boxes in the order of the run, for the keys
  const walked = () => plan.boxes.filter((box) => box.kind !== "port");
  function step(by) {
    const list = walked(), at = list.findIndex(isChosen);
    const box = list[at < 0 ? 0 : Math.min(list.length - 1, Math.max(0, at + by))];
    if (!box) return;
    if (box.kind === "node") return choose(box.index);
    chosen = { block: box.block, shift: box.shift };
    reveal(box);
    describe(box);
  }

  const act = { choose, toggle, turn };
  const fit = () => zoom(Math.min(1, (stage.clientWidth - 4) / plan.width, (stage.clientHeight - 4) / plan.height));
  const blocks = blocksIn(graph.fold);
  const folding = blocks.length ? el("label", { class: "check-tool" }, el("input", { type: "checkbox", checked: true, onchange: (event) => { state.folded = event.target.checked; planAgain(null); } }), `Fold what repeats`) : null;
  const view = el("div", { class: "graph" },
    el("div", { class: "tools" },
      el("button", { type: "button", "aria-label": "Smaller", onclick: () => zoom(scale / 1.3) }, "\u2212"),
      el("button", { type: "button", "aria-label": "Larger", onclick: () => zoom(scale * 1.3) }, "+"),
      el("button", { type: "button", onclick: fit }, "Fit all"), folding,
      el("span", { class: "note" }, `${plural(graph.nodes.length, "node")}, ${plural(graph.edges.length, "edge")}${graph.is_flow ? "; a node is a run of instructions" : ""}${whole ? `; coloured by time, ${duration(whole)} in all` : times ? "; the profile has no operator of it" : ""}`),
      times || graph.is_flow ? null : legendOf(graph)),
    el("div", { class: "canvas" }, el("div", { class: "stage-of" }, stage, map), detail));

  // a step of a scroll that is still in what was painted moves a picture and no more
  let waiting = false;
  stage.addEventListener("scroll", () => { if (!waiting) { waiting = true; requestAnimationFrame(() => { waiting = false; paint(false); }); } }, { passive: true });
  stage.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    const box = stage.getBoundingClientRect();
    zoom(scale * Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
    event.preventDefault();
  }, { passive: false });
  let hold = null;
  stage.addEventListener("pointerdown", (event) => { if (event.pointerType === "mouse" && event.button === 0) hold = { x: event.clientX + stage.scrollLeft, y: event.clientY + stage.scrollTop, moved: false }; });
  stage.addEventListener("pointermove", (event) => {
    if (!hold) return;
    if (!hold.moved && Math.abs(hold.x - event.clientX - stage.scrollLeft) + Math.abs(hold.y - event.clientY - stage.scrollTop) < 5) return;
    if (!hold.moved) stage.setPointerCapture(event.pointerId);
    hold.moved = true;
    stage.classList.add("held");
    stage.scrollTo(hold.x - event.clientX, hold.y - event.clientY);
  });
  for (const end of ["pointerup", "pointercancel"]) stage.addEventListener(end, () => { hold = null; stage.classList.remove("held"); });
  stage.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const box = chosen && plan.boxes.find(isChosen);
    if (event.key === "+" || event.key === "=") zoom(scale * 1.3);
    else if (event.key === "-") zoom(scale / 1.3);
    else if (event.key === "0") fit();
    else if (event.key === "Enter" && box && box.block) toggle(box);
    else if ((event.key === "[" || event.key === "]") && box && box.kind === "frame") turn(box, event.key === "[" ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  view.step = step;
  view.choose = choose;
  view.plan = () => plan;
  view.shown = () => {
    // not smaller than can be read; opens at what comes in
    scale = Math.min(1, Math.max(READABLE, (stage.clientWidth - 4) / plan.width));
    resize();
    const first = plan.boxes[0];
    stage.scrollTo(first ? first.x * scale - stage.clientWidth / 2 : 0, 0);
    paint(true);
    new ResizeObserver(() => paint(true)).observe(stage);
  };
  // on paper all of it, as wide as the sheet
  view.onPaper = () => { show({ left: 0, top: 0, right: plan.width * scale, bottom: plan.height * scale }); Object.assign(picture.style, { left: "0", top: "0" }); picture.setAttribute("viewBox", `0 0 ${plan.width} ${plan.height}`); };
  view.onScreen = () => paint(true);
  return view;
}
