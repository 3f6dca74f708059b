// node.js - what is known of one node of a graph: its attributes, and all that it takes, weights and constants too.
// Graph executors store a graph with more in it than is drawn; its text is a part of the module.

const storedGraphs = new Map();

// The stored graph, and which of its nodes each drawn one is: weights are in it and are not drawn. Of a text that is cut, none.
function storedGraph(file, graph) {
  if (storedGraphs.has(graph)) return storedGraphs.get(graph);
  const text = graph.name || graph.merged ? undefined : file.parts.find((part) => part.module === graph.module && part.name === "graph.json");
  let found = null;
  try {
    const { nodes, attrs, node_row_ptr: rows } = JSON.parse(text.text);
    const weights = new Map(file.tensors.filter((t) => t.module === graph.module).map((t) => [t.title || t.name, t]));
    const isWeight = (node) => node.op === "null" && weights.has(node.name);
    const of = nodes.flatMap((node, i) => (isWeight(node) ? [] : [i]));
    found = { nodes, attrs, rows, weights, of, drawn: new Map(of.map((at, i) => [at, i])) };
  } catch { /* there is nothing more to say */ }
  storedGraphs.set(graph, found);
  return found;
}

// Lists of the graph's attributes are ["list_str", [...]]; entries of a node begin at its row.
function entryOf(stored, name, at) {
  const list = stored.attrs && stored.attrs[name];
  return Array.isArray(list) && Array.isArray(list[1]) ? list[1][at] : undefined;
}

function entryType(stored, at) {
  const shape = entryOf(stored, "shape", at);
  return Array.isArray(shape) ? `${entryOf(stored, "dltype", at) || ""}[${shape.join(", ")}]` : "";
}

// Pairs of a name and a text.
function attributesOf(file, graph, index) {
  const node = graph.nodes[index], stored = storedGraph(file, graph);
  const at = stored && index < stored.of.length ? stored.of[index] : -1;
  const rows = [["Result", node.type]];
  if (at >= 0) {
    const { name, attrs } = stored.nodes[at];
    if (name !== node.label) rows.push(["Name", name]);
    for (const [key, value] of Object.entries(attrs || {})) rows.push([key, typeof value === "string" ? value : JSON.stringify(value)]);
    const first = stored.rows[at], storage = entryOf(stored, "storage_id", first), device = entryOf(stored, "device_index", first);
    if (storage !== undefined) rows.push(["Storage", String(storage)]);
    if (device !== undefined) rows.push(["Device type", String(device)]);
  }
  return rows.filter(([, value]) => value);
}

function tensorType(tensor) {
  return `${tensor.dtype}[${tensor.shape.join(", ")}]`;
}

// In their order where the graph is stored, else values before constants: { name, type, tensor or node }.
function takenBy(file, graph, index) {
  const stored = storedGraph(file, graph);
  if (stored && index < stored.of.length)
    return (stored.nodes[stored.of[index]].inputs || []).map(([from, output]) => {
      const { name } = stored.nodes[from], tensor = stored.drawn.has(from) ? null : stored.weights.get(name);
      return { name, tensor, node: stored.drawn.get(from), type: tensor ? tensorType(tensor) : entryType(stored, stored.rows[from] + output) };
    });
  const tensors = new Map(file.tensors.filter((t) => t.module === graph.module).map((t) => [t.name, t]));
  const sources = [...new Set(graph.edges.filter((edge) => edge[1] === index).map((edge) => edge[0]))];
  return [...sources.map((from) => ({ name: graph.nodes[from].label.split("\n")[0], node: from, type: graph.nodes[from].type || "" })),
    ...(graph.nodes[index].constants || "").split(" ").filter(Boolean).map((number) => {
      const tensor = tensors.get(`constants/${number}.npy`);
      return { name: `c[${number}]`, tensor, type: tensor ? tensorType(tensor) : "" };
    })];
}

const TAKEN_SHOWN = 60;

function takenTable(file, graph, index, choose, open) {
  const list = takenBy(file, graph, index);
  if (!list.length || graph.is_flow) return null;
  const name = (item) => (item.node !== undefined ? el("button", { class: "link", type: "button", onclick: () => choose(item.node) }, item.name)
    : item.tensor ? el("button", { class: "link", type: "button", onclick: () => open.module(file.byPath.get(graph.module), item.tensor) }, item.name) : item.name);
  const kind = (item) => (item.node !== undefined ? graph.nodes[item.node].kind : graph.name ? "constant" : "weight");
  return el("section", {}, el("h4", {}, "Takes"), el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "What the node takes" }, el("table", { class: "taken" },
    el("thead", { class: "hidden" }, el("tr", {}, ...["Name", "What", "Type", "Bytes"].map((title) => el("th", { scope: "col" }, title)))),
    el("tbody", {}, ...list.slice(0, TAKEN_SHOWN).map((item) => el("tr", {}, el("th", { scope: "row" }, name(item)), el("td", {}, kind(item)), el("td", {}, item.type), el("td", { class: "numeric" }, item.tensor ? bytes(item.tensor.bytes) : "")))))),
    list.length > TAKEN_SHOWN ? el("p", {}, `and ${list.length - TAKEN_SHOWN} more`) : null);
}

function attributeList(file, graph, index) {
  const rows = attributesOf(file, graph, index);
  return rows.length ? el("section", {}, el("h4", {}, "Attributes"), factList(...rows.map(([name, value]) => fact(name, el("code", {}, value))))) : null;
}
