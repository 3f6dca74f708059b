// plan.js - where the boxes of a graph stand: in layers, each below what it gets its values from; a block that is open is
// a frame with a plan of its own.

const NODE = { height: 30, line: 16, gap: 24, layer: 34, widest: 300, character: 6.9, pill: 20, aside: 150, frame: 34 };
const PILLS = 4; // beside one node

// Nodes stand in the order in which they run: an edge that leads back closes a loop.
function layersOf(count, edges, tops) {
  const layer = new Int32Array(count), first = new Int32Array(count).fill(0x7fffffff);
  for (const { from, to } of edges) if (from < to) layer[to] = Math.max(layer[to], layer[from] + 1);
  for (const { from, to } of edges) if (from < to) first[from] = Math.min(first[from], layer[to]);
  // what comes in stands above its first reader
  for (const i of tops) if (first[i] < 0x7fffffff) layer[i] = Math.max(0, first[i] - 1);
  return layer;
}

// Points of no size on each layer that a long edge passes, so that it goes around what it passes.
function routed(boxes, edges, layer) {
  const points = boxes.map((box, i) => Object.assign(box, { layer: layer[i], up: [], down: [] }));
  let budget = 40000;
  for (const edge of edges) {
    edge.back = edge.from >= edge.to;
    const [a, b] = edge.back ? [edge.to, edge.from] : [edge.from, edge.to];
    edge.path = [points[a]];
    const span = layer[b] - layer[a];
    if (span > 1 && (budget -= span) > 0)
      for (let at = layer[a] + 1; at < layer[b]; at++) {
        const point = { layer: at, up: [], down: [], width: 10, height: 0, passes: true };
        points.push(point);
        edge.path.push(point);
      }
    edge.path.push(points[b]);
    for (let i = 0; i + 1 < edge.path.length; i++) {
      edge.path[i].down.push(edge.path[i + 1]);
      edge.path[i + 1].up.push(edge.path[i]);
    }
  }
  return points;
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
    // a line goes out of the way of a box, or each layer of a model would stand further aside than the one before
    let group = { points: [point], width: point.width, wish: wishOf(point) - point.width / 2, weight: point.passes ? 1 : 1000 };
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


// A box stands below boxes, and not below the long edges that end at it: each of these would draw it aside, layer by layer.
// What an edge passes stays in a straight line.
function wish(point, side, other) {
  if (point.alone) return 0; // on the axis
  const near = point[side].length ? point[side] : point[other];
  if (!near.length) return point.x;
  const boxes = near.filter((to) => !to.passes);
  if (!point.passes && boxes.length) return mean(boxes, (to) => to.x);
  const weight = (to) => (to.passes ? 8 : 1);
  return near.reduce((sum, to) => sum + weight(to) * to.x, 0) / near.reduce((sum, to) => sum + weight(to), 0);
}

// Boxes with a width and a height get the place of their middle; returns the size of all.
function place(boxes, edges, tops) {
  const layer = layersOf(boxes.length, edges, tops);
  const points = routed(boxes, edges, layer);
  const rows = [];
  for (const point of points) (rows[point.layer] = rows[point.layer] || []).push(point);
  for (let i = 0; i < rows.length; i++) rows[i] = rows[i] || [];
  order(rows);
  for (const row of rows) {
    let x = 0;
    for (const point of row) { point.x = x + point.width / 2; x += point.width + NODE.gap; }
  }
  for (const row of rows) {
    const own = row.filter((point) => !point.passes);
    if (own.length === 1) own[0].alone = true;
  }
  for (let sweep = 0; sweep < 4; sweep++) {
    rows.forEach((row) => settle(row, (p) => wish(p, "up", "down")));
    [...rows].reverse().forEach((row) => settle(row, (p) => wish(p, "down", "up")));
  }
  let y = 14;
  for (const row of rows) {
    const height = Math.max(...row.map((point) => point.height), 0);
    for (const point of row) point.y = y + height / 2;
    y += height + NODE.layer;
  }
  const left = points.reduce((least, p) => Math.min(least, p.x - p.width / 2), Infinity) - 24;
  for (const point of points) point.x -= left;
  const loops = edges.some((edge) => edge.back) ? 60 : 0;
  return { width: points.reduce((most, p) => Math.max(most, p.x + p.width / 2), 0) + 24 + loops, height: y - NODE.layer + 14, points };
}

// --- boxes of a graph ----------------------------------------------------------------------------

// "float32[4, 24]" as "4\u00d724", for the edge that it flows along.
function shapeOnEdge(node) {
  const shape = node.type && /\[([^\]]*)\]/.exec(node.type);
  return shape ? shape[1].replace(/,\s*/g, "\u00d7") || "scalar" : null;
}

function widthOf(lines, least) {
  return Math.min(NODE.widest, Math.max(least, Math.max(...lines.map((line) => line.length)) * NODE.character + 24));
}

// Weights and far values beside a node, a pill each: [{ index, label, kind }].
function pillsOf(graph, index) {
  const all = relate(graph).beside.get(index) || [];
  const shown = all.length > PILLS ? all.slice(0, PILLS - 1) : all;
  const pills = shown.map(({ index: from, kind }) => ({ index: from, kind: kind === "far" ? "far" : graph.nodes[from].kind, label: firstLine(graph.nodes[from]) }));
  if (shown.length < all.length) pills.push({ index: all[shown.length].index, kind: "more", label: `and ${all.length - shown.length} more` });
  return pills;
}

function nodeBox(graph, index) {
  const node = graph.nodes[index];
  const constants = (node.constants || "").split(" ").filter(Boolean).length;
  const lines = [...node.label.split("\n"), ...(node.type ? [node.type] : []), ...(constants && !graph.is_flow ? [plural(constants, "constant")] : []), ...(node.us !== undefined ? [`${duration(node.us)}, ${percent(node.share, 1)}`] : [])];
  const pills = pillsOf(graph, index);
  const aside = pills.length ? Math.min(NODE.aside, Math.max(...pills.map((pill) => pill.label.length)) * 6.2 + 18) + 16 : 0;
  const width = widthOf(lines, 56), height = NODE.height + (lines.length - 1) * NODE.line;
  // its own box stays in the middle: what it reads and writes is above and below it
  return { kind: "node", index, node, lines, pills, inner: width, tall: height, aside, width: width + 2 * aside, height: Math.max(height, pills.length * (NODE.pill + 4)) };
}

function foldBox(graph, block, shift) {
  const { sequence } = relate(graph), of = graph.nodes;
  const first = sequence.slice(block.at + shift, block.at + shift + block.period);
  const all = sequence.slice(block.at + shift, block.at + shift + block.period * block.count);
  const us = all.reduce((sum, i) => sum + (of[i].us || 0), 0), share = all.reduce((sum, i) => sum + (of[i].share || 0), 0);
  const names = [...new Set(first.map((i) => firstLine(of[i])))];
  const lines = [`${block.count} \u00d7 ${block.word}`, `${plural(block.period, "operator")} each`, names.slice(0, 3).join(", ") + (names.length > 3 ? " \u2026" : ""), ...(us ? [`${duration(us)}, ${percent(share, 1)}`] : [])];
  return { kind: "fold", block, shift, first: first[0], lines, pills: [], inner: widthOf(lines, 160), tall: NODE.height + (lines.length - 1) * NODE.line, aside: 0, us: us || undefined, share,
    width: widthOf(lines, 160) + 12, height: NODE.height + (lines.length - 1) * NODE.line + 8 };
}

// The plan of a graph with some blocks open: { boxes, edges, width, height }, in whole places.
function planOf(graph, state) {
  const { sequence, drawn } = relate(graph);
  graph.fold = graph.fold || foldSequence(graph);
  const items = state.folded ? graph.fold : sequence.map((_, at) => at);
  const out = { boxes: [], edges: [] };

  // One level: items between `from` and `to` of the sequence, moved by `shift`; outer nodes are ports.
  function level(list, shift, range) {
    const boxes = [], edges = [], of = new Map(), tops = [];
    const add = (box, nodes) => { boxes.push(box); for (const i of nodes) of.set(i, boxes.length - 1); };
    const inside = (i) => { const at = relate(graph).place[i]; return range ? at >= range[0] && at < range[1] : true; };
    const port = (label, title) => ({ kind: "port", label, title, lines: [label], pills: [], inner: widthOf([label], 40), tall: 22, aside: 0, width: widthOf([label], 40), height: 22 });
    const ports = new Map();
    if (!range) graph.nodes.forEach((node, i) => { if (node.kind === "input" && relate(graph).main[i] && !graph.is_flow) { tops.push(boxes.length); add(nodeBox(graph, i), [i]); } });
    else
      for (const [from, to] of drawn) if (inside(to) && !inside(from) && !ports.has(from)) {
        ports.set(from, boxes.length);
        tops.push(boxes.length);
        boxes.push({ ...port(firstLine(graph.nodes[from]), "a value from before this block"), index: from });
      }
    for (const item of list)
      if (typeof item === "number") add(nodeBox(graph, sequence[item + shift]), [sequence[item + shift]]);
      else {
        const nodes = sequence.slice(item.at + shift, item.at + shift + item.period * item.count);
        const at = state.open.get(`${item.at + shift}`);
        if (at === undefined) add(foldBox(graph, item, shift), nodes);
        else {
          const moved = shift + at * item.period, begin = item.at + moved;
          const inner = level(item.items, moved, [begin, begin + item.period]);
          const title = `${item.word} ${at + 1} of ${item.count}`;
          add({ kind: "frame", block: item, shift, at, first: sequence[begin], lines: [title], title, inner: Math.max(inner.width, 190), tall: inner.height + NODE.frame, pills: [], aside: 0, inside: inner,
            width: Math.max(inner.width, 190), height: inner.height + NODE.frame }, nodes);
        }
      }
    if (!range && !graph.is_flow) graph.nodes.forEach((node, i) => { if (node.kind === "output") add(nodeBox(graph, i), [i]); });
    const known = new Set(), leaves = new Map();
    for (const [from, to, said] of drawn) {
      const a = ports.has(from) ? ports.get(from) : of.get(from), b = of.get(to);
      if (range && of.has(from) && !of.has(to)) { leaves.set(from, true); continue; }
      if (a === undefined || b === undefined || (a === b && !graph.is_flow) || known.has(`${a} ${b}`)) continue;
      known.add(`${a} ${b}`);
      edges.push({ from: a, to: b, label: said || (graph.is_flow ? null : shapeOnEdge(graph.nodes[from])), source: from, target: to });
    }
    if (range)
      for (const from of leaves.keys()) {
        edges.push({ from: of.get(from), to: boxes.length, label: shapeOnEdge(graph.nodes[from]), source: from });
        boxes.push({ ...port("goes on", "is read by what follows this block"), index: from });
      }
    edges.sort((x, y) => x.to - y.to);
    return { boxes, edges, ...place(boxes, edges, tops) };
  }

  // into the plan of the whole, an open block with what is in it
  function flatten({ boxes, edges, points }, x, y) {
    for (const point of points) { point.x += x; point.y += y; }
    for (const box of boxes) {
      out.boxes.push(box);
      if (box.inside) flatten(box.inside, box.x - box.inside.width / 2, box.y - box.height / 2 + NODE.frame);
    }
    for (const edge of edges) {
      const xs = edge.path.map((point) => point.x), ys = edge.path.map((point) => point.y);
      Object.assign(edge, { top: Math.min(...ys), bottom: Math.max(...ys), left: Math.min(...xs) - 80, right: Math.max(...xs) + 80 });
      out.edges.push(edge);
    }
  }

  for (const block of blocksIn(graph.fold)) block.word = block.word || wordOfBlock(graph, block);
  const whole = level(items, 0, null);
  flatten(whole, 0, 0);
  out.ofNode = new Map(); // the box that a node is in
  for (const box of out.boxes) if (box.kind === "node") out.ofNode.set(box.index, box);
  return Object.assign(out, { width: whole.width, height: whole.height });
}

function blocksIn(items) {
  return items.flatMap((item) => (typeof item === "number" ? [] : [item, ...blocksIn(item.items)]));
}
