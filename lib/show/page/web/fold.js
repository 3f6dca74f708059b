// fold.js - what of a graph is drawn as what: values that are made of weights alone stand beside their reader, and
// blocks that repeat, such as the layers of a transformer, are one box, which opens.

const FAR = 80; // operators: an edge over more of them is a note beside its reader
const HUB = 4; // readers: of an input that more have, all but the first have a note
const FOLD_LEAST = 8; // operators that a fold must save
const FOLD_WORK = 3e7; // comparisons

const WEIGHT_NAME = /\.|(?:^|_)(?:q_)?(?:weights?|bias|scales?|zeros?|zero_point|gamma|beta|kernel|mean|var|params?)\d*$/i;

// Who reads whom, who is fed by an input of the model and who by weights alone. Once for a graph.
function relate(graph) {
  if (graph.relations) return graph.relations;
  const count = graph.nodes.length;
  const up = Array.from({ length: count }, () => []), down = Array.from({ length: count }, () => []);
  for (const [from, to] of graph.edges) {
    if (from >= to) continue;
    if (up[to].length > 64 || !up[to].includes(from)) up[to].push(from);
    if (down[from][down[from].length - 1] !== to) down[from].push(to);
  }
  const inputs = graph.nodes.flatMap((node, i) => (node.kind === "input" ? [i] : []));
  const main = new Uint8Array(count);
  const values = inputs.filter((i, at) => !at || !WEIGHT_NAME.test(graph.nodes[i].label));
  for (const i of values) main[i] = down[i].length > 0 || inputs.length === 1 ? 1 : 0;
  graph.nodes.forEach((node, i) => { if (node.kind === "output" || up[i].some((from) => main[from])) main[i] = 1; });
  const fed = graph.nodes.some((node, i) => node.kind !== "input" && node.kind !== "output" && main[i]);
  if (graph.is_flow || !fed) main.fill(1);
  // whose reader a side node is beside: the first one that is drawn
  const owner = new Int32Array(count).fill(-1);
  for (let i = count - 1; i >= 0; i--)
    if (main[i]) owner[i] = i;
    else for (const to of down[i]) if (owner[to] >= 0 && (owner[i] < 0 || owner[to] < owner[i])) owner[i] = owner[to];
  const sequence = graph.nodes.flatMap((node, i) => (main[i] && node.kind !== "input" && node.kind !== "output" ? [i] : []));
  const place = new Int32Array(count).fill(-1);
  sequence.forEach((i, at) => (place[i] = at));
  // edges that are drawn, and what stands beside a node instead
  const drawn = [], beside = new Map();
  const note = (to, from, kind) => { if (!beside.has(to)) beside.set(to, []); beside.get(to).push({ index: from, kind }); };
  for (const [from, to, said] of graph.edges) {
    if (!main[to]) continue;
    const far = place[from] >= 0 && place[to] >= 0 && place[to] - place[from] > FAR;
    const hub = graph.nodes[from].kind === "input" && down[from].length > HUB && to !== down[from][0];
    if (!main[from]) note(to, from, "side");
    else if (!graph.is_flow && graph.nodes[to].kind !== "output" && (far || hub)) note(to, from, "far");
    else drawn.push([from, to, said]);
  }
  return (graph.relations = { up, down, main, owner, sequence, place, drawn, beside });
}

const firstLine = (node) => node.label.split("\n")[0];

// Equal tokens do the same with values from as far away. sameAs: the same but for where values from before a block come from.
function tokensOf(graph) {
  const { sequence, place, up, main, beside } = relate(graph);
  const numbers = new Map(), sources = [], plain = [];
  const number = (text) => { if (!numbers.has(text)) numbers.set(text, numbers.size); return numbers.get(text); };
  const tokens = sequence.map((i) => {
    const node = graph.nodes[i];
    const from = up[i].map((other) => (place[other] >= 0 ? place[i] - place[other] : main[other] ? Infinity : `w${graph.nodes[other].kind}`));
    sources.push(from);
    plain.push(number([node.label, node.type, node.state, (node.constants || "").split(" ").filter(Boolean).length].join("|")));
    return number([plain[plain.length - 1], (beside.get(i) || []).length, ...from.map((d) => (d > FAR ? "far" : d)).sort()].join(" "));
  });
  const within = (at, begin) => sources[at].map((d) => (d > at - begin ? "before" : d)).sort().join(" ");
  const sameAs = (a, b, period) => {
    for (let k = 0; k < period; k++) if (plain[a + k] !== plain[b + k] || within(a + k, a) !== within(b + k, b)) return false;
    return true;
  };
  return { tokens, sameAs };
}

// The block that saves most when it is drawn once: { at, period, count }, or null.
function findRepeat(tokens, from, to, work) {
  let best = null;
  const longest = Math.min((to - from) >> 1, 1024);
  for (let period = 1; period <= longest && work.left > 0; period++) {
    work.left -= to - from;
    for (let i = from, run = 0; i + period <= to; i++) {
      if (i + period < to && tokens[i] === tokens[i + period]) { run++; continue; }
      const count = Math.floor(run / period) + 1, saved = (count - 1) * period;
      if (count > 1 && saved >= FOLD_LEAST && (period > 2 || count > 7) && (!best || saved > best.saved * 1.05))
        best = { at: i - run, period, count, saved, slack: run + period - count * period };
      run = 0;
    }
  }
  return best;
}

// Items in the order of the run: a place in the sequence, or { at, period, count, items } of one block's items.
function foldSequence(graph) {
  const { sequence, place, drawn } = relate(graph);
  if (graph.is_flow) return sequence.map((_, at) => at);
  const { tokens, sameAs } = tokensOf(graph), work = { left: FOLD_WORK };
  // how many values cross the gap before each place: a block begins where fewest do
  const crossing = new Int32Array(sequence.length + 2);
  const last = new Map();
  for (const [from, to] of drawn) if (place[from] >= 0) last.set(from, Math.max(last.get(from) || 0, place[to] >= 0 ? place[to] : sequence.length));
  for (const [from, to] of last) { crossing[place[from] + 1]++; crossing[Math.min(to, sequence.length) + 1]--; }
  for (let i = 1; i < crossing.length; i++) crossing[i] += crossing[i - 1];
  const out = [], waiting = [{ from: 0, to: sequence.length, into: out }];
  // segments lie behind one another in the order in which they are taken
  while (waiting.length) {
    const { from, to, into, fold } = waiting.pop();
    if (fold) { into.push(fold); continue; }
    const found = to - from > FOLD_LEAST && findRepeat(tokens, from, to, work);
    if (!found) { for (let at = from; at < to; at++) into.push(at); continue; }
    let { at, count } = found;
    const { period, slack } = found;
    // where a block begins: so that most are alike, and then where fewest values cross. The first block may read what comes
    // in, where the others read what the one before made
    const end = found.at + count * period + slack;
    let best = null;
    for (let begin = found.at; begin < found.at + period; begin++) {
      const longer = begin - period >= from && sameAs(begin - period, begin, period);
      const one = { start: longer ? begin - period : begin, times: Math.floor((end - begin) / period) + longer, crossing: crossing[begin] };
      if (one.times > 1 && (!best || (one.times - best.times || best.crossing - one.crossing || best.start - one.start) > 0)) best = one;
    }
    if (best) [at, count] = [best.start, best.times];
    const block = { at, period, count, items: [] };
    waiting.push({ from: at + period * count, to, into }, { into, fold: block }, { from, to: at, into }, { from: at, to: at + period, into: block.items });
  }
  return out;
}

// "layers.0.norm1.weight" is a weight of a layer.
function wordOfBlock(graph, block) {
  const { sequence, beside } = relate(graph);
  for (let at = block.at; at < block.at + block.period; at++)
    for (const { index } of beside.get(sequence[at]) || []) {
      const found = /(?:^|[._])([a-z]{2,}?)s?[._]\d+[._]/i.exec(graph.nodes[index].label);
      if (found) return found[1].toLowerCase();
    }
  return graph.nodes[sequence[block.at]] && block.count > 7 ? "layer" : "block";
}

// --- colours --------------------------------------------------------------------------------------

const CATEGORIES = [
  ["attention", "attention", /attention|attn|kv_cache|softmax_qk/],
  ["matrix", "matrix product", /matmul|dense|gemm|gemv|linear|einsum|dot\b|bmm/],
  ["convolution", "convolution", /conv/],
  ["norm", "normalization", /norm|softmax|mean|variance|var\b|rsqrt/],
  ["pool", "pooling, reduction", /pool|sum|reduce|argm|max\b|min\b|cumsum/],
  ["quantize", "quantization", /quant|decode|encode|scale/],
  ["move", "moves data", /reshape|transpose|permute|split|concat|take|gather|slice|pad|expand|squeeze|stack|broadcast|cast|astype|layout|tuple|copy|index|last/],
  ["elementwise", "element by element", /add|sub|mul|div|relu|gelu|silu|sigmoid|tanh|exp|erf|pow|sqrt|clip|where|abs|neg|bias|activation/],
];

function categoryOf(node) {
  if (node.kind !== "operator" && node.kind !== "builtin") return null;
  const name = node.label.toLowerCase();
  const found = CATEGORIES.find(([, , pattern]) => pattern.test(name));
  return found ? found[0] : null;
}
