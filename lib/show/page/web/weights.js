// weights.js - files of weights: their tensors as a table, and as a map by the parts of their names.

// A file of weights has no modules, functions or code: what the views of libraries ask for is empty.
function prepareWeights(file) {
  const { tensors, shards } = file.weights;
  Object.assign(file, { tree: [], functions: [], models: [], kernels: [], gpu_containers: [], gpu_code: [], code: [], code_problems: [], parts: [], graphs: [], map: [], cut_rows: 0, size: { duplicates: [], wasted: 0, same_kernels: [], same_bytes: 0 } });
  file.weightTensors = tensors.map((t) => ({ ...t, module: "", dtype: t.dtype || t.type || "?", shape: t.shape || [], bytes: Number(t.bytes || 0) }));
  file.bytes = Number(file.about.bytes) + shards.reduce((sum, shard) => sum + Number(shard.bytes || 0), 0);
  file.mapTree = weightsMap(file);
}

// "layers.0.attention.weight": a box for each part of a name that several tensors share, which has what its outer one has not.
function weightsMap(file) {
  const root = { kind: "file", name: basename(file.about.file), bytes: 0, plain: 0, children: [] };
  const groups = new Map([["", root]]);
  for (const tensor of file.weightTensors) {
    const words = tensor.name.split(/(?<=[./])/).slice(0, 8);
    let parent = root, path = "";
    for (const word of words.slice(0, -1)) {
      path += word;
      if (!groups.has(path)) {
        const group = { kind: "data", path, bytes: 0, plain: 0, children: [] };
        parent.children.push(group);
        groups.set(path, group);
      }
      parent = groups.get(path);
    }
    parent.children.push({ kind: "tensor", path: tensor.name, bytes: tensor.bytes, plain: 0, children: [], tensor });
  }
  const sum = (node) => (node.bytes = node.children.length ? node.children.reduce((all, child) => all + sum(child), 0) : node.bytes);
  const settle = (node, before) => { // a group of one is what is in it
    node.children = node.children.map((child) => {
      let inner = child;
      while (inner.children.length === 1) inner = inner.children[0];
      const { path } = inner;
      Object.assign(inner, { name: path.slice(before.length).replace(/[./]$/, ""), symbol: path, path: undefined });
      return settle(inner, inner.children.length ? path : "");
    });
    return node;
  };
  sum(settle(root, ""));
  if (root.bytes < file.bytes) root.children.push({ kind: "rest", name: "names and padding", bytes: file.bytes - root.bytes, plain: 0, children: [] });
  root.bytes = Math.max(root.bytes, file.bytes);
  return root;
}

// "110 M", as models are named by.
function shortCount(n) {
  const [unit, word] = n >= 1e9 ? [1e9, " B"] : n >= 1e6 ? [1e6, " M"] : [1, ""];
  return unit === 1 ? n.toLocaleString("en") : `${(n / unit).toFixed(n / unit < 10 ? 2 : n / unit < 100 ? 1 : 0)}${word}`;
}

// Which types its tensors have: "bfloat16: 219 tensors, 210 MiB".
function typesOfWeights(file) {
  const types = new Map();
  for (const tensor of file.tensors) {
    if (!types.has(tensor.dtype)) types.set(tensor.dtype, { count: 0, bytes: 0 });
    types.get(tensor.dtype).count++;
    types.get(tensor.dtype).bytes += tensor.bytes;
  }
  return [...types].sort(([, a], [, b]) => b.bytes - a.bytes).map(([type, sum]) => el("li", {}, `${type}: ${plural(sum.count, "tensor")}, ${bytes(sum.bytes)}`));
}

const elementsOf = (tensor) => tensor.shape.reduce((product, n) => product * Number(n), 1);

function figureOfTensor(tensor, word) {
  const value = tensor.statistics && tensor.statistics[word];
  return value === undefined ? NaN : Number(value);
}

// How many magnitudes lie between one power of two and the next.
function magnitudesChart(bins) {
  const first = Math.min(...bins.map((bin) => bin.below_exponent)), last = Math.max(...bins.map((bin) => bin.below_exponent)), most = Math.max(...bins.map((bin) => Number(bin.count)));
  const width = 14, height = 60, of = new Map(bins.map((bin) => [bin.below_exponent, Number(bin.count)])), all = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  const tall = (count) => (count ? Math.max(1, (height * count) / most) : 0), between = (e) => `2^${e - 1} to 2^${e}`;
  return [svg("svg", { class: "block-chart magnitudes", width: all.length * width, height, viewBox: `0 0 ${all.length * width} ${height}`, role: "img", "aria-label": `Magnitudes: most, ${most.toLocaleString("en")}, from ${between(all.find((e) => of.get(e) === most))}` },
    ...all.map((e, i) => svg("rect", { x: i * width, y: height - tall(of.get(e)), width: width - 1, height: tall(of.get(e)) }, svg("title", {}, `${between(e)}: ${(of.get(e) || 0).toLocaleString("en")}`)))),
  el("div", {}, `magnitudes from 2^${first - 1} to 2^${last}`)];
}

function tensorDetail(tensor) {
  const { statistics: s } = tensor;
  return el("div", { class: "detail-of" }, factList(fact("Name", el("code", {}, tensor.name)), fact("Type", `${tensorType(tensor)}${tensor.stored_as ? `, stored as ${tensor.stored_as}` : ""}`),
    fact("Bytes", `${tensor.bytes.toLocaleString("en")}${tensor.offset !== undefined ? `, ${hex(tensor.offset)} bytes into ${tensor.shard || "the file"}` : ""}`),
    s && s.quantized ? fact("Quantized", `${s.quantized.bits} bits, in groups of ${s.quantized.group}`) : null,
    s && s.blocks ? fact("Blocks", `${plural(Number(s.blocks.count), "block")} of ${s.blocks.elements}`, s.blocks.scales ? `, scales from ${s.blocks.scales.min} to ${s.blocks.scales.max}, ${s.blocks.scales.mean} on average` : "") : null,
    s ? fact("Elements", s.min === undefined ? "no numbers" : `from ${s.min} to ${s.max}, ${s.mean} on average`, s.not_finite ? `; ${plural(s.not_finite, "element")} not finite` : "") : fact("Elements", "not read: quantized, packed or of a type without numbers"),
    s && s.magnitudes.length ? fact("Distribution", ...magnitudesChart(s.magnitudes)) : null));
}

function tensorsPanel(file) {
  const tensors = file.weightTensors;
  const numeric = (title, of, show) => ({ title, numeric: true, text: (t) => (Number.isNaN(of(t)) ? "" : show(of(t))), rank: (t) => (Number.isNaN(of(t)) ? -Infinity : of(t)) });
  const digits = (n) => String(Number(n.toPrecision(4)));
  const any = (word) => tensors.some((t) => figureOfTensor(t, word));
  const table = dataTable({
    what: "tensor", title: "Tensors", items: tensors, label: (t) => t.name, text: (t) => `${t.name} ${t.dtype}`, address: () => addressOf("tensors", {}), detail: tensorDetail, more: `minspect ${shell(file.name)}`,
    columns: [{ title: "Type", whole: true, text: (t) => t.dtype, rank: (t) => t.dtype }, { title: "Shape", text: (t) => t.shape.join(" \u00d7 "), rank: elementsOf },
      numeric("Bytes", (t) => t.bytes, bytes), numeric("Share", (t) => t.bytes, (n) => percent(n, file.bytes)),
      ...(tensors.some((t) => t.statistics) ? [numeric("Least", (t) => figureOfTensor(t, "min"), digits), numeric("Greatest", (t) => figureOfTensor(t, "max"), digits), numeric("Mean", (t) => figureOfTensor(t, "mean"), digits)] : []),
      ...(any("not_finite") ? [numeric("Not finite", (t) => figureOfTensor(t, "not_finite"), (n) => n.toLocaleString("en"))] : []),
      ...(tensors.some((t) => t.shard) ? [{ title: "Shard", words: true, text: (t) => t.shard || "", rank: (t) => t.shard || "" }] : [])],
  });
  const panel = el("div", { class: "functions" }, el("section", {}, heading("Tensors", tensors.length.toLocaleString("en")), table));
  panel.reveal = (tensor) => table.reveal(tensor);
  panel.revealAll = table.revealAll;
  return panel;
}

// What the overview says of it.
function weightFacts(file) {
  const { total, types, metadata, shards } = file.weights, NOTES = 40;
  const holds = (sum) => `${plural(sum.tensors, "tensor")}, ${plural(Number(sum.elements), "element")}, ${bytes(sum.bytes)}`;
  return [fact("Format", file.about.title), fact("Holds", holds(total)), fact("Types", el("ul", { class: "plain" }, ...typesOfWeights(file))),
    ...(types.length > 1 ? types.map((sum) => fact(sum.type, holds(sum))) : []),
    shards.length ? fact("Shards", el("ul", { class: "plain" }, ...shards.map((shard) => el("li", {}, shard.error ? `${shard.name}: ${shard.error.message}` : `${shard.name}, ${bytes(shard.bytes)}`)))) : null,
    ...metadata.slice(0, NOTES).map((note) => fact(note.key, excerptEnd(note.value, 400))), metadata.length > NOTES ? fact("and", `${metadata.length - NOTES} more notes`) : null];
}
