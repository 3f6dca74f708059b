// search.js - one field over everything: files, sections, functions, kernels, modules, tensors, operators, findings,
// lines of texts. Several words must all be there; /.../ is a regular expression.

// What is typed as a test of a text, and where in a text the first match is: { test(text), at(text) -> [from, length] or
// null, problem }. Texts are folded to lower case by whoever asks for words; a regular expression ignores case itself.
function queryOf(typed) {
  const pattern = /^\/(.+)\/$/.exec(typed);
  if (pattern) {
    try {
      const expression = new RegExp(pattern[1], "iu");
      return { pattern: expression, test: (text) => expression.test(text), at: (text) => { const m = expression.exec(text); return m && m[0] ? [m.index, m[0].length] : null; } };
    } catch (error) {
      return { problem: error.message };
    }
  }
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  return {
    words, test: (text) => words.every((word) => text.includes(word)),
    at: (text) => { const folded = text.toLowerCase(), at = folded.length === text.length ? folded.indexOf(words[0]) : -1; return at < 0 ? null : [at, words[0].length]; },
  };
}

const PER_KIND = 30;

// What can be found besides lines of texts; made when the field is first used.
function entries(file) {
  const list = [];
  const add = (kind, name, more, go) => list.push({ kind, name, more, go, folded: `${name} ${more}`.toLowerCase() });
  add("file", file.short, file.name === file.short ? "" : file.name, (open) => open.file(file));
  sectionsOf(file).forEach((node) => add("section", node.name, bytes(node.bytes), (open) => open.size(node)));
  file.models.forEach((m) => add("model", m.name, m.signature || "", (open) => open.named("models", m)));
  file.functions.forEach((f) => add("function", f.name, f.signature || "", (open) => open.named("functions", f)));
  file.kernels.forEach((k) => add("kernel", k.title || k.name, `${k.title ? `${k.name} ` : ""}${k.module} ${k.signature || ""}`, (open) => open.named("kernels", k)));
  file.tree.forEach((m, i) => add("module", m.path, `${m.kind} ${m.title} ${m.format || ""}`, (open) => open.module(i)));
  file.tensors.forEach((t) => add("tensor", t.title || t.name, `${t.module} ${t.dtype} ${t.shape.join("x")}`, (open) => (file.weights ? open.tensor(t) : open.module(file.byPath.get(t.module), t))));
  file.texts.forEach((t) => add("text", t.title, `${t.module} ${LANGUAGE_NAMES[t.language]}`, (open) => open.text(t)));
  listings(file).forEach((l) => add("machine code", l.title, `${l.path} ${l.target || l.format}`, (open) => open.code(l)));
  file.findings.forEach((f) => add("finding", f.message, f.check, (open) => open.finding(f)));
  file.graphs.forEach((g) => g.nodes.forEach((n, i) => add("graph node", n.label, n.detail || "", (open) => open.graph(g, i))));
  return list;
}

// The sections of a file are the first things in its map.
function sectionsOf(file) {
  return file.map && file.map.length ? sizeMap(file).children.filter((node) => node.name) : [];
}

// Lines for a query of several words or a regular expression: each line is looked at.
function findLinesBy(query, file, found) {
  for (const part of file.texts) {
    const lines = linesOf(part.text);
    for (let number = 0; number < lines.length && found.length < PER_KIND; number++) {
      const line = query.pattern ? lines[number] : lines[number].toLowerCase();
      if (query.test(line)) found.push({ kind: "line", name: lines[number].trim().slice(0, 160), more: `${part.title}:${number + 1}`, file, go: (open) => open.text(part, number) });
    }
    if (found.length >= PER_KIND) return;
  }
}

function findLines(file, wanted, found) {
  for (const part of file.texts) {
    part.folded = part.folded || part.text.toLowerCase();
    let line = 0, from = 0;
    for (let at = part.folded.indexOf(wanted); at >= 0 && found.length < PER_KIND; at = part.folded.indexOf(wanted, at)) {
      for (let end = part.text.indexOf("\n", from); end >= 0 && end < at; end = part.text.indexOf("\n", from)) { line++; from = end + 1; }
      const end = part.text.indexOf("\n", at);
      const text = part.text.slice(from, end < 0 ? undefined : end).trim();
      const number = line;
      found.push({ kind: "line", name: excerpt(text, wanted, 40).slice(0, 160), more: `${part.title}:${number + 1}`, file, go: (open) => open.text(part, number) });
      if (end < 0) break;
      at = end + 1; // one result a line
    }
    if (found.length >= PER_KIND) return;
  }
}

function find(query, current) {
  const counts = new Map(), out = [];
  const wanted = query.words && query.words.length === 1 ? query.words[0] : null;
  for (const file of [current, ...files.filter((other) => other !== current)]) {
    file.entries = file.entries || entries(file);
    // names that begin with what is wanted, then names that have it, then the rest
    const rank = (entry) => { const at = query.at(entry.name); return !at ? 2 : at[0] === 0 ? 0 : 1; };
    for (const entry of file.entries.filter((e) => (query.pattern ? query.test(e.name) || query.test(e.more) : query.test(e.folded))).sort((a, b) => rank(a) - rank(b))) {
      const count = counts.get(entry.kind) || 0;
      counts.set(entry.kind, count + 1);
      if (count < PER_KIND) out.push({ ...entry, file });
    }
  }
  const lines = [];
  for (const file of [current, ...files.filter((other) => other !== current)]) if (wanted) findLines(file, wanted, lines); else findLinesBy(query, file, lines);
  return [...out, ...lines];
}

// The found piece of a name in bold, where it is not cut off.
function marked(whole, query) {
  const found = query.at(whole);
  const text = found ? excerpt(whole, whole.slice(found[0], found[0] + found[1]).toLowerCase(), 40) : whole;
  const place = query.at(text);
  if (!place) return [text];
  const [at, length] = place;
  return [text.slice(0, at), el("mark", {}, text.slice(at, at + length)), text.slice(at + length)];
}

function setUpSearch(currentFile, go) {
  const field = byId("search"), list = byId("results");
  let results = [], at = -1, timer = 0;

  function select(next) {
    const old = list.querySelector("[aria-selected=true]");
    if (old) old.setAttribute("aria-selected", "false");
    at = results.length ? (next + results.length) % results.length : -1;
    const row = at >= 0 ? byId(`result-${at}`) : null;
    if (!row) return field.removeAttribute("aria-activedescendant");
    row.setAttribute("aria-selected", "true");
    row.scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", row.id);
  }

  function close() {
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  }

  function choose(index) {
    const result = results[index];
    close();
    field.blur();
    if (result) go(result);
  }

  function update() {
    noteView();
    const typed = field.value.trim(), query = queryOf(typed);
    if (!typed) return close();
    results = query.problem ? [] : find(query, currentFile());
    const lineOf = (name) => name.split("\n").find((line) => query.at(line)) || name.split("\n")[0];
    list.replaceChildren(...(results.length ? results.map((result, i) =>
      el("div", { class: "result", role: "option", id: `result-${i}`, "aria-selected": "false", onclick: () => choose(i) },
        chip(result.kind, `k-${result.kind.replaceAll(" ", "-")}`), el("span", { class: "name" }, ...marked(lineOf(result.name), query)),
        el("span", { class: "context" }, files.length > 1 ? `${result.file.short}  ` : "", ...marked(result.more.replace(/\s*\n\s*/g, "  "), query))))
      : [el("div", { class: "result none" }, query.problem ? `No regular expression: ${query.problem}` : "Nothing has that in its name or text.")]));
    list.hidden = false;
    field.setAttribute("aria-expanded", "true");
    announce(plural(results.length, "result"));
    select(0);
  }

  field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(update, 60); });
  field.addEventListener("focus", () => field.value.trim() && update());
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") select(at + 1);
    else if (event.key === "ArrowUp") select(at - 1);
    else if (event.key === "Enter") { clearTimeout(timer); update(); choose(Math.max(0, at)); }
    else if (event.key === "Escape") { close(); field.value = ""; field.blur(); noteView(); }
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  document.addEventListener("click", (event) => event.target.closest("#find") || close());
}
