// memory.js - what a call of a model takes over time: a chart over its steps, and what is there at one of them.

const MEMORY_KINDS = ["cache", "result", "scratch"]; // from the ground up
const MEMORY_WORDS = { cache: "caches and states", result: "results", scratch: "scratch" };

// Bytes by kind during each step; a storage is there from its first step until before its end.
function memoryAt(call) {
  const count = Math.max(1, call.steps.length), sums = Object.fromEntries(MEMORY_KINDS.map((kind) => [kind, new Float64Array(count + 1)]));
  for (const s of call.storages) {
    if (s.first >= count) continue;
    sums[s.kind][s.first] += s.bytes;
    sums[s.kind][Math.min(count, s.end)] -= s.bytes;
  }
  for (const kind of MEMORY_KINDS) for (let i = 1; i <= count; i++) sums[kind][i] += sums[kind][i - 1];
  return sums;
}

const CHART = { width: 960, height: 220 };

// Of a call with more steps than columns, each column has the step of its greatest sum.
function memoryChart(call, choose) {
  const count = Math.max(1, call.steps.length), columns = Math.min(count, CHART.width), sums = memoryAt(call), wide = CHART.width / columns;
  const total = (i) => MEMORY_KINDS.reduce((sum, kind) => sum + sums[kind][i], 0), most = Math.max(1, call.peak_bytes);
  const picked = Array.from({ length: columns }, (_, column) => {
    const from = Math.floor((column * count) / columns), to = Math.max(from + 1, Math.floor(((column + 1) * count) / columns));
    let best = from;
    for (let i = from; i < to; i++) if (total(i) > total(best)) best = i;
    return best;
  });
  const below = new Float64Array(columns);
  const areas = MEMORY_KINDS.map((kind) => {
    const lower = [...below], upper = picked.map((step, i) => (below[i] += sums[kind][step]));
    const y = (value) => (CHART.height - (value / most) * (CHART.height - 8)).toFixed(1);
    const line = (values) => values.flatMap((value, i) => [`${(i * wide).toFixed(1)},${y(value)}`, `${((i + 1) * wide).toFixed(1)},${y(value)}`]);
    return svg("polygon", { class: `memory-${kind}`, points: [...line(upper), ...line(lower).reverse()].join(" ") });
  });
  const cursor = svg("line", { class: "cursor", y1: 0, y2: CHART.height });
  const node = svg("svg", { class: "memory-chart", viewBox: `0 0 ${CHART.width} ${CHART.height}`, preserveAspectRatio: "none", tabindex: "0", role: "slider", "aria-label": "Step of the call; arrows move, Home is its peak",
    "aria-valuemin": 1, "aria-valuemax": count }, ...areas, cursor);
  let at = 0;
  const go = (step) => {
    at = Math.max(0, Math.min(count - 1, step));
    const x = ((at + 0.5) / count) * CHART.width;
    fill(cursor, { x1: x, x2: x }, []);
    fill(node, { "aria-valuenow": at + 1, "aria-valuetext": `${call.steps[at] ? call.steps[at].name : ""}, ${bytes(total(at))}` }, []);
    choose(at, total(at));
  };
  const stepAt = (event) => { const box = node.getBoundingClientRect(); return picked[Math.max(0, Math.min(columns - 1, Math.floor(((event.clientX - box.left) / box.width) * columns)))]; };
  node.addEventListener("click", (event) => go(stepAt(event)));
  node.addEventListener("pointermove", (event) => { if (event.buttons) go(stepAt(event)); });
  node.addEventListener("keydown", (event) => {
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, PageDown: at + 20, PageUp: at - 20, Home: call.peak_step, End: count - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    go(to);
  });
  node.go = go;
  return node;
}

// All that is there during a step, the largest first.
function storagesTable(call, step) {
  const there = call.storages.filter((s) => s.first <= step && step < s.end).sort((a, b) => b.bytes - a.bytes), SHOWN = 50;
  const name = (i) => (call.steps[i] ? call.steps[i].name : "the return");
  return el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "What is there" }, el("table", { class: "plain-table storages" },
    el("thead", {}, el("tr", {}, ...["Bytes", "Kind", "First tensor", "From", "Until"].map((title, i) => el("th", { scope: "col", class: i ? null : "numeric" }, title)))),
    el("tbody", {}, ...there.slice(0, SHOWN).map((s) => el("tr", {}, el("td", { class: "numeric" }, bytes(s.bytes)), el("td", {}, MEMORY_WORDS[s.kind]),
      el("td", {}, s.type || "", s.tensors > 1 ? ` and ${s.tensors - 1} more in turn` : ""), el("td", {}, name(s.first)), el("td", {}, s.end > call.steps.length - 1 ? "the return" : name(s.end)))))),
  there.length > SHOWN ? el("p", { class: "note" }, `and ${plural(there.length - SHOWN, "smaller storage")}`) : null);
}

function callView(file, model, call) {
  const extents = call.extents.map((e) => `${e.name} = ${e.value}`).join(", ");
  const free = call.extents.filter((e) => !e.given);
  const said = el("p", { class: "note", role: "status" }), below = el("div", {});
  const parts = [
    factList(fact("The model needs", el("strong", {}, bytes(model.need_bytes)), `: weights ${bytes(model.weight_bytes)}, caches ${bytes(model.cache_bytes)}, inputs and peak of the function that takes most`),
      fact("This call", `at its peak ${bytes(call.peak_bytes)}, inputs ${bytes(call.input_bytes)}, leaves ${bytes(call.result_bytes)} of results`),
      fact("Peak", call.steps && call.steps[call.peak_step] ? [el("code", {}, call.steps[call.peak_step].name), `, step ${(call.peak_step + 1).toLocaleString("en")} of ${call.steps.length.toLocaleString("en")}`] : "no step runs"),
      extents ? fact("Counted with", extents, free.length ? [". Others: ", el("code", {}, `minspect html --shape ${free[0].name}=2048 ${shell(file.name)} -o PAGE`)] : "") : null,
      call.unknown ? fact("Not told", call.why || "", ": it is at least that") : null)];
  if (!call.steps) return [...parts, el("p", { class: "note" }, "Too many steps for a page: ", el("code", {}, `minspect memory ${shell(file.name)}`))];
  if (!call.steps.length && !call.storages.length) return parts;
  const chart = memoryChart(call, (step, sum) => {
    said.textContent = `${call.steps[step] ? call.steps[step].name : "no step"}, step ${(step + 1).toLocaleString("en")}: ${bytes(sum)}`;
    below.replaceChildren(storagesTable(call, step));
  });
  chart.go(call.peak_step < call.steps.length ? call.peak_step : 0);
  return [...parts, el("div", { class: "memory-legend" }, el("span", { class: "most" }, bytes(call.peak_bytes)), ...MEMORY_KINDS.map((kind) => el("span", { class: `key memory-${kind}` }, MEMORY_WORDS[kind]))), chart, said, below];
}

function memoryPanel(file) {
  const calls = file.memory.flatMap((model) => model.functions.map((call) => ({ model, call })));
  const shown = el("div", { class: "memory-call" });
  const pick = el("select", { "aria-label": "Function" }, ...calls.map(({ model, call }, i) => el("option", { value: i }, `${call.name}${file.memory.length > 1 ? ` of ${model.module}` : ""}: ${bytes(call.peak_bytes)}`)));
  const show = (i) => { pick.value = String(i); shown.replaceChildren(...callView(file, calls[i].model, calls[i].call)); };
  pick.addEventListener("change", () => show(Number(pick.value)));
  // a call that makes caches is none that takes them for itself
  const need = ({ call }) => call.peak_bytes - Number(call.cache_bytes) + Number(call.input_bytes);
  show(calls.reduce((most, one, i) => (need(one) > need(calls[most]) ? i : most), 0));
  return el("div", { class: "memory" }, el("section", {}, heading("Memory of a call"), calls.length > 1 ? el("div", { class: "tools" }, pick) : null, shown));
}
