// machine.js - machine code beside source. Lines of both that belong to the same line of a source have one colour, and
// pointing at one marks the other.

// What a line number in debug information counts in: the last part of the path, as files are moved after they are compiled.
const lineKey = (path, line) => `${basename(path)}:${line}`;

// The source line of each line of a listing; undefined where none is told.
function keysOfCode(lines) {
  const files = new Map();
  let key;
  return lines.map((line) => {
    let m;
    if ((m = /^; (.*):(\d+)$/.exec(line)) || (m = /^\s*\/\/## File "(.*?)", line (\d+)/.exec(line))) key = lineKey(m[1], m[2]);
    else if ((m = /^\s*\.file\s+(\d+)\s+"(.*?)"/.exec(line))) files.set(m[1], m[2]);
    else if ((m = /^\s*\.loc\s+(\d+)\s+(\d+)/.exec(line))) key = files.has(m[1]) || !files.size ? lineKey(files.get(m[1]) || m[1], m[2]) : undefined;
    else if (/^\s*\.(?:visible |weak )*\.?entry\b|^\s*\.visible|^[\da-f]{16} </.test(line)) key = undefined;
    return key;
  });
}

// .file of PTX stands at its end: read before the lines are.
function keysOfText(part) {
  if (part.source) return linesOf(part.text).map((_, i) => lineKey(part.name, i + 1));
  if (part.language !== "ptx") return linesOf(part.text).map((_, i) => lineKey(part.title || part.name, i + 1));
  const tables = linesOf(part.text).filter((line) => /^\s*\.file\s/.test(line));
  return keysOfCode([...tables, ...linesOf(part.text)]).slice(tables.length);
}

// Pieces of one listing are put together; what nvdisasm prints of a cubin is cut into its kernels.
function listings(file) {
  if (file.listings) return file.listings;
  const whole = [];
  for (const row of hydrate(file.code, page.columns.code)) {
    const last = whole[whole.length - 1];
    if (last && row.name && ["path", "name", "format", "target"].every((member) => last[member] === row[member])) last.text += row.text;
    else whole.push(row);
  }
  file.listings = whole.flatMap((row) => {
    if (row.format !== "cubin") return [row];
    const pieces = row.text.split(/^\/\/-{5,} \.text\.(\S+) +-+$/m);
    return pieces.length < 3 ? [row] : pieces.slice(1).reduce((list, piece, i) => (i % 2 ? list[list.length - 1].text = piece.replace(/^\n/, "") : list.push({ ...row, name: piece }), list), []);
  });
  // what runs on a device first: there are fewer of them, and more to see
  file.listings.sort((a, b) => (b.target !== undefined && b.target !== "") - (a.target !== undefined && a.target !== ""));
  for (const listing of file.listings) {
    // nvdisasm leaves a wide margin, and begins with what an assembler is told
    if (listing.format === "cubin") listing.text = listing.text.replace(/^\t\.(?:section|align)\b.*\n|^ +\.(?:global|type|size|other)\b.*\n/gm, "").replace(/^\s*(\/\*[\da-f]{4,}\*\/) +/gm, "    $1  ").replace(/^\t(?=\/\/##)/gm, "");
    listing.title = (listing.name && titleOfKernel(file, listing.name)) || listing.path;
    listing.language = listing.format === "cubin" ? "sass" : listing.format === "spirv" ? "llvm" : "asm";
  }
  return file.listings;
}

// What can stand beside a listing, the best first: sources that its lines name, then texts of the same module.
function companions(file, listing, keys) {
  const named = new Set(keys.filter(Boolean).map((key) => key.slice(0, key.lastIndexOf(":"))));
  const given = (page.sources || []).map((source) => ({ ...source, source: true, title: basename(source.name) }));
  const byLines = [...given, ...file.texts].filter((part) => named.has(basename(part.title || part.name)));
  // code of the host is of no text for a device, whatever names they share, and the other way round
  const isHost = !listing.target && listing.language === "asm";
  const fits = (part) => !byLines.includes(part) && part.language !== "json" && (isHost ? ["c", "llvm", "text"].includes(part.language) : part.language !== "bytecode");
  const near = file.texts.filter((part) => fits(part) && part.module === listing.path && (!listing.name || part.text.includes(listing.name)));
  const other = isHost ? [] : file.texts.filter((part) => fits(part) && !near.includes(part) && listing.name && part.text.includes(listing.name));
  return [...byLines, ...near, ...other.slice(0, 5)];
}

// Beside each line of the source how many of the kernel's instructions are of it, and what they do.
function markWork(listing, pane) {
  const work = new Map();
  for (const [name, file, line, all, of, what] of listing.work || [])
    if (!listing.name || name === listing.name) work.set(lineKey(file, line), { all, of, what });
  pane.keys.forEach((key, i) => {
    const found = key && work.get(key);
    if (!found) return;
    const line = pane.view.lineAt(i), share = Math.round(100 * found.all / found.of);
    line.dataset.work = `${found.all} \u00b7 ${share} %`;
    line.title = `${found.all} of ${found.of} instructions${found.what ? `; ${found.what}` : ""}`;
    line.style.setProperty("--share", `${share}%`);
    pane.view.classList.add("worked");
  });
}

const TINTS = 6;

// Gives lines of one key their colour, in each pane that has it.
function tie(panes) {
  const counts = new Map();
  for (const pane of panes) for (const key of new Set(pane.keys.filter(Boolean))) counts.set(key, (counts.get(key) || 0) + 1);
  const tints = new Map();
  for (const pane of panes)
    pane.keys.forEach((key, i) => {
      if (!key || (panes.length > 1 && counts.get(key) < 2)) return;
      if (!tints.has(key)) tints.set(key, tints.size % TINTS);
      const line = pane.view.lineAt(i);
      line.classList.add("tinted", `tint-${tints.get(key)}`);
      line.key = key;
    });
  const held = { key: null };
  const mark = (key) => {
    for (const pane of panes) {
      for (const old of pane.view.querySelectorAll(".tied")) old.classList.remove("tied");
      if (key) pane.keys.forEach((other, i) => { if (other === key) pane.view.lineAt(i).classList.add("tied"); });
    }
  };
  const choose = (key, from) => {
    held.key = key;
    mark(key);
    for (const pane of panes) {
      const first = pane.keys.indexOf(key);
      if (pane !== from && first >= 0) pane.view.scrollTop = pane.view.lineAt(first).offsetTop - pane.view.offsetTop - pane.view.clientHeight / 3;
    }
  };
  for (const pane of panes) {
    const lineOf = (event) => event.target.closest(".line");
    pane.view.addEventListener("mouseover", (event) => { const line = lineOf(event); mark((line && line.key) || held.key); });
    pane.view.addEventListener("mouseleave", () => mark(held.key));
    pane.view.addEventListener("click", (event) => { const line = lineOf(event); if (line && line.key && window.getSelection().isCollapsed) choose(line.key, pane); });
  }
  const order = [...tints.keys()];
  return (by) => {
    if (!order.length) return;
    const at = order.indexOf(held.key);
    choose(order[at < 0 ? 0 : Math.min(order.length - 1, Math.max(0, at + by))]);
    announce(held.key);
  };
}

function codePanel(file, open) {
  const all = listings(file);
  const said = file.code_problems.map((text) => el("p", { class: "cut" }, text));
  if (file.code_is_cut) said.push(el("p", { class: "cut" }, "There is no room for all of it. The rest: ", el("code", {}, `minspect disasm NAME ${shell(file.name)}`)));
  if (!all.length) return el("div", {}, heading("Machine code"), ...said);
  const list = el("div", { class: "rows", "data-rows": "", role: "listbox", "aria-label": "Functions and kernels" });
  const stage = el("div", { class: "text-stage" });
  const panel = el("div", { class: "texts split machine" }, el("section", {}, heading("Machine code", all.length), ...said, list), stage);
  let shown = null, step = null;

  function draw(listing, besideIndex) {
    const lines = linesOf(listing.text), keys = keysOfCode(lines), choices = companions(file, listing, keys);
    const part = choices[besideIndex];
    const code = codeView(listing.text, listing.language, `Machine code of ${listing.title}`);
    const panes = [{ view: code, keys }];
    if (part) panes.unshift({ view: codeView(part.text, part.language, part.title || part.name), keys: keysOfText(part) });
    const choice = el("select", { "aria-label": "What stands beside it", onchange: (event) => draw(listing, Number(event.target.value)) },
      ...choices.map((other, i) => el("option", { value: i }, `beside ${other.title || other.name}`)), el("option", { value: choices.length }, "alone"));
    choice.value = String(Math.min(besideIndex, choices.length));
    step = tie(panes);
    if (part && part.source) markWork(listing, panes[0]);
    const tied = code.querySelectorAll(".tinted").length;
    stage.replaceChildren(
      el("div", { class: "text-head" }, el("h2", { title: listing.name }, listing.title), el("span", { class: "note" }, [listing.path, listing.format === "cubin" ? "SASS" : listing.format, listing.target, plural(lines.length, "line")].filter(Boolean).join("  \u00b7  ")), choices.length ? choice : "", copyButton(listing.text, "the listing")),
      el("p", { class: "note" }, tied ? "Point at a line to see what belongs to it; a click brings it into view, j and k walk through the source lines."
        : keys.some(Boolean) ? "Its debug information names lines of a source that is not here: --source FILE shows it beside."
          : "It has no debug information that would tie it to source lines: -g, or -lineinfo of nvcc, makes some."),
      el("div", { class: panes.length > 1 ? "panes two" : "panes" }, ...panes.map((pane) => pane.view)));
    const first = part && panes[0].keys.findIndex((key, i) => panes[0].view.lineAt(i).key);
    if (first > 0) panes[0].view.scrollTop = panes[0].view.lineAt(first).offsetTop - panes[0].view.offsetTop - 60;
    else if (part && !tied && listing.name) { const at = linesOf(part.text).findIndex((line) => line.includes(listing.name)); if (at > 0) panes[0].view.scrollTop = panes[0].view.lineAt(at).offsetTop - panes[0].view.offsetTop - 20; }
  }

  panel.show = (listing) => {
    if (shown !== listing) {
      shown = listing;
      draw(listing, 0);
      list.reveal(all.indexOf(listing));
      for (const row of list.querySelectorAll("[data-row]")) row.setAttribute("aria-selected", String(row.item === listing));
    }
    open.address({ code: listing.name || undefined, module: listing.path, target: listing.target || undefined });
  };
  lazyRows(list, all, (listing) => {
    const row = el("div", { class: "row opens text-row", "data-row": "", tabindex: "-1", role: "option", "aria-selected": "false", title: listing.name, onclick: () => panel.show(listing) },
      el("span", { class: "name" }, listing.title), el("span", { class: "what" }, [listing.path, listing.target || listing.format].filter(Boolean).join("  ")));
    row.item = listing;
    return row;
  });
  panel.shown = () => shown || panel.show(all[0]);
  panel.step = (by) => step && step(by);
  return panel;
}

function listingOf(file, name, target) {
  const list = listings(file).filter((listing) => listing.name === name);
  return list.find((listing) => listing.target === target) || list[list.length - 1];
}
