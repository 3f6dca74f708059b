// compare.js - several files side by side, and what differs marked.

// The lines of two texts that are not in both: Myers' algorithm, on what is left when the ends that
// are alike are taken away. Returns [[line of a or -1, line of b or -1]...]; null: too different.
function lineUp(a, b) {
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const x = a.slice(head, a.length - tail), y = b.slice(head, b.length - tail);
  const middle = shortest(x, y);
  if (!middle) return null;
  const pairs = [];
  for (let i = 0; i < head; i++) pairs.push([i, i]);
  for (const [i, k] of middle) pairs.push([i < 0 ? -1 : i + head, k < 0 ? -1 : k + head]);
  for (let i = tail; i > 0; i--) pairs.push([a.length - i, b.length - i]);
  return pairs;
}

const MOST_CHANGES = 1500;

function shortest(a, b) {
  const most = Math.min(a.length + b.length, MOST_CHANGES);
  const reach = new Int32Array(2 * most + 3), steps = [];
  const at = (k) => k + most + 1;
  for (let d = 0; d <= most; d++) {
    steps.push(reach.slice(at(-d) - 1, at(d) + 2));
    for (let k = -d; k <= d; k += 2) {
      let x = k === -d || (k !== d && reach[at(k - 1)] < reach[at(k + 1)]) ? reach[at(k + 1)] : reach[at(k - 1)] + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      reach[at(k)] = x;
      if (x >= a.length && x - k >= b.length) return retrace(steps, a.length, b.length);
    }
  }
  return null;
}

function retrace(steps, x, y) {
  const pairs = [];
  for (let d = steps.length - 1; d >= 0; d--) {
    const reach = (k) => steps[d][k + d + 1];
    const k = x - y;
    const down = k === -d || (k !== d && reach(k - 1) < reach(k + 1));
    const from = d ? (down ? reach(k + 1) : reach(k - 1)) : 0;
    const start = d ? (down ? from : from + 1) : 0; // where the diagonal begins
    while (x > start && y > 0 && x > 0) pairs.push([--x, --y]);
    if (!d) break;
    pairs.push(down ? [-1, --y] : [--x, -1]);
  }
  return pairs.reverse();
}

// What is removed and what is added in its place stand beside one another.
function pairUp(pairs) {
  const rows = [];
  for (let i = 0; i < pairs.length; ) {
    if (pairs[i][0] >= 0 && pairs[i][1] >= 0) { rows.push([pairs[i][0], pairs[i][1], false]); i++; continue; }
    const removed = [], added = [];
    for (; i < pairs.length && (pairs[i][0] < 0 || pairs[i][1] < 0); i++)
      if (pairs[i][1] < 0) removed.push(pairs[i][0]);
      else added.push(pairs[i][1]);
    for (let k = 0; k < Math.max(removed.length, added.length); k++) rows.push([removed[k] ?? -1, added[k] ?? -1, true]);
  }
  return rows;
}

const AROUND = 3; // equal lines that are shown around what differs

function textDifference(one, other) {
  const a = linesOf(one.text), b = linesOf(other.text);
  const pairs = lineUp(a, b);
  if (!pairs) return el("p", { class: "note" }, `The texts have too little in common to be lined up: ${plural(a.length, "line")} and ${plural(b.length, "line")}.`);
  const rows = pairUp(pairs);
  const near = new Uint8Array(rows.length);
  rows.forEach((row, i) => { if (row[2]) near.fill(1, Math.max(0, i - AROUND), i + AROUND + 1); });
  const table = el("div", { class: "lines", tabindex: "0", role: "region", "aria-label": `Lines of ${one.title} that differ` });
  let skipped = 0;
  const gap = () => { if (skipped) table.append(el("div", { class: "gap" }, `${plural(skipped, "equal line")}`)); skipped = 0; };
  rows.forEach(([left, right, differs], i) => {
    if (!near[i]) { skipped++; return; }
    gap();
    const side = (lines, at, kind) => el("div", { class: `side${differs ? (at < 0 ? " none" : ` ${kind}`) : ""}` },
      el("span", { class: "number" }, at < 0 ? "" : String(at + 1)), el("span", { class: "what" }, at < 0 ? "" : lines[at]));
    table.append(side(a, left, "removed"), side(b, right, "added"));
  });
  gap();
  return table;
}

function factsTable() {
  const facts = [
    ["File", (f) => f.name], ["Size", (f) => bytes(f.bytes)], ["Kind", (f) => containerName(f.about)],
    ...(files.every((f) => f.weights) ? [] : [["Machine", (f) => f.about.machine || "any"], ["Generation", (f) => f.about.generation || "not known"],
      ["Modules", (f) => f.tree.length], ["Host functions", (f) => f.functions.length], ["Kernels", (f) => f.kernels.length]]),
    ["Tensors", (f) => (f.tensors.length ? `${f.tensors.length}, ${bytes(f.tensors.reduce((sum, t) => sum + Number(t.bytes), 0))}` : "none")],
    ["Findings", (f) => `${plural(f.verify.errors, "error")}, ${plural(f.verify.warnings, "warning")}`],
  ];
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The files" }, wide(el("table", { class: "facts" },
    el("tbody", {}, ...facts.map(([name, of], i) => {
      const values = files.map((file) => String(of(file)));
      const differs = i > 0 && new Set(values).size > 1;
      return el("tr", { class: differs ? "differs" : null }, el("th", { scope: "row" }, name), ...values.map((value) => el("td", {}, value)));
    })))));
}

// A row a thing, a column a file.
function compareRow(kind, row) {
  const base = row.items.find((item) => item !== undefined);
  const cells = row.items.map((item) => {
    if (item === undefined) return el("td", { class: "missing" }, "not there");
    const differs = row.state === "changed" && kind.value(item) !== kind.value(base);
    return el("td", { class: differs ? "differs" : null }, kind.show(item, base));
  });
  const line = el("tr", { class: `state-${row.state}`, "data-row": "", tabindex: "-1" },
    el("th", { scope: "row" }, row.label, " ", mark(base)), ...cells);
  const texts = row.items.filter((item) => item && item.text !== undefined);
  if (row.state !== "changed" || texts.length < 2) return [line];
  const below = el("tr", { class: "below", hidden: true }, el("td", { colspan: files.length + 1 }));
  const button = el("button", { type: "button", class: "link", "aria-expanded": "false" }, "Show the lines that differ");
  const toggle = () => {
    below.hidden = !below.hidden;
    button.setAttribute("aria-expanded", String(!below.hidden));
    if (below.firstChild.childNodes.length) return;
    for (const text of texts.slice(1)) below.firstChild.append(textDifference(texts[0], text));
  };
  button.addEventListener("click", toggle);
  line.addEventListener("keydown", (event) => event.key === "Enter" && event.target === line && toggle());
  line.firstChild.append(el("div", {}, button));
  return [line, below];
}

// On a narrow screen a table of many files scrolls.
function wide(table) {
  table.style.setProperty("--columns", files.length + 1);
  return table;
}

function comparePanel() {
  const only = el("input", { type: "checkbox", id: "only", checked: true });
  const lists = el("div", {});
  const draw = () => {
    lists.replaceChildren(...Object.entries(KINDS).map(([name, kind]) => {
      const all = differences[name];
      const rows = only.checked ? all.filter((row) => row.state !== "same") : all;
      if (!all.length) return "";
      const body = el("tbody", { "data-rows": "" });
      rows.slice(0, 2000).forEach((row) => body.append(...compareRow(kind, row)));
      return el("section", {}, heading(kind.title, rows.length ? `${all.filter((row) => row.state !== "same").length} of ${all.length} differ` : all.length === 1 ? (kind.alike || "the same") : `all ${all.length} ${kind.alike || "the same"}`),
        rows.length ? el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${kind.title} side by side` }, wide(el("table", { class: "compare" },
          el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Name"), ...files.map((file) => el("th", { scope: "col" }, file.short)))), body))) : null,
        rows.length > 2000 ? el("p", { class: "note" }, `and ${rows.length - 2000} more`) : null);
    }));
    const first = lists.querySelector("[data-row]");
    if (first) first.tabIndex = 0;
  };
  only.addEventListener("change", draw);
  draw();
  return el("div", { class: "compare-panel" }, heading("Side by side"), factsTable(),
    el("label", { class: "check", for: "only" }, only, " Only what differs"), lists);
}
