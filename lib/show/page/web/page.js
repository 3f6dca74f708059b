// page.js - the views around the panels: which file, which view, which colours, which key.

// A view that a file has nothing for is not offered for it.
const TABS = [
  ["diff", "What differs", () => (page.sets ? releasesPanel() : diffPanel()), () => page.sets !== undefined || (files.length === 2 && page.diff !== undefined)],
  ["files", "All files", () => filesPanel(), () => set !== null || files.length > 2],
  ["graphs", "Graphs of both", () => graphDiffPanel(), () => graphPairs().length > 0],
  ["compare", "Side by side", () => comparePanel(), () => compares],
  ["overview", "Overview", overviewPanel, () => true],
  ["sizes", "Sizes", sizesPanel, () => true],
  ["tensors", "Tensors", tensorsPanel, (file) => file.weights !== undefined],
  ["functions", "Functions", functionsPanel, (file) => file.functions.length + file.models.length + file.kernels.length > 0],
  ["texts", "Sources", textsPanel, (file) => file.texts.length > 0],
  ["code", "Machine code", codePanel, (file) => file.code.length + file.code_problems.length > 0],
  ["graph", "Graph", graphPanel, (file) => file.graphs.length > 0],
  ["memory", "Memory", memoryPanel, (file) => file.memory.length > 0],
  ["profile", "Profile", () => profilePanel(), () => times !== null && times.size > 0],
  ["findings", "Findings", findingsPanel, () => true],
];
const OF_ALL = ["files", "diff", "graphs", "compare", "profile"]; // files together

const APART = ["texts", "code", "graph", "graphs"]; // printed alone

function openTabs(file) {
  return TABS.filter(([, , , has]) => has(file || current)).map(([name]) => name);
}

let current = files[0], shownTab = null;
const panels = new Map(); // "file tab" -> element

function panelOf(file, name) {
  const id = OF_ALL.includes(name) ? name : `${file.index} ${name}`;
  if (!panels.has(id)) {
    const panel = TABS.find((tab) => tab[0] === name)[2](file, open);
    fill(panel, { role: "tabpanel", id: `panel-${id.replace(" ", "-")}`, "aria-labelledby": `tab-${name}`, hidden: true, "data-file": OF_ALL.includes(name) ? null : file.index }, []);
    panel.tab = name;
    panels.set(id, panel);
    byId("main").append(panel);
  }
  return panels.get(id);
}

function showTab(name, focus) {
  const panel = panelOf(current, name);
  for (const other of panels.values()) other.hidden = other !== panel;
  for (const tab of byId("tabs").children) {
    const on = tab.id === `tab-${name}`;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
    if (on) tab.setAttribute("aria-controls", panel.id);
    else tab.removeAttribute("aria-controls");
    if (on && focus) tab.focus();
    if (on) tab.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  shownTab = name;
  markFile();
  open.address({});
  if (panel.shown) panel.shown();
  return panel;
}

// Which file is shown; none where a view has all of them.
function markFile() {
  const index = OF_ALL.includes(shownTab) ? -1 : current.index;
  for (const [i, button] of [...byId("files").querySelectorAll("button")].entries()) button.setAttribute("aria-pressed", String(i === index));
  if (byId("file-choice")) byId("file-choice").value = String(index);
}

function showFile(file) {
  current = file;
  byId("last").textContent = String(openTabs(file).length);
  markFile();
  for (const tab of byId("tabs").children) {
    tab.hidden = !openTabs(file).includes(tab.name);
    const [calls, kernels] = [file.functions.length + file.models.length, file.kernels.length];
    const count = { tensors: file.tensors.length, functions: [calls, kernels].filter(Boolean).join(" + "), texts: file.texts.length, code: listings(file).length, graph: file.graphs.length, findings: file.verify.errors + file.verify.warnings }[tab.name];
    tab.querySelector(".count").textContent = count ? String(count) : "";
    if (tab.name === "functions") tab.title = `${plural(calls, "function")}, ${plural(kernels, "kernel")}`;
  }
}

// Where links and search results lead to.
const open = {
  tab: (name) => showTab(name),
  module(index, part) {
    const panel = showTab("overview");
    const row = panel.select(index);
    if (row) focusRow(row);
    open.address({ module: current.tree[index] && current.tree[index].path });
    const list = part && panel.querySelector(".module .parts");
    const found = list && list.reveal(current.parts.filter((p) => p.module === part.module).indexOf(part));
    if (found) { focusRow(found); flash(found); }
  },
  named(kind, item) {
    const row = showTab("functions").reveal(kind, item);
    focusRow(row);
    row.scrollIntoView({ block: "center" });
    flash(row);
    open.address(named(kind, item));
  },
  size: (node) => showTab("sizes").zoomTo(node),
  tensor(tensor) {
    const row = showTab("tensors").reveal(tensor);
    focusRow(row);
    flash(row);
  },
  address: noteAddress,
  file(file) {
    showFile(file);
    showTab("overview");
  },
  // the kernels of a file for a device, or for the first of several that it has
  device(file, targets) {
    if (file !== current) showFile(file);
    const panel = showTab(openTabs().includes("functions") ? "functions" : "overview");
    const target = targets.find((name) => file.devices.includes(name));
    if (panel.tables && panel.tables.kernels && target) panel.tables.kernels.restore({ only: target });
    open.address({});
  },
  kernel(name, module) {
    const kernel = current.kernels.find((k) => k.name === name && (!module || k.module === module)) || current.kernels.find((k) => k.name === name);
    if (kernel) open.named("kernels", kernel);
  },
  code: (listing) => showTab("code").show(listing),
  text: (part, line) => showTab("texts").show(part, line),
  graph: (graph, node) => showTab("graph").show(graph, node),
  finding(finding) {
    const row = showTab("findings").reveal(finding);
    focusRow(row);
    flash(row);
  },
};

// --- addresses ----------------------------------------------------------------------------------

// What is shown stands behind the # of the page's address, so that it can be sent and the browser's "back"
// works: file, view, and of the view a module, a function, a source or a graph. Whoever made an address may
// have written anything: it is compared with names that the page has, and never becomes part of it.
const WORDS = { models: "model", functions: "function", kernels: "kernel" };

function named(kind, item) {
  return { [WORDS[kind]]: item.name, module: item.module };
}

function addressOf(view, place) {
  const parts = { file: current.index ? current.index + 1 : undefined, view, ...place };
  return "#" + new URLSearchParams(Object.entries(parts).filter(([, value]) => value !== undefined && value !== null)).toString().replaceAll("%2F", "/");
}

let wanted = null, following = false, here = {};

// What is searched, filtered and sorted: "kernels.sort=-Registers".
function madeOfView() {
  const made = { find: byId("search").value.trim() || undefined };
  const panel = panels.size && panelOf(current, shownTab);
  for (const [name, table] of Object.entries((panel && panel.tables) || {}))
    for (const [what, value] of Object.entries(table.view())) made[`${name}.${what}`] = value;
  return made;
}

// One step of the reader is one address, however many calls it takes.
function noteAddress(place) {
  if (following) return;
  if (!wanted) queueMicrotask(() => {
    try { if (location.hash !== wanted) history.pushState(null, "", wanted); } catch { /* a frame without an address */ }
    wanted = null;
  });
  here = place;
  wanted = addressOf(shownTab, { ...place, ...madeOfView() });
}

// The same place seen otherwise: no step of its own that "back" would undo letter by letter.
function noteView() {
  if (following || !shownTab) return;
  try { history.replaceState(null, "", addressOf(shownTab, { ...here, ...madeOfView() })); } catch { /* as above */ }
}

function follow() {
  const place = new URLSearchParams(location.hash.slice(1));
  const file = files[Number(place.get("file") || 1) - 1] || files[0];
  const is = (item, name) => item.name === place.get(name) && (!place.has("module") || (item.module || null) === place.get("module"));
  following = true;
  showFile(file);
  const view = openTabs().includes(place.get("view")) ? place.get("view") : openTabs()[0];
  const shown = showTab(view);
  here = Object.fromEntries([...place].filter(([name]) => !["file", "view", "find"].includes(name) && !name.includes(".")));
  for (const [name, table] of Object.entries(shown.tables || {}))
    table.restore({ filter: place.get(`${name}.filter`), sort: place.get(`${name}.sort`), only: place.get(`${name}.only`) });
  if (place.has("find") && byId("search").value.trim() !== place.get("find")) {
    byId("search").value = place.get("find");
    byId("search").focus(); // which searches
  }
  const module = file.byPath.get(place.get("module"));
  const kind = Object.keys(WORDS).find((name) => place.has(WORDS[name]));
  const item = kind && file[kind].find((other) => is(other, WORDS[kind]));
  const text = file.texts.find((part) => is(part, "source")), graph = file.graphs[Number(place.get("graph")) - 1];
  const line = Number(place.get("line")) - 1;
  if (view === "overview" && module !== undefined) open.module(module);
  if (view === "functions" && item) open.named(kind, item);
  if (view === "texts" && text) open.text(text, line >= 0 && line < linesOf(text.text).length && Number.isInteger(line) ? line : undefined);
  const listing = view === "code" && place.has("code") && listingOf(file, place.get("code"), place.get("target"));
  if (listing) open.code(listing);
  const node = Number(place.get("node"));
  if (view === "graph" && graph) open.graph(graph, place.has("node") && graph.nodes[node] ? node : undefined);
  following = false;
}

// --- colours ------------------------------------------------------------------------------------

const THEMES = { auto: "Colours: as the system", light: "Colours: light", dark: "Colours: dark" };

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = { auto: "\u25d0", light: "\u2600", dark: "\u263e" }[theme];
  byId("theme").setAttribute("aria-label", THEMES[theme]);
  byId("theme").title = THEMES[theme];
  try { localStorage.setItem("minspect-theme", theme); } catch { /* a page without storage forgets */ }
}

function setUpTheme() {
  let theme = "auto";
  try { theme = localStorage.getItem("minspect-theme") || theme; } catch { /* as above */ }
  setTheme(theme in THEMES ? theme : "auto");
  byId("theme").addEventListener("click", () => {
    const order = Object.keys(THEMES);
    setTheme(order[(order.indexOf(document.documentElement.dataset.theme) + 1) % order.length]);
    announce(THEMES[document.documentElement.dataset.theme]);
  });
}

// --- keys ---------------------------------------------------------------------------------------

function escape(panel) {
  if (panel.escape && panel.escape()) return;
  document.activeElement.blur();
}

function onKey(event) {
  const typing = event.target.closest("input, textarea, select");
  if (event.ctrlKey || event.altKey || event.metaKey || (typing && event.target.type !== "checkbox")) return;
  const panel = panelOf(current, shownTab);
  const arrows = !event.target.closest(".code, .stage, .lines, .tabs, .scroll");
  if (event.key === "/") byId("search").focus();
  else if (event.key === "j" || (event.key === "ArrowDown" && arrows)) panel.step ? panel.step(1) : moveRow(panel, 1);
  else if (event.key === "k" || (event.key === "ArrowUp" && arrows)) panel.step ? panel.step(-1) : moveRow(panel, -1);
  else if (event.key === "Escape") escape(panel);
  else if (event.key === "Enter" && event.target.matches("[data-row]")) event.target.click();
  else if (/^[1-9]$/.test(event.key) && openTabs()[event.key - 1]) showTab(openTabs()[event.key - 1], true);
  else return;
  event.preventDefault();
}

function onTabKey(event) {
  const names = openTabs(), at = names.indexOf(shownTab);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 }[event.key];
  if (to === undefined) return;
  showTab(names[(to + names.length) % names.length], true);
  event.preventDefault();
}

// --- paper --------------------------------------------------------------------------------------

// A source or a graph is printed alone while it is shown. Else the page is a report: all views of the file, whichever
// were opened before, without sources and graphs.
function beforePrint() {
  const alone = APART.includes(shownTab);
  document.body.dataset.print = alone ? "view" : "report";
  const shown = panelOf(current, shownTab);
  if (alone && shown.onPaper) shown.onPaper();
  if (alone) return;
  const names = openTabs().filter((name) => !APART.includes(name));
  for (const panel of panels.values()) panel.classList.remove("report");
  for (const name of names) {
    const panel = panelOf(current, name);
    panel.classList.add("report");
    byId("main").append(panel); // in the order of the tabs
    if (panel.revealAll) panel.revealAll();
    if (panel.onReport) panel.onReport();
  }
}

// A button a file, as long as there is room for all of them; else a list.
function setUpFiles() {
  const choose = (file) => { showFile(file); showTab(OF_ALL.includes(shownTab) || !openTabs().includes(shownTab) ? "overview" : shownTab); };
  if (files.length < 2) return;
  if (files.reduce((sum, file) => sum + file.short.length + 4, 0) <= (window.innerWidth < 600 ? 40 : window.innerWidth < 900 ? 24 : 70))
    byId("files").append(...files.map((file) => el("button", { type: "button", "aria-pressed": "false", title: file.name, onclick: () => choose(file) }, file.short)));
  else
    byId("files").append(el("select", { id: "file-choice", "aria-label": "File", onchange: (event) => (event.target.value === "-1" ? showTab(openTabs()[0]) : choose(files[Number(event.target.value)])) },
      el("option", { value: -1 }, "All files"), ...files.map((file) => el("option", { value: file.index }, file.short))));
}

function start() {
  const title = set ? set.title : files.map((file) => file.short).join(", ");
  document.title = `${page.sets ? `${basename(page.sets.older.name)} \u2192 ${basename(page.sets.newer.name)}` : title} - minspect`;
  byId("title").textContent = set ? set.title : files.length > 1 ? plural(files.length, "file") : title;
  byId("title").classList.toggle("several", files.length > 1 && (!set || (!set.isArchive && !files[0].in_folder)));
  byId("title").title = files.map((file) => file.name).join("\n");
  setUpFiles();
  for (const [name, text] of TABS) {
    const tab = el("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-selected": "false", onclick: () => showTab(name) }, text, el("span", { class: "count" }));
    tab.name = name;
    byId("tabs").append(tab);
  }
  byId("tabs").addEventListener("keydown", onTabKey);
  document.addEventListener("keydown", onKey);
  window.addEventListener("beforeprint", beforePrint);
  window.addEventListener("afterprint", () => { const shown = panelOf(current, shownTab); if (shown.onScreen) shown.onScreen(); });
  setUpTheme();
  setUpSearch(() => current, (result) => { if (result.file !== current) showFile(result.file); result.go(open); });
  window.addEventListener("hashchange", follow);
  follow();
}

byId("main").replaceChildren();
start();
