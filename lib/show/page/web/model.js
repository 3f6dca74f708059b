// model.js - the document, with what the views ask of it: who belongs to which module, what differs
// between files, where the bytes are.

// Rows of the document are arrays; a column "$name" has numbers of texts, "*lines" lists of them.
function hydrate(rows, columns) {
  const names = columns.map((column) => column.replace(/^[$*]/, "")), kinds = columns.map((column) => column[0]);
  return rows.map((row) => {
    const item = {};
    row.forEach((value, i) => { if (value !== null) item[names[i]] = kinds[i] === "$" ? page.strings[value] : kinds[i] === "*" ? value.map((n) => page.strings[n]) : value; });
    return item;
  });
}

// What a kernel needs on a device: "sm_90|cubin|24||..." in the order of page.figures.
function needsOf(text) {
  const [target, format, ...values] = text.split("|");
  return { target, format, values: values.map((value) => (value === "" || value === "?" ? value : Number(value))) };
}

// The same thing in two files: a module by its number, of which each file has its own path.
function key(item, file) {
  const at = file.byPath.get(item.module);
  return `${at === undefined ? item.module || "" : file.tree[at].number}\u0000${item.name}`;
}

function prepare(file, index) {
  file.index = index;
  // what a file has nothing of is not in the document
  for (const name of ["tree", "functions", "models", "graphs", "code", "code_problems", "gpu_code", "gpu_containers"]) file[name] = file[name] || [];
  file.size = file.size || { duplicates: [], wasted: 0, same_kernels: [], same_bytes: 0 };
  file.cut_rows = file.cut_rows || 0;
  for (const container of file.gpu_containers) container.title = page.strings[container.title];
  for (const word of Object.keys(file.runs || {})) file.runs[word] = page.strings[file.runs[word]];
  if (file.weights) prepareWeights(file);
  file.name = file.about.file;
  file.short = basename(file.name);
  file.bytes = file.bytes || Number(file.about.bytes);
  file.byPath = new Map(file.tree.map((module, i) => [module.path, i]));
  file.gpuPaths = new Set(file.gpu_containers.map((container) => container.path));
  file.parts = hydrate(file.parts, page.columns.parts);
  file.kernels = hydrate(file.kernels, page.columns.kernels);
  for (const kernel of file.kernels) kernel.lines = kernel.lines.join("\n");
  file.occupancy = new Map(hydrate(file.occupancy || [], page.columns.occupancy || []).map((row) => [`${row.name} ${row.target}`, row]));
  file.memory = file.memory || [];
  for (const call of file.memory.flatMap((model) => model.functions)) {
    call.peak_bytes = Number(call.peak_bytes);
    if (!call.steps) continue;
    call.steps = hydrate(call.steps, page.columns.steps);
    call.storages = hydrate(call.storages, page.columns.storages).map((s) => ({ ...s, bytes: Number(s.bytes) }));
  }
  file.tensors = file.weightTensors || file.parts.filter((part) => part.dtype !== undefined);
  file.texts = file.parts.filter((part) => part.text !== undefined);
  for (const text of file.texts) text.title = text.title || text.name;
  file.findings = file.verify.findings;
  file.devices = [...new Set(file.kernels.flatMap((kernel) => kernel.figures.map((text) => text.slice(0, text.indexOf("|")))).filter(Boolean))].sort(natural);
  return file;
}

const files = page.files.map(prepare);

// Two files of one name in different folders are told apart by all of their path.
if (new Set(files.map((file) => file.short)).size < files.length)
{
  const folders = files[0].name.split("/").slice(0, -1);
  const common = folders.findIndex((folder, i) => files.some((file) => file.name.split("/").slice(0, -1)[i] !== folder));
  for (const file of files) file.short = file.name.split("/").slice(common < 0 ? folders.length : common).join("/");
}

// --- which module is which ----------------------------------------------------------------------

function byModule(list) {
  const groups = new Map();
  for (const item of list) {
    if (!groups.has(item.module)) groups.set(item.module, []);
    groups.get(item.module).push(item);
  }
  return (path) => groups.get(path) || [];
}

// What each module is, but for its path.
function describe(file) {
  const [kernels, models, parts] = [byModule(file.kernels), byModule(file.models), byModule(file.parts)];
  for (const module of file.tree) {
    const digests = parts(module.path).map((part) => `${part.name} ${part.xxh128}`);
    module.names = new Set([...kernels(module.path), ...models(module.path)].map((item) => item.name));
    module.content = [module.kind, module.bytes, module.counts, ...kernels(module.path).map((k) => k.signature), ...digests].join("\u0000");
  }
  // what is too large to be told apart by kernel differs where its module does
  for (const kernel of file.kernels)
    if (!kernel.xxh128) kernel.whole = file.byPath.has(kernel.module) ? file.tree[file.byPath.get(kernel.module)].content : parts(kernel.module).map((part) => part.xxh128).join(" ");
}

const shared = (a, b) => [...a.names].filter((name) => b.names.has(name)).length;

// As --diff does: by content, then by the names it defines, then by path. Each module of the files before
// is the partner of one at most; what has none gets a number of its own.
function numberModules() {
  const known = [];
  for (const file of files) {
    const free = new Set(known);
    describe(file);
    const pair = (find) => {
      for (const module of file.tree) {
        const partner = module.number === undefined && find(module);
        if (!partner) continue;
        module.number = partner.number;
        free.delete(partner);
      }
    };
    const by = (keyOf) => {
      const index = new Map();
      for (const m of [...free].reverse()) index.set(keyOf(m), m);
      pair((m) => { const found = index.get(keyOf(m)); return free.has(found) && found; });
    };
    by((m) => `${m.path}\u0000${m.content}`);
    by((m) => m.content);
    const holders = new Map();
    for (const m of free) for (const name of m.names) holders.set(`${m.kind}\u0000${name}`, [...(holders.get(`${m.kind}\u0000${name}`) || []).slice(0, 7), m]);
    pair((m) => [...new Set([...m.names].flatMap((name) => holders.get(`${m.kind}\u0000${name}`) || []))].filter((o) => free.has(o))
      .sort((x, y) => shared(m, y) - shared(m, x) || (y.path === m.path) - (x.path === m.path))[0]);
    by((m) => `${m.path}\u0000${m.kind}`);
    for (const module of file.tree) if (module.number === undefined) { module.number = known.length; known.push(module); }
  }
}

// More are listed and not compared: nobody reads twenty columns.
const COMPARED = 8;
const compares = files.length > 1 && files.length <= COMPARED;

if (compares) numberModules();

// --- what differs -----------------------------------------------------------------------------

const KINDS = {
  modules: {
    title: "Modules", of: (file) => file.tree, key: (m) => m.number,
    label: (m) => `${m.path}  ${m.kind}`, value: (m) => `${m.path} ${m.format || ""} ${m.content}`,
    show: (m, base) => `${bytes(m.bytes)}${m.path === base.path ? "" : `  moved to ${m.path}`}`,
  },
  models: {
    title: "Model functions", of: (file) => file.models, key, alike: "alike in signature", label: (m) => m.name,
    value: (m) => m.signature, show: (m) => m.signature,
  },
  functions: {
    title: "Host functions", of: (file) => file.functions, key: (f) => `${f.member || ""}\u0000${f.name}`,
    alike: "alike in signature and size", label: (f) => f.name, value: (f) => `${f.signature} ${f.bytes} ${f.alias_of}`,
    show: (f) => `${bytes(f.bytes)}${f.signature ? `  ${f.signature}` : ""}`,
  },
  kernels: {
    title: "Kernels", of: (file) => file.kernels, key, label: (k) => k.name,
    value: (k) => `${k.signature} ${(k.lines || "").replace(/\bline \d+, /g, "")} ${k.xxh128 || k.whole} ${k.around}`, show: showKernel,
  },
  parts: {
    title: "Tensors, code and texts", of: (file) => file.parts, key, label: (p) => `${p.module}  ${p.title || p.name}`,
    value: (p) => `${p.xxh128} ${p.dtype} ${p.shape}`, show: (p) => bytes(p.bytes),
  },
};

function showKernel(k, base) {
  const says = k.lines || k.signature || "";
  if (k === base) return says;
  const how = k.xxh128 !== base.xxh128 ? `its ${k.around ? "text" : "code"} differs` : k.around !== base.around ? "the same text; what stands around it differs" : "";
  return how && `${says}${says.endsWith("\n") ? "" : "\n"}${how}` || says;
}

// Rows in the order of the first file that has them: [{label, items: one a file or undefined, state}]
// with state "same", "changed" or "partial" (not in every file).
function compareKind(kind) {
  const rows = new Map();
  for (const file of files)
    for (const item of kind.of(file)) {
      const name = kind.key(item, file);
      if (!rows.has(name)) rows.set(name, { label: kind.label(item), items: files.map(() => undefined) });
      rows.get(name).items[file.index] = item;
    }
  for (const row of rows.values()) {
    const there = row.items.filter((item) => item !== undefined);
    const values = new Set(there.map(kind.value));
    row.state = there.length < files.length ? "partial" : values.size > 1 ? "changed" : "same";
    for (const item of there) item.state = row.state;
  }
  return [...rows.values()];
}

const differences = {};
if (compares) for (const name of Object.keys(KINDS)) differences[name] = compareKind(KINDS[name]);

// The mark of an item that is not the same in every file.
function mark(item) {
  if (!item.state || item.state === "same") return null;
  const only = item.state === "partial";
  return chip(only ? "not in all" : "differs", only ? "only" : "changed");
}

// --- where the bytes are ------------------------------------------------------------------------

// The rows are the tree in the order of a walk through it, each with its depth.
function sizeMap(file) {
  if (file.mapTree) return file.mapTree;
  const trail = [];
  for (const row of hydrate(file.map, page.columns.map)) {
    const node = { ...row, plain: row.plain || 0, children: [] };
    trail.length = row.depth;
    if (row.depth) trail[row.depth - 1].children.push(node);
    trail.push(node);
  }
  for (const section of trail[0] ? trail[0].children : []) fillRests(file, section, section);
  return (file.mapTree = trail[0]);
}

// Of a device the map of a set has the largest kernels; the others are known by the rows of kernels, and share what is left
// by the sizes of their code.
function fillRests(file, section, node) {
  const rest = node.kind === "gpu" && node.children.find((child) => child.kind === "rest" && /^\d+ smaller ones?$/.test(child.name));
  if (!rest) return node.children.forEach((child) => fillRests(file, section, child));
  const code = page.figures.findIndex((figure) => figure.word === "code_bytes"), target = node.name.split(" ")[0];
  const named = new Set(node.children.map((child) => child.symbol || child.name));
  const left = new Map();
  for (const kernel of file.kernels) {
    if (named.has(kernel.name) || !(kernel.module || "").startsWith(`${section.name}:`)) continue;
    for (const text of kernel.figures) {
      if (!text.startsWith(`${target}|`)) continue;
      const size = Number(needsOf(text).values[code]) || 0;
      if (size) left.set(kernel.name, { kernel, size: size + (left.has(kernel.name) ? left.get(kernel.name).size : 0) });
    }
  }
  const sum = [...left.values()].reduce((all, { size }) => all + size, 0);
  rest.children = [...left.values()].map(({ kernel, size }) => ({ kind: "kernel", name: kernel.title || kernel.name, symbol: kernel.name, path: kernel.module, bytes: Math.floor((rest.bytes * size) / sum), plain: size, children: [] }));
  const missing = rest.bytes - rest.children.reduce((all, child) => all + child.bytes, 0);
  if (rest.children.length && missing) rest.children[0].bytes += missing; // what rounding left
}
