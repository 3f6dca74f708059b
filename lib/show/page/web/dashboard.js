// dashboard.js - the front page of a wheel, an archive or a folder: what is in it, how large for which device, which devices
// run it, what spills; every number leads to what it counts.

// "wheel.whl!/pkg/lib.so" is a member of wheel.whl. Of a folder the files have its path alike.
function setOf() {
  if (files.length < 2) return null;
  const archives = new Set(files.map((file) => (file.name.includes("!/") ? file.name.slice(0, file.name.indexOf("!/")) : "")));
  const [archive] = archives;
  const isArchive = archives.size === 1 && archive !== "";
  if (!isArchive && files.length < 3) return null;
  const folders = files[0].name.split("/").slice(0, -1);
  const apart = folders.findIndex((folder, i) => files.some((file) => file.name.split("/")[i] !== folder));
  const folder = folders.slice(0, apart < 0 ? folders.length : apart).join("/");
  return { name: isArchive ? archive : folder, title: isArchive ? basename(archive) : folder && files[0].in_folder ? `${basename(folder)}/` : plural(files.length, "file"),
    stored: isArchive ? Number(files[0].archive_bytes || 0) : 0, bytes: files.reduce((sum, file) => sum + file.bytes, 0), isArchive };
}

const set = setOf();

const MANY_FILES = 100; // a map of more begins with groups of them

// Many files by their folders, or by what is alike in their names: "copy_#.cubin, 833 files". As they are where that is no help.
function grouped(nodes) {
  if (nodes.length <= MANY_FILES) return nodes;
  const by = (keyOf) => {
    const groups = new Map();
    for (const node of nodes) {
      const key = keyOf(node.name);
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(node);
    }
    return groups.size > 1 && groups.size <= Math.max(MANY_FILES, nodes.length / 20) ? groups : null;
  };
  const groups = by((name) => (name.includes("/") ? `${name.slice(0, name.indexOf("/"))}/` : name)) || by((name) => basename(name).replace(/[0-9a-f]{12,}/gi, "#").replace(/\d+/g, "#"));
  if (!groups) return nodes;
  return [...groups].map(([name, some]) => (some.length === 1 ? some[0] : { kind: "files", name: `${name}, ${plural(some.length, "file")}`, pattern: name, bytes: bytesOf(some), plain: 0, children: some }));
}

// One map over all of them: each file with what it has in it.
function setMap() {
  if (set.map) return set.map;
  const own = (node, file) => { const waiting = [node]; while (waiting.length) { const next = waiting.pop(); next.owner = file; waiting.push(...next.children); } return node; };
  set.map = { kind: "set", name: set.title, bytes: set.bytes, plain: 0, children: grouped(files.map((file) => own({ ...sizeMap(file), name: file.short, kind: "file" }, file))) };
  return set.map;
}

// --- bytes by library and device ---------------------------------------------------------------------

const MAKERS = ["sm_", "compute_", "lto_", "gfx"];
const WIDE = 26; // columns that are told apart

const makerOf = (target) => { const at = MAKERS.findIndex((begin) => target.startsWith(begin)); return at < 0 ? MAKERS.length : at; };
const byDevice = (a, b) => makerOf(a) - makerOf(b) || natural(a, b);

// AMD has a processor for each chip: where they are many, those of a generation are one column.
function columnsOf(targets) {
  const sorted = [...targets].sort(byDevice);
  const columns = new Map();
  for (const target of sorted) {
    const family = sorted.length > WIDE && /^gfx(?:[\da-f]+?)(?=[\da-f]{2}(?::|$))/.exec(target);
    const name = family ? `${family[0]}..` : target;
    if (!columns.has(name)) columns.set(name, []);
    columns.get(name).push(target);
  }
  return [...columns].map(([name, list]) => ({ name: list.length > 1 ? name : list[0], targets: list }));
}

// The files of a group in the list of files: those that have the first piece of its pattern in their names.
function listFiles(pattern) {
  const panel = showTab("files");
  panel.tables.files.restore({ filter: pattern.split("#").find((piece) => piece.length > 2) || "" });
  panel.querySelector(".files-of-set").scrollIntoView({ block: "start" });
  open.address({});
}

function matrix() {
  const withCode = files.filter((file) => file.gpu_code.length);
  if (!withCode.length) return null;
  // thousands of files are rows of what is alike in their names, as in the map
  const rows = grouped(withCode.map((file) => ({ name: file.short, bytes: file.bytes, children: [], file }))).sort((a, b) => b.bytes - a.bytes)
    .map((node) => (node.file ? { name: node.name, title: node.file.name, files: [node.file], go: () => open.file(node.file), device: (targets) => open.device(node.file, targets) }
      : { name: node.name, title: node.pattern, files: node.children.map((child) => child.file), go: () => listFiles(node.pattern), device: () => listFiles(node.pattern) }));
  const nameOf = (row) => row.target || row.image;
  const columns = columnsOf(new Set(withCode.flatMap((file) => file.gpu_code.map(nameOf))));
  const at = new Map(columns.flatMap((column, k) => column.targets.map((target) => [target, k])));
  const cells = rows.map((row) => {
    const sums = columns.map(() => 0);
    for (const file of row.files) for (const code of file.gpu_code) sums[at.get(nameOf(code))] += Number(code.bytes);
    return sums;
  });
  const most = Math.max(1, ...cells.flat());
  const unit = most >= 1 << 20 ? [1 << 20, "MiB"] : [1 << 10, "KiB"];
  const number = (n) => (n ? (n / unit[0] < 0.05 ? "<0.1" : (n / unit[0]).toFixed(1)) : "");
  const shade = (n) => `${Math.round(n ? 10 + 80 * Math.sqrt(n / most) : 0)}%`;
  const cell = (row, column, n) => {
    const box = el("td", { class: "numeric" }, n ? el("button", { type: "button", class: "shade", title: `${row.name}, ${column.targets.join(", ")}: ${bytes(n)}`, "aria-label": `${row.name}, ${column.name}: ${bytes(n)}`, onclick: () => row.device(column.targets) }, number(n)) : "");
    if (n) box.firstChild.style.setProperty("--shade", shade(n));
    return box;
  };
  const SHOWN = 40;
  const total = (of) => of.reduce((all, n) => all + n, 0);
  return el("section", {}, heading(rows.length < withCode.length ? "GPU code by files and device" : "GPU code by library and device"), el("p", { class: "note" }, `${unit[1]} as stored${set && set.stored ? ", before the archive packs it" : ""}; a number leads to the ${rows.length < withCode.length ? "files" : "kernels"}.`),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "GPU code by library and device" },
      el("table", { class: "matrix" },
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, rows.length < withCode.length ? "Files" : "Library"), ...columns.map((column) => el("th", { scope: "col", title: column.targets.join(", ") }, el("span", {}, column.name))), el("th", { scope: "col" }, el("span", {}, "all")))),
        el("tbody", {}, ...rows.slice(0, SHOWN).map((row, i) => el("tr", {}, el("th", { scope: "row" }, el("button", { type: "button", class: "link", title: row.title, onclick: row.go }, row.name)), ...columns.map((column, k) => cell(row, column, cells[i][k])), el("td", { class: "numeric" }, number(total(cells[i])))))),
        el("tfoot", {}, el("tr", {}, el("th", { scope: "row" }, "all"), ...columns.map((column, k) => el("td", { class: "numeric" }, number(total(cells.map((row) => row[k]))))), el("td", { class: "numeric" }, number(total(cells.flat()))))))),
    rows.length > SHOWN ? el("p", { class: "note" }, `and ${libraries(rows.length - SHOWN)} more, smaller ones`) : null);
}

// --- which devices run it -----------------------------------------------------------------------------

// What a set is of: libraries, or files of GPU code.
function libraries(count) {
  return files.every((file) => file.about.container !== "gpu-code") ? (count === 1 ? "1 library" : `${count.toLocaleString("en")} libraries`) : plural(count, "file");
}

// Devices that the same files run on are one line: [{ devices, yes, ptx, part, no: files }], those that most run on first.
function runsOf() {
  const byName = new Map();
  for (const file of files)
    for (const [word, names] of Object.entries(file.runs || {}))
      for (const name of names.split(" ")) {
        if (!byName.has(name)) byName.set(name, { yes: [], ptx: [], part: [], no: [] });
        byName.get(name)[word].push(file);
      }
  const groups = new Map();
  for (const [name, found] of [...byName].sort(([a], [b]) => byDevice(a, b))) {
    const key = `${makerOf(name)} ` + Object.entries(found).map(([word, list]) => word + list.map((file) => file.index).join(",")).join(" ");
    if (!groups.has(key)) groups.set(key, { devices: [], ...found });
    groups.get(key).devices.push(name);
  }
  return [...groups.values()].sort((a, b) => makerOf(a.devices[0]) - makerOf(b.devices[0]) || b.yes.length + b.ptx.length - a.yes.length - a.ptx.length || byDevice(a.devices[0], b.devices[0]));
}

const DEVICES_SHOWN = 14;
const NAMED_MOST = 12; // of more files that do not run on a device three names say nothing

function someFiles(list) {
  return [...list.slice(0, 3).flatMap((file, i) => [i ? ", " : "", el("button", { type: "button", class: "link", onclick: () => open.file(file) }, file.short)]), list.length > 3 ? ` and ${list.length - 3} more` : ""];
}

function runsPanel() {
  const groups = runsOf();
  if (!groups.length) return null;
  const row = (group) => {
    const all = group.yes.length + group.ptx.length + group.part.length + group.no.length, runs = group.yes.length + group.ptx.length;
    const kind = runs === all ? "fine" : runs ? "warning" : group.part.length ? "warning" : "error";
    const missing = [...group.part, ...group.no];
    return el("tr", {}, el("td", {}, chip(runs === all ? "runs" : runs || group.part.length ? "in part" : "no code", kind)), el("th", { scope: "row", title: group.devices.length > DEVICES_SHOWN ? group.devices.join(" ") : null }, group.devices.slice(0, DEVICES_SHOWN).join(" "), group.devices.length > DEVICES_SHOWN ? ` and ${group.devices.length - DEVICES_SHOWN} more` : ""),
      el("td", {}, all === 1 && files.length === 1 ? "" : `${runs.toLocaleString("en")} of ${libraries(all)}`, group.ptx.length ? `, ${runs === group.ptx.length ? "" : `${group.ptx.length.toLocaleString("en")} `}as PTX, which the driver compiles at the first start` : "",
        missing.length && missing.length <= NAMED_MOST && runs ? el("span", { class: "without" }, "; not ", ...someFiles(missing)) : "", group.part.length ? el("span", { class: "without" }, `; in part ${libraries(group.part.length)}`) : ""));
  };
  return el("section", {}, heading("Which devices run it"), el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Which devices run it" }, el("table", { class: "runs" }, el("thead", { class: "hidden" }, el("tr", {}, ...["Verdict", "Devices", "Libraries"].map((title) => el("th", { scope: "col" }, title)))), el("tbody", {}, ...groups.map(row)))),
    el("p", { class: "note" }, "For a driver, and all reasons: ", el("code", {}, `minspect check --device-arch DEVICE ${shell(set ? set.name : files[0].name)}`)));
}

// --- what spills, what needs most ---------------------------------------------------------------------

function holderOf(name) {
  for (const file of files) {
    file.kernelsByName = file.kernelsByName || new Map(file.kernels.map((kernel) => [kernel.name, kernel]));
    if (file.kernelsByName.has(name)) return { file, kernel: file.kernelsByName.get(name) };
  }
  return null;
}

function kernelLink(name, found) {
  if (!found) return el("code", {}, name);
  return el("button", { type: "button", class: "link", title: name, onclick: () => { if (found.file !== current) showFile(found.file); open.named("kernels", found.kernel); } }, found.kernel.title || name);
}

function plainTable(title, heads, rows) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, el("table", { class: "plain-table" }, el("thead", {}, el("tr", {}, ...heads.map(([text, numeric]) => el("th", { scope: "col", class: numeric ? "numeric" : null }, text)))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((value, i) => el(i ? "td" : "th", { scope: i ? null : "row", class: heads[i][1] ? "numeric" : null }, value)))))));
}

function spillsPanel() {
  const list = page.spills || [];
  if (!list.length) return null;
  return el("section", { id: "spills" }, heading("Kernels that keep values in memory", page.with_stack.toLocaleString("en")),
    plainTable("Kernels with a stack", [["Kernel"], ["Stack, bytes", true], ["Registers", true], ["Spills"], ["Devices"]],
      list.map((row) => [kernelLink(row.name, holderOf(row.name)), row.stack_bytes, row.registers, row.spills, row.targets.slice(0, 3).join(", ") + (row.devices > 3 ? ` and ${row.devices - 3} more` : "")])),
    el("p", { class: "note" }, page.with_stack > list.length ? `and ${(page.with_stack - list.length).toLocaleString("en")} more: ` : "What is known of each: ", el("code", {}, `minspect functions --spills ${shell(set ? set.name : files[0].name)}`)));
}

function hungryPanel() {
  const at = page.figures.findIndex((figure) => figure.word === "registers"), best = new Map();
  if (at < 0) return null;
  for (const file of files)
    for (const kernel of file.kernels)
      for (const need of needs(kernel)) {
        const value = need.values[at], known = best.get(kernel.name);
        if (typeof value === "number" && (!known || value > known.value)) best.set(kernel.name, { value, file, kernel, target: need.target });
      }
  const list = [...best.values()].sort((a, b) => b.value - a.value || natural(a.kernel.name, b.kernel.name)).slice(0, 10);
  if (!list.length || !list[0].value) return null;
  return el("section", {}, heading("Kernels with the most registers"),
    plainTable("Kernels with the most registers", [["Kernel"], ["Registers", true], ["On"], ["Library"]],
      list.map((row) => [kernelLink(row.kernel.name, row), row.value, row.target, el("button", { type: "button", class: "link", onclick: () => open.file(row.file) }, row.file.short)])));
}

// --- findings ------------------------------------------------------------------------------------------

function setFindings() {
  const causes = new Map();
  for (const file of files)
    for (const finding of file.findings) {
      if (finding.severity === "note") continue;
      const key = `${finding.severity} ${finding.check}`;
      if (!causes.has(key)) causes.set(key, { finding, files: new Set(), count: 0, first: file });
      causes.get(key).files.add(file);
      causes.get(key).count++;
    }
  const list = [...causes.values()].sort((a, b) => (a.finding.severity === "error" ? 0 : 1) - (b.finding.severity === "error" ? 0 : 1) || b.count - a.count);
  if (!list.length) return el("section", {}, heading("Findings"), el("p", {}, chip("no errors", "fine"), ` ${plural(files.length, "file")}, ${bytes(set.bytes)}: no errors.`));
  return el("section", {}, heading("Findings", list.reduce((sum, cause) => sum + cause.count, 0)), el("div", { class: "rows", "data-rows": "", role: "group", "aria-label": "Findings" },
    ...list.slice(0, 12).map(({ finding, files: of, count, first }) => el("div", { class: `row finding ${finding.severity} opens`, "data-row": "", tabindex: "-1", role: "button", onclick: () => { showFile(first); open.finding(finding); } },
      chip(finding.severity, finding.severity), el("span", { class: "name" }, finding.message), el("code", { class: "what" }, finding.check), el("span", { class: "place" }, `${plural(count, "time")} in ${plural(of.size, "file")}, first in ${first.short}`)))));
}

// --- the page ------------------------------------------------------------------------------------------

function setFigures(panel) {
  const kernels = new Set(files.flatMap((file) => file.kernels.map((kernel) => kernel.name))).size;
  const devices = new Set(files.flatMap(devicesOf)).size;
  const errors = files.reduce((sum, file) => sum + file.verify.errors, 0), warnings = files.reduce((sum, file) => sum + file.verify.warnings, 0);
  const goTo = (selector) => () => { const part = panel.querySelector(selector); if (part) part.scrollIntoView({ block: "start" }); };
  const cut = files.some((file) => file.cut_rows);
  return el("div", { class: "figures" }, ...[
    set.stored ? figure(bytes(set.stored), "in the archive", goTo(".set-map")) : null,
    figure(bytes(set.bytes), set.stored ? "unpacked" : "in all", goTo(".set-map")),
    counted(files.length, "file", goTo(".files-of-set")),
    kernels && !cut ? counted(kernels, "kernel", goTo(".kernels-of-set")) : null,
    devices ? counted(devices, "device", goTo(".matrix-of-set")) : null,
    page.with_stack ? figure(page.with_stack.toLocaleString("en"), `kernel${page.with_stack === 1 ? "" : "s"} with a stack`, goTo("#spills")) : null,
    errors || !warnings ? counted(errors, "error", goTo(".findings-of-set"), errors ? "error" : "fine") : counted(warnings, "warning", goTo(".findings-of-set"), "warning")].filter(Boolean));
}

function summaryOfSet() {
  const withCode = files.filter((file) => file.gpu_code.length).length;
  const cut = files.reduce((sum, file) => sum + (file.cut_rows || 0), 0);
  return [el("p", { class: "lead" }, [`${plural(files.length, "file")}, ${bytes(set.bytes)}${set.stored ? " unpacked" : ""}`, withCode ? `${withCode.toLocaleString("en")} with GPU code` : ""].filter(Boolean).join("; "), page.kernels ? `. ${page.kernels[0].toUpperCase()}${page.kernels.slice(1)}.` : "."),
    ...(page.totals || "").trim().split("\n").filter(Boolean).map((text) => el("p", { class: "by-device" }, text.trim())),
    cut ? el("p", { class: "cut" }, `${plural(cut, "row")} of kernels and parts have no room on this page; the numbers above count them. A page of one file has all: `, el("code", {}, `minspect html ${shell(files[0].name)} -o PAGE`)) : null];
}

function filesPanel() {
  const findings = (f) => f.verify.errors + f.verify.warnings;
  const countOf = (title, of) => ({ title, numeric: true, text: (f) => (of(f) ? of(f).toLocaleString("en") : ""), rank: of });
  const any = (column) => files.some((file) => column.rank(file));
  const table = dataTable({
    what: "file", first: "File", title: "Files", items: files, label: (f) => f.short, text: (f) => `${f.name} ${f.devices.join(" ")}`, hint: (f) => f.name, go: (f) => open.file(f), address: (f) => `#${new URLSearchParams({ file: f.index + 1, view: "overview" })}`,
    columns: [
      { title: "Size", numeric: true, text: (f) => bytes(f.bytes), rank: (f) => f.bytes },
      ...[countOf("Modules", (f) => f.tree.length), countOf("Functions", (f) => f.functions.length + f.models.length), countOf("Kernels", (f) => f.kernels.length)].filter(any),
      ...(files.some((f) => f.gpu_code.length || f.devices.length) ? [{ title: "Devices", whole: true, text: (f) => { const d = devicesOf(f); return d.length > 2 ? `${d.length} devices` : d.join(", "); }, hint: (f) => devicesOf(f).join(", "), rank: (f) => devicesOf(f).length }] : []),
      countOf("Findings", findings),
    ].filter((column) => column.title !== "Findings" || any(column)),
  });
  const map = set && mapView(null, open, null, setMap());
  const panel = el("div", { class: "files-panel" });
  fill(panel, {}, [set ? heading(set.title) : heading("Files", files.length), ...(set ? [...summaryOfSet(), setFigures(panel)] : [el("p", { class: "note" }, `${bytes(files.reduce((sum, f) => sum + f.bytes, 0))} in all.`)]),
    set ? el("div", { class: "split set" }, el("div", {}, runsPanel() || el("section", { class: "findings-of-set" }, setFindings())), el("section", { class: "overview-map set-map", "aria-label": "Where the bytes are" }, heading("Where the bytes are"), map)) : null,
    set ? el("div", { class: "matrix-of-set" }, matrix()) : null,
    set ? el("div", { class: "kernels-of-set" }, spillsPanel(), hungryPanel()) : null,
    set && runsOf().length ? el("div", { class: "findings-of-set" }, setFindings()) : null,
    el("section", { class: "files-of-set" }, set ? heading("Files", files.length) : "", table)]);
  panel.tables = { files: table };
  panel.revealAll = table.revealAll;
  if (map) { panel.shown = map.draw; panel.onReport = map.draw; panel.escape = map.escape; }
  return panel;
}

function devicesOf(file) {
  return [...new Set([...file.devices, ...file.gpu_code.map((row) => row.target)])].filter(Boolean).sort(byDevice);
}
