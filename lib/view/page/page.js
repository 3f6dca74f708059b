// page.js - the views around the panels: which file, which view, which colours, which key.

const TABS = [
  ["compare", "Side by side", () => comparePanel()],
  ["overview", "Overview", overviewPanel],
  ["sizes", "Sizes", sizesPanel],
  ["functions", "Functions", functionsPanel],
  ["texts", "Texts", textsPanel],
  ["graph", "Graph", graphPanel],
  ["findings", "Findings", findingsPanel],
].filter(([name]) => name !== "compare" || files.length > 1);

let current = files[0], shownTab = null;
const panels = new Map(); // "file tab" -> element

function panelOf(file, name) {
  const id = name === "compare" ? name : `${file.index} ${name}`;
  if (!panels.has(id)) {
    const panel = TABS.find((tab) => tab[0] === name)[2](file, open);
    fill(panel, { role: "tabpanel", id: `panel-${id.replace(" ", "-")}`, "aria-labelledby": `tab-${name}`, hidden: true, "data-file": name === "compare" ? null : file.index }, []);
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
  if (panel.shown) panel.shown();
  return panel;
}

function showFile(file) {
  current = file;
  for (const [i, button] of [...byId("files").children].entries()) button.setAttribute("aria-pressed", String(i === file.index));
  for (const tab of byId("tabs").children) {
    const count = { functions: file.functions.length + file.models.length + file.kernels.length, texts: file.texts.length, graph: file.graphs.length, findings: file.findings.length }[tab.name];
    tab.querySelector(".count").textContent = count ? String(count) : "";
  }
}

// Where links and search results lead to.
const open = {
  tab: (name) => showTab(name),
  module(index, part) {
    const panel = showTab("overview");
    const row = panel.select(index);
    if (row) focusRow(row);
    const list = part && panel.querySelector(".module .parts");
    const found = list && list.reveal(current.parts.filter((p) => p.module === part.module).indexOf(part));
    if (found) { focusRow(found); flash(found); }
  },
  named(kind, item) {
    const row = showTab("functions").reveal(kind, item);
    focusRow(row);
    row.scrollIntoView({ block: "center" });
    flash(row);
  },
  kernel(name) {
    const kernel = current.kernels.find((k) => k.name === name);
    if (kernel) open.named("kernels", kernel);
  },
  text: (part, line) => showTab("texts").show(part, line),
  graph: (graph, node) => showTab("graph").show(graph, node),
  finding(finding) {
    const row = showTab("findings").reveal(finding);
    focusRow(row);
    flash(row);
  },
};

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
  else if (/^[1-9]$/.test(event.key) && TABS[event.key - 1]) showTab(TABS[event.key - 1][0], true);
  else return;
  event.preventDefault();
}

function onTabKey(event) {
  const at = TABS.findIndex(([name]) => name === shownTab);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: TABS.length - 1 }[event.key];
  if (to === undefined) return;
  showTab(TABS[(to + TABS.length) % TABS.length][0], true);
  event.preventDefault();
}

// --- paper --------------------------------------------------------------------------------------

// What was not looked at yet is printed, too: all but texts and graphs, of the file that is shown.
function beforePrint() {
  for (const [name] of TABS) {
    if (name === "texts" || name === "graph") continue;
    const panel = panelOf(current, name);
    if (panel.revealAll) panel.revealAll();
  }
}

function start() {
  const title = files.map((file) => file.short).join(", ");
  document.title = `${title} - minspect`;
  byId("title").textContent = files.length > 1 ? plural(files.length, "file") : title;
  byId("title").title = files.map((file) => file.name).join("\n");
  if (files.length > 1)
    byId("files").append(...files.map((file) => el("button", { type: "button", "aria-pressed": "false", title: file.name, onclick: () => { showFile(file); showTab(shownTab === "compare" ? "overview" : shownTab); } }, file.short)));
  for (const [name, text] of TABS) {
    const tab = el("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-selected": "false", onclick: () => showTab(name) }, text, el("span", { class: "count" }));
    tab.name = name;
    byId("tabs").append(tab);
  }
  byId("tabs").addEventListener("keydown", onTabKey);
  document.addEventListener("keydown", onKey);
  window.addEventListener("beforeprint", beforePrint);
  byId("last").textContent = String(TABS.length);
  setUpTheme();
  setUpSearch(() => current, (result) => { if (result.file !== current) showFile(result.file); result.go(open); });
  showFile(current);
  showTab(TABS[0][0]);
}

byId("main").replaceChildren();
start();
