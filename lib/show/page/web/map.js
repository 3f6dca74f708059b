// map.js - where the bytes are: a treemap that zooms, and the same as a list.

// Squarified: rows of rectangles that stay near to squares (Bruls, Huizing, van Wijk, 2000).
function squarify(items, x, y, width, height, place) {
  const total = items.reduce((sum, item) => sum + item.bytes, 0);
  if (!total || width <= 0 || height <= 0) return;
  const scale = (width * height) / total;
  let from = 0;
  const worst = (sum, least, most, side) => Math.max((side * side * most) / (sum * sum), (sum * sum) / (side * side * least));
  while (from < items.length) {
    const side = Math.min(width, height);
    const area = (item) => item.bytes * scale;
    let end = from, sum = 0, least = Infinity, most = 0;
    while (end < items.length) {
      const a = area(items[end]);
      const next = worst(sum + a, Math.min(least, a), Math.max(most, a), side);
      if (end > from && next > worst(sum, least, most, side)) break;
      sum += a;
      least = Math.min(least, a);
      most = Math.max(most, a);
      end++;
    }
    const thick = sum / side;
    let along = 0;
    for (; from < end; from++) {
      const long = area(items[from]) / thick;
      if (width >= height) place(items[from], x, y + along, thick, long);
      else place(items[from], x + along, y, long, thick);
      along += long;
    }
    if (width >= height) { x += thick; width -= thick; }
    else { y += thick; height -= thick; }
  }
}

const KIND_NAMES = { function: "function", section: "section", debug: "debug information", host: "host code", executor: "executor", device: "device code", gpu: "code of a device", data: "data", extern: "other runtime", source: "source", unknown: "unknown kind", blob: "module blob", tensor: "tensor", text: "text", code: "code", kernel: "kernel", rest: "the rest", file: "file", files: "files", set: "all files" };

const SMALLEST = 4; // pixels: below that a rectangle cannot be seen
const PAPER = { width: 600, height: 300 }; // pixels
const BOXES = 400; // of one box that are drawn at once

const bytesOf = (nodes) => nodes.reduce((sum, node) => sum + node.bytes, 0);

// What is too small to draw, or too much: a box of its own, which opens as any other does. Thousands are boxes of a hundred each.
function boxOf(nodes) {
  const groups = [];
  if (nodes.length > BOXES)
    for (let at = 0; at < nodes.length; at += 100) {
      const some = nodes.slice(at, at + 100);
      groups.push({ name: `${some.length === 1 ? some[0].name : `${bytes(some[0].bytes)} to ${bytes(some[some.length - 1].bytes)}`}`, kind: "rest", bytes: bytesOf(some), plain: 0, children: some });
    }
  return { name: plural(nodes.length, "smaller part"), kind: "rest", bytes: bytesOf(nodes), plain: 0, children: groups.length ? groups : nodes };
}

// Sorted, and what is too small to draw put together.
function drawable(children, area) {
  const sorted = [...children].filter((child) => child.bytes > 0).sort((a, b) => b.bytes - a.bytes);
  const total = sorted.reduce((sum, child) => sum + child.bytes, 0);
  const small = sorted.findIndex((child, i) => i >= BOXES || (child.bytes * area) / total < SMALLEST * SMALLEST * 4);
  if (small < 0 || sorted.length - small < 2) return sorted;
  return [...sorted.slice(0, small), boxOf(sorted.slice(small))];
}

// The map alone. listed is called with what it shows now; whole is the map of a set, whose nodes know their file.
function mapView(one, open, listed, whole) {
  const root = whole || sizeMap(one);
  const fileOf = (node) => node.owner || one;
  const crumbs = el("nav", { class: "crumbs", "aria-label": "Where the map is" });
  const area = el("div", { class: "map", role: "group", "aria-label": "Size map" });
  const view = el("div", { class: "map-view" }, crumbs, area);
  let trail = [root];

  const partOf = (node) => fileOf(node).parts.find((part) => part.module === node.path && (part.title || part.name) === node.name);
  // the page of a set has the largest only
  const isCut = (node) => node.kind === "rest" && !node.children.length && / smaller ones?$/.test(node.name);
  const isPart = (node) => node.path && ["tensor", "text", "code"].includes(node.kind);
  const isModule = (node) => node.path && node.kind !== "kernel" && !isPart(node) && fileOf(node) && fileOf(node).byPath.has(node.path);
  const textOf = (node) => { const part = isPart(node) && partOf(node); return part && part.text !== undefined ? part : null; };

  function zoom(node) {
    trail = [...trail, node];
    draw(true);
  }

  function enter(node) {
    if (node.children.length || isCut(node)) return zoom(node);
    const part = textOf(node), file = fileOf(node);
    if (file && file !== current) showFile(file);
    if (!file) return;
    if (node.tensor) open.tensor(node.tensor);
    else if (part) open.text(part);
    else if (node.kind === "kernel") open.kernel(node.symbol || node.name, node.path);
    else if (isModule(node)) open.module(file.byPath.get(node.path));
  }

  function back(depth) {
    trail = trail.slice(0, depth);
    draw(true);
  }

  // A rectangle with what is in it, as long as there is room. The outermost are buttons; those within are
  // seen, and a way for the mouse: whoever walks enters one after the other.
  function cell(path, x, y, w, h) {
    const node = path[path.length - 1], nested = path.length > 1;
    // a box of small ones within another would show the same once more, and again in it
    const inner = node.children.length && w > 90 && h > 60 && !(nested && node.kind === "rest");
    const opens = node.children.length || isCut(node) || node.tensor || isModule(node) || textOf(node) || node.kind === "kernel";
    const says = saysOf(node);
    const classes = ["cell", `c-${node.kind}`, nested && "leaf", inner && "outer", (w < 24 || h < 18) && "tiny"].filter(Boolean).join(" ");
    const box = nested ? el("div", { class: classes, "aria-hidden": "true", title: titleOf(node) })
      : el(opens ? "button" : "div", { class: classes, type: opens ? "button" : null, role: opens ? null : "img", title: titleOf(node), "aria-label": `${node.name}, ${KIND_NAMES[node.kind] || node.kind}, ${says}` });
    Object.assign(box.style, { left: `${x}px`, top: `${y}px`, width: `${Math.max(1, w - 2)}px`, height: `${Math.max(1, h - 2)}px` });
    if (w > 44 && h > 20) box.append(el("span", { class: "name" }, tail(node.name, Math.floor((w - 14) / 7))));
    if (w > 60 && h > 38 && !inner) box.append(el("span", { class: "size" }, bytes(node.bytes)));
    if (opens || nested) box.addEventListener("click", () => {
      trail = [...trail, ...path.slice(0, -1)];
      if (opens) enter(node);
      else draw(true);
    });
    area.append(box);
    if (!inner) return;
    const header = 22, width = w - 9, height = h - header - 5;
    squarify(drawable(node.children, width * height), x + 4, y + header, width, height,
      (child, cx, cy, cw, ch) => cell([...path, child], cx, cy, cw, ch));
  }

  function draw(say) {
    const node = trail[trail.length - 1];
    const held = area.contains(document.activeElement);
    crumbs.replaceChildren(...trail.map((step, i) => i + 1 < trail.length
      ? el("button", { type: "button", onclick: () => back(i + 1) }, step.name)
      : el("span", { "aria-current": "location" }, `${step.name}, ${bytes(step.bytes)}`)));
    area.replaceChildren();
    // one that is not on the screen is drawn for paper
    const width = area.clientWidth || PAPER.width, height = area.clientHeight || PAPER.height;
    squarify(drawable(node.children, width * height), 0, 0, width, height,
      (child, x, y, w, h) => cell([child], x, y, w, h));
    const of = isCut(node) && trail.map(fileOf).find(Boolean);
    if (isCut(node)) area.append(el("p", { class: "empty" }, "The largest are drawn.", ...(files.length > 1 ? [" A page of one file has more: ", el("code", {}, `minspect html ${shell(of.name)} -o PAGE`)] : [])));
    else if (!node.children.length) area.append(empty("Nothing is known of what is in it."));
    // what had the focus is gone
    const first = held && area.querySelector("button");
    if (first) first.focus({ preventScroll: true });
    if (listed) listed(node);
    if (say) announce(`${node.name}, ${bytes(node.bytes)}, ${plural(node.children.length, "part")}`);
  }

  function saysOf(node) {
    return `${bytes(node.bytes)}, ${percent(node.bytes, root.bytes)}${node.plain && node.plain !== node.bytes ? `, ${bytes(node.plain)} unpacked` : ""}`;
  }

  function titleOf(node) {
    return [node.name, node.symbol, `${KIND_NAMES[node.kind] || node.kind}, ${saysOf(node)}`].filter(Boolean).join("\n");
  }

  view.zoomTo = (node) => {
    trail = [root, ...(node.children.length ? [node] : [])];
    draw(true);
  };
  view.escape = () => trail.length > 1 && (back(trail.length - 1), true);
  view.enter = enter;
  view.draw = () => draw(false);
  let drawnWidth = 0;
  new ResizeObserver(() => { if (area.clientWidth && area.clientWidth !== drawnWidth) { drawnWidth = area.clientWidth; draw(false); } }).observe(area);
  return view;
}

function sizesPanel(file, open) {
  const list = el("div", { class: "table" });
  let map = null;

  function row(node, whole) {
    const bar = el("span", { class: "bar", "aria-hidden": "true" });
    bar.style.setProperty("--share", `${(100 * node.bytes) / Math.max(1, whole)}%`);
    const line = el("div", { class: `row size-row c-${node.kind}`, "data-row": "", tabindex: "-1", role: "button", title: node.symbol },
      el("span", { class: "swatch", "aria-hidden": "true" }), el("span", { class: "name" }, node.name),
      el("span", { class: "what" }, KIND_NAMES[node.kind] || node.kind),
      el("span", { class: "size" }, bytes(node.bytes)), el("span", { class: "share" }, percent(node.bytes, file.bytes)), bar);
    line.addEventListener("click", () => map.enter(node));
    return line;
  }

  const show = (node) => {
    const held = list.contains(document.activeElement);
    const rows = el("div", { class: "rows", "data-rows": "", role: "group", "aria-label": "Sizes" });
    lazyRows(rows, [...node.children].sort((a, b) => b.bytes - a.bytes), (child) => row(child, node.bytes));
    list.replaceChildren(rows);
    const first = held && rows.querySelector("[data-row]");
    if (first) first.focus({ preventScroll: true });
  };
  map = mapView(file, open, show);
  show(sizeMap(file)); // for paper, where no map is drawn
  const panel = el("div", { class: "sizes" },
    heading("Where the bytes are"),
    el("p", { class: "note" }, "The area of a rectangle is its share of the file. Click one to look into it, Esc to go back. As a picture: ", el("code", {}, `minspect svg ${shell(file.name)} -o map.svg`)),
    map, list, duplicates(file), sameKernels(file, open));
  panel.escape = map.escape;
  panel.zoomTo = map.zoomTo;
  panel.shown = map.draw;
  return panel;
}

function duplicates(file) {
  const { duplicates: runs, wasted } = file.size;
  if (!runs.length) return null;
  return el("section", {}, heading("Stored more than once"),
    el("p", { class: "note" }, `${bytes(wasted)} could be saved.`),
    el("ul", { class: "plain" }, ...runs.map((run) =>
      el("li", {}, `${run.count} times ${bytes(run.bytes)}: `, el("code", {}, run.copies.join(", ") + (run.count > run.copies.length ? ", ..." : ""))))));
}

function sameKernels(file, open) {
  const { same_kernels: runs, same_bytes: saved } = file.size;
  if (!runs.length) return null;
  return el("section", {}, heading("Kernels that are there more than once"),
    el("p", { class: "note" }, `${bytes(saved)} of machine code could be saved.`),
    el("ul", { class: "plain" }, ...runs.map((run) => el("li", {}, `${run.count} times ${bytes(run.bytes)} for ${run.target}: `,
      el("button", { type: "button", class: "link", onclick: () => open.kernel(run.name) }, titleOfKernel(file, run.name))))));
}
