// graphdiff.js - what differs between the graphs of two models, as one graph: operators are lined up in the order of their
// run, what only one has is marked, and what both have at a place with another type has changed.

// TVM numbers functions of one name: matmul1 of one model may be matmul2 of another.
const stem = (label) => label.split("\n")[0].replace(/\d+$/, "");

// One graph of both; null: they have too little in common.
function mergeGraphs(older, newer) {
  const tokens = (graph) => graph.nodes.map((node) => `${node.kind} ${stem(node.label)} ${node.type || ""}`);
  const pairs = lineUp(tokens(older), tokens(newer));
  if (!pairs) return null;
  // what was taken out and what was put in at one place, of one name, is one node that changed
  const joined = [];
  for (let i = 0; i < pairs.length; ) {
    if (pairs[i][0] >= 0 && pairs[i][1] >= 0) { joined.push(pairs[i++]); continue; }
    const out = [], into = [];
    for (; i < pairs.length && (pairs[i][0] < 0 || pairs[i][1] < 0); i++) (pairs[i][1] < 0 ? out : into).push(pairs[i][0] + pairs[i][1] + 1);
    const rest = [...into];
    for (const other of out) {
      const same = rest.findIndex((at) => older.nodes[other].kind === newer.nodes[at].kind && stem(older.nodes[other].label) === stem(newer.nodes[at].label));
      if (same < 0) { joined.push([other, -1]); continue; }
      for (const at of rest.splice(0, same)) joined.push([-1, at]);
      joined.push([other, rest.shift()]);
    }
    for (const at of rest) joined.push([-1, at]);
  }
  const place = [new Int32Array(older.nodes.length), new Int32Array(newer.nodes.length)];
  const nodes = joined.map(([a, b], i) => {
    if (a >= 0) place[0][a] = i;
    if (b >= 0) place[1][b] = i;
    const [was, now] = [older.nodes[a], newer.nodes[b]];
    if (!now) return { ...was, state: "removed" };
    if (!was) return { ...now, state: "added" };
    const constants = (node) => (node.constants || "").split(" ").filter(Boolean).length;
    const changed = was.type !== now.type || constants(was) !== constants(now);
    return changed ? { ...now, state: "changed", was: [was.label.split("\n")[0], was.type, constants(was) === constants(now) ? "" : plural(constants(was), "constant")].filter(Boolean).join("  ") } : { ...now };
  });
  const edges = new Map();
  [older, newer].forEach((graph, side) => graph.edges.forEach(([from, to, said]) => { const edge = [place[side][from], place[side][to]]; edges.set(edge.join(" "), said ? [...edge, said] : edge); }));
  return { module: newer.module, name: newer.name, is_flow: newer.is_flow, merged: true, nodes, edges: [...edges.values()].sort((x, y) => x[1] - y[1] || x[0] - y[0]) };
}

// Graphs of one name, or the only ones of two files.
function graphPairs() {
  if (files.length !== 2) return [];
  const [older, newer] = files.map((file) => file.graphs.filter((graph) => !graph.is_flow));
  const named = newer.flatMap((graph) => { const other = older.find((one) => one.name === graph.name); return other ? [[other, graph]] : []; });
  return named.length ? named : older.length === 1 && newer.length === 1 ? [[older[0], newer[0]]] : [];
}

function graphDiffPanel() {
  const pairs = graphPairs();
  const choice = el("select", { "aria-label": "Which graph", onchange: () => draw(Number(choice.value)) }, ...pairs.map(([, graph], i) => el("option", { value: i }, graph.name || "graph")));
  const said = el("div", {}), stage = el("div", {});
  const panel = el("div", { class: "graphs" }, el("div", { class: "graph-head" }, heading("What differs between the graphs"), pairs.length > 1 ? choice : null), said, stage);
  const SHOWN = 30;
  let view = null, drawn = -1;
  function draw(index) {
    if (drawn === index) return;
    drawn = index;
    const [older, newer] = pairs[index];
    typesOf(files[0], older);
    typesOf(files[1], newer);
    const merged = mergeGraphs(older, newer);
    if (!merged) {
      said.replaceChildren(empty(`The graphs have too little in common to be lined up: ${plural(older.nodes.length, "node")} and ${plural(newer.nodes.length, "node")}.`));
      stage.replaceChildren();
      return;
    }
    const of = (state) => merged.nodes.flatMap((node, i) => (node.state === state ? [i] : []));
    const lists = ["added", "removed", "changed"].map((state) => [state, of(state)]);
    const count = lists.reduce((sum, [, list]) => sum + list.length, 0);
    said.replaceChildren(el("p", {}, count ? `${lists.filter(([, list]) => list.length).map(([state, list]) => `${list.length} ${state}`).join(", ")} of ${plural(merged.nodes.length, "node")}; the others are the same in both.` : `The graphs of ${files[0].short} and ${files[1].short} are the same.`),
      ...lists.filter(([, list]) => list.length).map(([state, list]) => el("p", { class: "changes" }, chip(state, CHANGES[state]), " ",
        ...list.slice(0, SHOWN).flatMap((i) => [el("button", { class: "link", type: "button", onclick: () => view.choose(i) }, firstLine(merged.nodes[i])), " "]), list.length > SHOWN ? `and ${list.length - SHOWN} more` : null)));
    view = graphView(files[1], merged, open);
    stage.replaceChildren(view);
    view.shown();
  }
  panel.shown = () => draw(Math.max(0, drawn));
  panel.step = (by) => view && view.step(by);
  panel.onPaper = () => view && view.onPaper();
  panel.onScreen = () => view && view.onScreen();
  return panel;
}
