// releases.js - two folders or archives: what the newer one has that the older one had not, and what got worse.

// A file that differs, with the columns of the table; its rows are kernels and images that do.
function prepareRelease(item) {
  item.change = item.before === undefined ? "added" : item.after === undefined ? "removed" : "changed";
  for (const word of ["before", "after"]) item[word] = item[word] === undefined ? undefined : Number(item[word]);
  item.grew = (item.after || 0) - (item.before || 0);
  item.rows = (item.rows || []).map(([change, what, name, target, text]) => ({ change, what, name, target, text }));
  item.file = files.find((file) => file.name.endsWith(`/${item.name}`));
}

const signed = (n) => (n ? `${n > 0 ? "+" : "\u2212"}${bytes(Math.abs(n))}` : "");
const shortly = (devices) => devices.map((d) => [d.added ? `+ ${d.name}` : "", d.removed ? `\u2212 ${d.name}` : ""].filter(Boolean).join(", ")).join(", ");

function kernelsOf({ added, removed, changed }) {
  return [added ? `+ ${added.toLocaleString("en")}` : "", removed ? `\u2212 ${removed.toLocaleString("en")}` : "", changed ? `${changed.toLocaleString("en")} changed` : ""].filter(Boolean).join(", ");
}

// Below a file: what differs in it, as a list of kernels and images.
function releaseDetail(item) {
  const { older, newer } = page.sets, inner = (side) => shell(`${side.name}${files.some((file) => file.name.startsWith(`${side.name}/`)) || !/\.(?:whl|zip|apk|aab|jar)$/.test(side.name) ? "/" : "!/"}${item.name}`);
  const SHOWN = 100;
  const titleOf = (row) => { const kernel = item.file && item.file.kernels.find((k) => k.name === row.name); return (kernel && kernel.title) || row.name; };
  return el("div", { class: "detail-of" },
    item.worse && item.worse.length ? el("ul", { class: "plain" }, ...item.worse.map((text) => el("li", {}, text))) : null,
    item.rows.length ? plainTable(`What differs in ${item.name}`, [["Kernel or image"], ["Change"], ["Device"], ["How"]],
      item.rows.slice(0, SHOWN).map((row) => [el("span", { title: row.name }, titleOf(row)), chip(row.change, CHANGES[row.change]), row.target || "", row.text])) : null,
    item.rows.length > SHOWN || item.left_out ? el("p", { class: "note" }, `and ${(item.rows.length - Math.min(SHOWN, item.rows.length) + (item.left_out || 0)).toLocaleString("en")} more`) : null,
    el("p", {}, item.file ? [el("button", { type: "button", class: "link", onclick: () => open.file(item.file) }, `Look into the newer ${item.file.short}`)] : []),
    item.change === "changed" ? command(`minspect diff ${inner(older)} ${inner(newer)}`, "the command that shows all that differs in it") : null);
}

function releaseFigures(sets, panel) {
  const goTo = (selector) => () => { const part = panel.querySelector(selector); if (part) part.scrollIntoView({ block: "start" }); };
  const by = sets.newer.bytes - sets.older.bytes, gone = sets.devices.filter((d) => d.removed).length, come = sets.devices.filter((d) => d.added).length;
  const both = (more, less) => [more ? `+ ${more.toLocaleString("en")}` : "", less ? `\u2212 ${less.toLocaleString("en")}` : ""].filter(Boolean).join(", ") || "0";
  return el("div", { class: "figures" },
    figure(signed(by) || "as large", by ? `${by > 0 ? "+" : "\u2212"}${((100 * Math.abs(by)) / (sets.older.bytes || 1)).toFixed(1)}\u00a0% of the size` : `${bytes(sets.newer.bytes)} each`, goTo(".changed-files")),
    figure(both(sets.added, sets.removed), `file${sets.added + sets.removed === 1 ? "" : "s"} added, removed`, goTo(".changed-files")),
    figure(sets.changed.toLocaleString("en"), `file${sets.changed === 1 ? "" : "s"} changed`, goTo(".changed-files")),
    figure(both(come, gone), "devices", goTo(".changed-devices"), gone ? "warning" : ""),
    figure(sets.kernels.changed.toLocaleString("en"), `kernel${sets.kernels.changed === 1 ? "" : "s"} changed`, goTo(".changed-files")),
    figure(sets.worse_count.toLocaleString("en"), `kernel${sets.worse_count === 1 ? "" : "s"} got worse`, goTo(".got-worse"), sets.worse_count ? "warning" : "fine"));
}

function releasesPanel() {
  const sets = page.sets, { older, newer, kernels } = sets;
  const panel = el("div", { class: "releases files-panel" }), items = sets.files, moved = sets.devices.length > 0;
  const columns = [
    { title: "Before", numeric: true, text: (f) => (f.before === undefined ? "" : bytes(f.before)), rank: (f) => f.before || 0 },
    { title: "After", numeric: true, text: (f) => (f.after === undefined ? "" : bytes(f.after)), rank: (f) => f.after || 0 },
    { title: "Grew by", numeric: true, text: (f) => (f.change === "changed" ? signed(f.grew) : ""), rank: (f) => Math.abs(f.grew) },
    ...(moved ? [{ title: "Devices", whole: true, text: (f) => excerptEnd(shortly(f.devices || []), 60), hint: (f) => shortly(f.devices || []) || null, rank: (f) => (f.devices || []).length }] : []),
    ...(items.some((f) => f.rows.length || f.left_out) ? [{ title: "Kernels", whole: true, text: (f) => (f.kernels ? kernelsOf(f.kernels) : ""), rank: (f) => (f.kernels ? f.kernels.changed + f.kernels.added + f.kernels.removed : 0) }] : []),
    ...(sets.worse_count ? [{ title: "Worse", numeric: true, text: (f) => (f.worse_count ? f.worse_count.toLocaleString("en") : ""), rank: (f) => f.worse_count || 0 }] : [])];
  const kinds = el("select", { "aria-label": "Which files", onchange: () => table.update() }, el("option", { value: "" }, "All changes"), ...Object.keys(CHANGES).filter((change) => items.some((f) => f.change === change)).map((change) => el("option", { value: change }, `${change}: ${items.filter((f) => f.change === change).length}`)));
  const table = dataTable({ what: "file", first: "File", title: "Files that differ", items, label: (f) => f.name, text: (f) => f.name, columns,
    head: (f) => el("span", { class: "rest" }, " ", chip(f.change, CHANGES[f.change])), address: () => addressOf("diff", {}), detail: releaseDetail,
    chooser: kinds, device: () => kinds.value, on: (f, change) => f.change === change, setDevice: (change) => choose(kinds, change), more: `minspect diff ${shell(older.name)} ${shell(newer.name)}` });
  const moves = [sets.spills.more ? `stack or spills of ${plural(sets.spills.more, "kernel")} more` : "", sets.spills.less ? `stack or spills of ${plural(sets.spills.less, "kernel")} less` : "",
    sets.occupancy.less ? `occupancy of ${plural(sets.occupancy.less, "kernel")} less` : "", sets.occupancy.more ? `occupancy of ${plural(sets.occupancy.more, "kernel")} more` : ""].filter(Boolean);
  const missing = sets.added + sets.removed + sets.changed - items.length;
  fill(panel, {}, [heading(`${basename(older.name)} \u2192 ${basename(newer.name)}`),
    el("p", { class: "lead" }, `${bytes(older.bytes)} \u2192 ${bytes(newer.bytes)}; ${plural(sets.added, "file")} added, ${sets.removed.toLocaleString("en")} removed, ${sets.changed.toLocaleString("en")} changed, ${sets.equal.toLocaleString("en")} equal. Kernels, each on each device: ${kernelsOf(kernels) || "none changed"}.`),
    releaseFigures(sets, panel),
    el("section", { class: "got-worse" }, heading("What got worse", sets.worse_count.toLocaleString("en")),
      sets.worse_count ? el("ul", { class: "plain" }, ...sets.worse.map((text) => el("li", {}, text)), sets.worse_count > sets.worse.length ? el("li", { class: "note" }, `and ${(sets.worse_count - sets.worse.length).toLocaleString("en")} more`) : null) : el("p", {}, chip("nothing", "fine"), " No kernel needs more registers, stack or shared memory than before."),
      moves.length ? el("p", { class: "note" }, `${moves.join("; ")}.`) : null),
    el("section", { class: "changed-devices" }, heading("Devices", sets.devices.length || undefined),
      moved ? el("p", {}, ...sets.devices.flatMap((d) => [d.added ? [chip(`+ ${d.name}`, "fine"), ` in ${plural(d.added, "file")}  `] : [], d.removed ? [chip(`\u2212 ${d.name}`, "error"), ` in ${plural(d.removed, "file")}  `] : []].flat())) : el("p", {}, "Code for the same devices as before.")),
    el("section", { class: "changed-files" }, heading("Files that differ", items.length), table, missing > 0 ? el("p", { class: "note" }, `and ${missing.toLocaleString("en")} more`) : null,
      el("p", { class: "note" }, "The other views show the newer one. All that differs: ", el("code", {}, `minspect diff --all ${shell(older.name)} ${shell(newer.name)}`)))]);
  panel.tables = { changes: table };
  panel.revealAll = table.revealAll;
  return panel;
}

if (page.sets) {
  for (const side of [page.sets.older, page.sets.newer]) side.bytes = Number(side.bytes);
  page.sets.files.forEach(prepareRelease);
  // libraries before the texts of a package
  const isCode = (item) => Number(item.file !== undefined || item.rows.length > 0 || /\.(?:so[\d.]*|pyd|dll|dylib|a|lib)$/.test(item.name));
  page.sets.files.sort((a, b) => (b.worse_count || 0) - (a.worse_count || 0) || isCode(b) - isCode(a) || Math.abs(b.grew) - Math.abs(a.grew) || natural(a.name, b.name));
}
