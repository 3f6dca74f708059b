// table.js - functions, kernels and files as tables that sort and filter. A row opens below itself, so that what
// few want to see costs no room; only what is looked at is drawn.

const parsedNeeds = new Map(); // many kernels have the same

function needs(kernel) {
  return kernel.figures.map((text) => {
    if (!parsedNeeds.has(text)) parsedNeeds.set(text, needsOf(text));
    return parsedNeeds.get(text);
  });
}

// A value of a kernel on one device, or the least and the most on all: {low, high}; "" none, "?" not known.
function figureOf(kernel, index, device) {
  const values = needs(kernel).filter((need) => !device || need.target === device).map((need) => need.values[index]).filter((value) => value !== "");
  const known = values.filter((value) => value !== "?");
  if (!known.length) return values.length ? "?" : "";
  return { low: Math.min(...known), high: Math.max(...known) };
}

function figureText(value, isBytes) {
  if (value === "") return "";
  if (value === "?") return "unknown";
  const { low, high } = value;
  const text = (n) => (isBytes ? bytes(n) : n.toLocaleString("en"));
  // one number a cell: which device has which, the open row tells
  return low === high ? text(high) : `up to ${text(high)}`;
}

// What a column sorts by: what is not known comes after all that is.
function figureRank(value) {
  return value === "" ? -2 : value === "?" ? -1 : value.high;
}

// Occupancy has columns of its own, with what limits it.
function kernelColumns(file, chosen) {
  const columns = page.figures.map((figure, index) => ({ figure, index })).filter(({ figure, index }) => !figure.is_percent && file.kernels.some((kernel) => needs(kernel).some((need) => need.values[index] !== "")));
  const withModule = new Set(file.kernels.map((kernel) => kernel.module)).size > 1;
  const targets = (kernel) => [...new Set(needs(kernel).map((need) => need.target).filter(Boolean))];
  return [
    ...(file.devices.length ? [{ title: "Devices", whole: true, text: (k) => { const list = targets(k); return list.length > 3 ? `${list.length} devices` : list.join(", "); }, hint: (k) => targets(k).join(", "), rank: (k) => targets(k).length }] : []),
    ...columns.map(({ figure, index }) => ({ title: figure.title, numeric: true, text: (k) => figureText(figureOf(k, index, chosen()), figure.is_bytes), rank: (k) => figureRank(figureOf(k, index, chosen())) })),
    ...(file.occupancy.size ? [{ title: "Occupancy", numeric: true, hint: () => "Share of the warps that a multiprocessor has room for, which run at once", text: (k) => { const list = occupancyOf(file, k, chosen()); return !list.length ? "" : list[0] === list[list.length - 1] ? `${list[0]}\u00a0%` : `from ${list[0]}\u00a0%`; }, rank: (k) => occupancyOf(file, k, chosen())[0] ?? -1 }] : []),
    ...(withModule ? [{ title: "Module", words: true, text: (k) => k.module, rank: (k) => k.module }] : []),
  ];
}

// Percent on each device, or on one, the least first.
function occupancyOf(file, kernel, device) {
  return needs(kernel).filter((need) => !device || need.target === device).map((need) => file.occupancy.get(`${kernel.name} ${need.target}`)).filter(Boolean).map((row) => row.percent).sort((a, b) => a - b);
}

// What blocks of other sizes would come to: a bar a size, the one that is computed with marked.
function blockChart(row) {
  const values = row.chart.split(" ").map(Number), width = 5, height = 34;
  return svg("svg", { class: "block-chart", width: values.length * width, height, viewBox: `0 0 ${values.length * width} ${height}`, role: "img",
    "aria-label": `Occupancy by block size: ${[0.25, 0.5, 1].map((part) => Math.max(1, Math.round(values.length * part))).map((warps) => `${values[warps - 1]} % with ${warps * row.lanes} threads`).join(", ")}` },
    ...values.map((value, i) => svg("rect", { x: i * width, y: height - Math.max(1, (height * value) / 100), width: width - 1, height: Math.max(1, (height * value) / 100), class: (i + 1) * row.lanes === Math.ceil(row.threads / row.lanes) * row.lanes ? "here" : null }, svg("title", {}, `${(i + 1) * row.lanes} threads: ${value} %`))));
}

function occupancyText(row) {
  const block = { given: "as asked", required: "which it requires", bound: "its bound", best: "the smallest that runs the most" }[row.block] || row.block;
  return `${row.percent}\u00a0% with blocks of ${row.threads} threads (${block})${row.limit === "none" ? "" : `; ${row.limit} limit it`}`;
}

// "scale<float>" and "(float*, int)": the parameters are what is between the last bracket and its partner.
function nameParts(label) {
  if (!label.endsWith(")")) return [label];
  let open = 0, at = label.length - 1;
  for (; at > 0; at--) {
    if (label[at] === ")") open++;
    else if (label[at] === "(" && !--open) break;
  }
  return at > 0 ? [label.slice(0, at), el("span", { class: "params" }, label.slice(at))] : [label];
}

const TABLE_BATCH = 100, PRINTED = 1000;

// A path breaks where its words end, unless one is too long for any column.
function breakable(path) {
  const words = path.split(/(?<=[_:/.])/);
  return words.some((word) => word.length > 20) ? [path] : words.flatMap((word) => [word, el("wbr", {})]);
}

// of: { what, items, columns, text: what a filter looks at, head: the first cell, detail: below an open row, devices,
// label: of an item, more: how to get all of a list that was cut for paper }
function dataTable(of) {
  const body = el("tbody", { "data-rows": "" });
  const more = el("button", { class: "more", type: "button" });
  const count = el("span", { class: "note", role: "status" });
  const columns = [{ title: of.first || "Name", text: of.label, rank: of.label }, ...of.columns];
  const view = { sort: -1, down: false, shown: of.items, drawn: 0 };
  const open = new Set();

  const filter = el("input", { type: "search", class: "filter", placeholder: `Filter ${of.what}s`, "aria-label": `Filter ${of.what}s by name`, autocomplete: "off", spellcheck: "false" });
  const heads = columns.map((column, i) => el("th", { scope: "col", class: column.numeric ? "numeric" : null },
    el("button", { type: "button", onclick: () => sortBy(i) }, column.title, el("span", { class: "arrow", "aria-hidden": "true" }))));
  const sorting = el("select", { class: "sorting", "aria-label": "Sort by", onchange: (event) => sortBy(Number(event.target.value), true) },
    el("option", { value: -1 }, "In the order of the file"), ...columns.map((column, i) => el("option", { value: i }, `By ${column.title.toLowerCase()}`)));

  function sortBy(index, keep) {
    const numeric = index >= 0 && columns[index].numeric;
    // numbers are asked for the largest first; the third click gives the order of the file
    if (view.sort !== index || keep) Object.assign(view, { sort: index, down: numeric });
    else if (view.down === numeric) view.down = !view.down;
    else view.sort = -1;
    sorting.value = String(view.sort);
    update();
    noteView();
    announce(view.sort < 0 ? "in the order of the file" : `sorted by ${columns[view.sort].title}, ${view.down ? "largest first" : "smallest first"}`);
  }

  function update() {
    const wanted = filter.value.trim().toLowerCase();
    const device = of.device ? of.device() : "";
    view.shown = of.items.filter((item) => (!wanted || of.text(item).toLowerCase().includes(wanted)) && (!device || of.on(item, device)));
    if (view.sort >= 0) {
      const { rank } = columns[view.sort], sign = view.down ? -1 : 1;
      const ranked = view.shown.map((item) => [rank(item), item]);
      ranked.sort(([a], [b]) => sign * (typeof a === "number" ? a - b : natural(a, b)));
      view.shown = ranked.map(([, item]) => item);
    }
    heads.forEach((head, i) => {
      if (i === view.sort) head.setAttribute("aria-sort", view.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    count.textContent = view.shown.length < of.items.length ? `${view.shown.length.toLocaleString("en")} of ${plural(of.items.length, of.what)}` : "";
    body.replaceChildren();
    view.drawn = 0;
    drawTo(TABLE_BATCH);
    if (body.firstChild) body.firstChild.tabIndex = 0;
  }

  function rowOf(item) {
    const link = el("a", { class: "name", href: of.address(item), title: of.hint ? of.hint(item) : null }, ...nameParts(of.label(item)));
    const row = el("tr", { "data-row": "", tabindex: "-1" }, el("th", { scope: "row" }, link, of.head ? of.head(item) : null),
      ...of.columns.map((column) => el("td", { class: column.numeric ? "numeric" : column.whole ? "whole" : column.words ? "words" : null, "data-label": column.title, title: column.hint ? column.hint(item) : null },
        ...(column.words ? breakable(column.text(item)) : [column.text(item)]))));
    row.item = item;
    row.addEventListener("click", (event) => {
      if (event.target.closest("a") || !window.getSelection().isCollapsed) return;
      if (of.go) of.go(item);
      else toggle(row);
    });
    if (open.has(item)) queueMicrotask(() => { if (row.isConnected && !row.detail) expand(row); });
    return row;
  }

  function expand(row) {
    open.add(row.item);
    row.detail = el("tr", { class: "below" }, el("td", { colspan: columns.length }, of.detail(row.item)));
    row.classList.add("open");
    row.after(row.detail);
  }

  function toggle(row) {
    if (!row.detail) return expand(row);
    open.delete(row.item);
    row.detail.remove();
    row.detail = null;
    row.classList.remove("open");
  }

  function drawTo(end) {
    const to = Math.min(view.shown.length, end);
    for (; view.drawn < to; view.drawn++) body.append(rowOf(view.shown[view.drawn]));
    more.hidden = view.drawn >= view.shown.length;
    more.textContent = `${plural(view.shown.length - view.drawn, "more row")}`;
  }

  filter.addEventListener("input", () => { update(); noteView(); });
  filter.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { filter.value = ""; update(); noteView(); }
    else if (event.key !== "ArrowDown" && event.key !== "Enter") return;
    if (event.key !== "Escape" && body.firstChild) focusRow(body.firstChild);
    event.preventDefault();
    event.stopPropagation();
  });
  more.addEventListener("click", () => drawTo(view.drawn + 5 * TABLE_BATCH));
  const table = el("div", { class: "data" },
    el("div", { class: "data-tools" }, of.items.length > 5 ? filter : null, of.chooser || null, of.items.length > 1 && columns.length > 1 ? sorting : null, count),
    el("table", { class: "data-table", "aria-label": of.title }, el("thead", {}, el("tr", {}, ...heads)), body), more,
    el("p", { class: "note on-paper" }));
  update();
  table.update = () => { update(); noteView(); };
  // what the reader made of the table, for the address of the page, and back; an address may say anything
  table.view = () => ({
    filter: filter.value || undefined,
    sort: view.sort < 0 ? undefined : `${view.down ? "-" : ""}${columns[view.sort].title}`,
    only: (of.device && of.device()) || undefined,
  });
  table.restore = ({ filter: typed, sort, only }) => {
    const down = (sort || "").startsWith("-"), at = columns.findIndex((column) => column.title === (sort || "").slice(down ? 1 : 0));
    filter.value = typed || "";
    Object.assign(view, { sort: at, down });
    sorting.value = String(at);
    if (of.setDevice) of.setDevice(only || "");
    update();
  };
  table.reveal = (item) => {
    let at = view.shown.indexOf(item);
    if (at < 0) {
      filter.value = "";
      if (of.setDevice) of.setDevice("");
      update();
      at = view.shown.indexOf(item);
    }
    drawTo(at + 1);
    const row = [...body.children].find((candidate) => candidate.item === item);
    if (row && !of.go && !row.detail) expand(row);
    return row;
  };
  // for paper: as many as somebody reads, and a word of those that are left out
  table.revealAll = () => {
    drawTo(PRINTED);
    const left = view.shown.length - view.drawn;
    table.querySelector(".on-paper").textContent = left > 0 ? `and ${plural(left, "more " + of.what)}${of.more ? `, which ${of.more} lists` : ""}` : "";
  };
  return table;
}

// --- what a file has to call ----------------------------------------------------------------------

function titleOfKernel(file, name) {
  const kernel = file.kernels.find((item) => item.name === name);
  return (kernel && kernel.title) || name;
}

// What a kernel needs on each device, where devices differ: a row for those that are alike.
function needsTable(kernel) {
  const list = kernel.figures ? needs(kernel) : [], of = (need) => current.occupancy.get(`${kernel.name} ${need.target}`);
  if (!list.length || (list.length < 2 && !of(list[0]))) return null;
  const shown = page.figures.map((figure, index) => ({ figure, index })).filter(({ figure, index }) => !figure.is_percent && list.some((need) => need.values[index] !== ""));
  const groups = new Map();
  for (const need of list.filter((one) => one.values.some((value) => value !== ""))) { // of PTX the driver decides
    const key = `${need.values.join("|")} ${of(need) ? `${of(need).percent} ${of(need).chart}` : ""}`;
    if (!groups.has(key)) groups.set(key, { need, targets: new Set() });
    groups.get(key).targets.add(need.target || need.format);
  }
  if (groups.size < 2 && !(groups.size && of([...groups.values()][0].need))) return null;
  const known = [...groups.values()].some(({ need }) => of(need));
  const value = (figure, n) => (n === "" ? "" : n === "?" ? "unknown" : figure.is_bytes ? bytes(n) : n.toLocaleString("en"));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "What it needs on each device" }, el("table", { class: "plain-table" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "On"), ...shown.map(({ figure }) => el("th", { scope: "col", class: "numeric" }, figure.title)), known ? el("th", { scope: "col" }, "Occupancy, and by size of blocks") : null)),
    el("tbody", {}, ...[...groups.values()].sort((a, b) => byDevice([...a.targets][0], [...b.targets][0])).map(({ need, targets }) =>
      el("tr", {}, el("th", { scope: "row" }, [...targets].sort(byDevice).join(", ")), ...shown.map(({ figure, index }) => el("td", { class: "numeric" }, value(figure, need.values[index]))), known ? el("td", { class: "occupied" }, ...(of(need) ? [blockChart(of(need)), el("div", {}, occupancyText(of(need)))] : [])) : null)))));
}

// Below an open row: all that is known, and the command that calls it.
function itemDetail(item, what) {
  const lines = (item.lines || "").trimEnd();
  return el("div", { class: "detail-of" },
    item.title ? el("p", { class: "note" }, "Symbol ", el("code", {}, item.name)) : null,
    el("p", { class: "note" }, [what, item.module, item.member, item.bytes ? bytes(item.bytes) : ""].filter(Boolean).join("  \u00b7  "),
      item.signature || lines ? "" : item.figures?.length ? "  \u00b7  all of it: minspect functions" : "  \u00b7  the file does not tell what it takes"),
    item.doc ? el("p", { class: "doc" }, item.doc) : null,
    signatureOf(item).length > SIGNATURE_MOST ? el("details", { class: "lines-too" }, el("summary", {}, "All that it takes"), el("pre", { class: "lines-of", tabindex: "0", role: "region", "aria-label": "All that it takes" }, signatureOf(item).split(/, (?=[^,()[\]]+: )/).join(",\n  "))) : null,
    ...(needsTable(item) ? [needsTable(item), lines ? el("details", { class: "lines-too" }, el("summary", {}, "All that its code says"), el("pre", { class: "lines-of" }, lines)) : null] : [lines ? el("pre", { class: "lines-of" }, lines) : null]),
    item.call ? command(item.call, `the command that calls ${item.name}`) : null,
    listingOf(current, item.name) ? el("p", {}, el("button", { type: "button", class: "link", onclick: () => open.code(listingOf(current, item.name)) }, "Machine code")) : null);
}

function signatureOf(item) {
  return item.signature && item.signature.startsWith(item.name) ? item.signature.slice(item.name.length) : "";
}

function chips(item) {
  return [item.entry ? chip("entry") : null, item.alias_of ? chip(`is ${item.alias_of}`) : null, item.device && item.device !== "cpu" ? chip(item.device) : null, mark(item)];
}

const SIGNATURE_MOST = 600; // characters of a signature in a row

// A model may take a thousand weights: a row has the first few, and what comes out.
function shortSignature(signature) {
  if (signature.length <= SIGNATURE_MOST) return signature;
  const parts = signature.split(/, (?=[^,()[\]]+: )/), SHOWN = 6, result = signature.lastIndexOf(") -> ");
  if (parts.length <= SHOWN) return `${signature.slice(0, SIGNATURE_MOST)}\u2026`;
  return `${parts.slice(0, SHOWN).join(", ")}, \u2026 and ${plural(parts.length - SHOWN, "more parameter")}${result < 0 ? ")" : signature.slice(result)}`;
}

function headOf(item) {
  const signature = shortSignature(signatureOf(item));
  return el("span", { class: "rest" }, signature, " ", ...chips(item));
}

// Sets a list to one of its values; of any other to the first, which is all of them.
function choose(list, value) {
  if (list) list.value = [...list.options].some((option) => option.value === value) ? value : "";
}

function deviceChooser(file, redraw) {
  if (file.devices.length < 2) return null;
  return el("select", { class: "device", "aria-label": "Device", onchange: redraw }, el("option", { value: "" }, "All devices"), ...file.devices.map((device) => el("option", { value: device }, device)));
}

function kernelTable(file) {
  let table = null;
  const chooser = deviceChooser(file, () => table.update());
  const device = () => (chooser ? chooser.value : "");
  table = dataTable({
    what: "kernel", title: "Kernels", items: file.kernels, columns: kernelColumns(file, device), chooser, device, label: (k) => k.title || k.name, hint: (k) => (k.title ? k.name : null),
    on: (k, wanted) => needs(k).some((need) => need.target === wanted), setDevice: (device) => choose(chooser, device),
    text: (k) => `${k.name} ${k.title || ""} ${k.module}`, head: headOf, address: (k) => addressOf("functions", named("kernels", k)), detail: (k) => itemDetail(k, "kernel"), more: `minspect functions ${shell(file.name)}`,
  });
  return table;
}

function functionTable(file, kind, what) {
  const items = file[kind], withModule = new Set(items.map((item) => item.module)).size > 1;
  const sized = items.some((item) => item.bytes);
  return dataTable({
    what, title: `${what}s`, items, label: (f) => f.name, text: (f) => `${f.name} ${f.signature || ""}`, head: headOf, address: (f) => addressOf("functions", named(kind, f)),
    columns: [...(sized ? [{ title: "Code", numeric: true, text: (f) => (f.bytes ? bytes(f.bytes) : ""), rank: (f) => Number(f.bytes || 0) }] : []), ...(withModule ? [{ title: "Module", words: true, text: (f) => f.module, rank: (f) => f.module }] : [])],
    detail: (f) => itemDetail(f, what), more: `minspect functions ${shell(file.name)}`,
  });
}

function functionsPanel(file) {
  const panel = el("div", { class: "functions" });
  const tables = {};
  const groups = [["models", "Model functions", "model function"], ["functions", "Host functions", "host function"], ["kernels", "Kernels", "kernel"]];
  for (const [name, title, what] of groups) {
    if (!file[name].length) continue;
    tables[name] = name === "kernels" ? kernelTable(file) : functionTable(file, name, what);
    panel.append(el("section", {}, heading(title, file[name].length.toLocaleString("en")), tables[name]));
  }
  if (file.cut_rows) panel.append(el("p", { class: "cut" }, "There is no room for more of this library here. All kernels: ", el("code", {}, `minspect functions ${shell(file.name)}`)));
  panel.tables = tables;
  panel.reveal = (kind, item) => tables[kind].reveal(item);
  panel.revealAll = () => Object.values(tables).forEach((table) => table.revealAll());
  return panel;
}

// --- what differs between two files ---------------------------------------------------------------

const CHANGES = { removed: "error", added: "fine", changed: "warning" };

function figureChanges(figures) {
  const value = (row, n) => (n === null ? "unknown" : n === undefined ? "" : row.is_bytes ? bytes(n) : `${Number(n).toLocaleString("en")}${row.is_percent ? "\u00a0%" : ""}`);
  return el("table", { class: "figure-changes" }, el("tbody", {}, ...Object.entries(figures).map(([word, { before, after }]) => {
    const row = page.figures.find((figure) => figure.word === word) || { label: word };
    const grew = Number(before) && after !== null ? ((100 * (after - before)) / before) : NaN;
    return el("tr", {}, el("th", { scope: "row" }, row.label), el("td", { class: "numeric" }, value(row, before)), el("td", { class: "numeric" }, value(row, after)),
      el("td", { class: "numeric" }, Number.isFinite(grew) ? `${grew > 0 ? "+" : ""}${grew.toFixed(1)}\u00a0%` : ""));
  })));
}

// Hunks of the unified format.
function hunks(text, label) {
  const kind = { "+": "added", "-": "removed", "@": "gap" };
  return el("pre", { class: "hunks", tabindex: "0", role: "region", "aria-label": label }, ...linesOf(text).map((line) => el("span", { class: kind[line[0]] || null }, `${line}\n`)));
}

function differenceDetail(item) {
  return el("div", { class: "detail-of" }, item.text ? el("p", {}, item.text) : null,
    item.figures && Object.keys(item.figures).length ? figureChanges(item.figures) : null, item.diff ? hunks(item.diff, `Lines of ${item.name || item.what} that differ`) : null,
    !item.text && !item.diff ? el("p", { class: "note" }, item.change === "removed" ? "The newer file has it no more." : item.change === "added" ? "The older file did not have it." : "Its bytes differ.") : null);
}

function growth(before, after) {
  const by = after - before;
  return by ? `${by > 0 ? "+" : "\u2212"}${bytes(Math.abs(by))}, ${by > 0 ? "+" : "\u2212"}${((100 * Math.abs(by)) / (before || 1)).toFixed(1)}\u00a0%` : "as large";
}

function diffPanel() {
  const items = page.diff.differences, [older, newer] = files;
  if (!items.length) return el("div", {}, heading("What differs"), empty(`${older.short} and ${newer.short} are the same.`));
  const count = (change) => items.filter((item) => item.change === change).length;
  const place = (item) => [item.path, item.new_path].filter(Boolean).join(" \u2192 ");
  const kinds = el("select", { "aria-label": "Which changes", onchange: () => table.update() }, el("option", { value: "" }, "All changes"), ...Object.keys(CHANGES).filter(count).map((change) => el("option", { value: change }, `${change}: ${count(change)}`)));
  const table = dataTable({
    what: "difference", title: "What differs", items, label: (d) => d.name || d.what, text: (d) => `${d.name || ""} ${d.what} ${d.text || ""} ${d.target || ""}`,
    head: (d) => el("span", { class: "rest" }, " ", chip(d.change, CHANGES[d.change])), address: () => addressOf("diff", {}), detail: differenceDetail,
    chooser: kinds, device: () => kinds.value, on: (d, change) => d.change === change, setDevice: (change) => choose(kinds, change),
    columns: [{ title: "What", text: (d) => d.what, rank: (d) => d.what }, ...(items.some(place) ? [{ title: "Where", whole: true, text: place, rank: place }] : []),
      ...(items.some((d) => d.target) ? [{ title: "Device", text: (d) => d.target || "", rank: (d) => d.target || "" }] : []),
      { title: "How", text: (d) => excerptEnd(d.text || "", 90), rank: (d) => d.text || "" }],
    more: `minspect diff ${shell(older.name)} ${shell(newer.name)}`,
  });
  const panel = el("div", { class: "diff-panel" }, heading("What differs", items.length),
    factList(fact("Older", el("code", {}, older.name), `  ${bytes(older.bytes)}`), fact("Newer", el("code", {}, newer.name), `  ${bytes(newer.bytes)}, ${growth(older.bytes, newer.bytes)}`)), table);
  panel.tables = { changes: table };
  panel.revealAll = table.revealAll;
  return panel;
}

function excerptEnd(text, most) {
  const line = text.split("\n")[0];
  return line.length > most ? `${line.slice(0, most)}\u2026` : line;
}
