// panels.js - the views of one file: overview, functions, texts, graphs, findings.

function fact(name, ...value) {
  return [el("dt", {}, name), el("dd", {}, ...value)];
}

function factList(...facts) {
  return el("dl", { class: "facts" }, ...facts.filter(Boolean).flat());
}

// --- overview -----------------------------------------------------------------------------------

function figure(count, name, go, kind) {
  return el("button", { type: "button", class: `figure ${kind || ""}`, onclick: go }, el("strong", {}, String(count)), el("span", {}, name));
}

function counted(count, word, go, kind) {
  return figure(count.toLocaleString("en"), `${word}${count === 1 ? "" : "s"}`, go, kind);
}

// Notes are no problem: only errors and warnings are counted.
function problemFigure(file, go) {
  const { errors, warnings } = file.verify;
  if (errors && warnings) return figure(errors, `error${errors === 1 ? "" : "s"}, ${plural(warnings, "warning")}`, go, "error");
  return errors || !warnings ? counted(errors, "error", go, errors ? "error" : "fine") : counted(warnings, "warning", go, "warning");
}

function verdict(file) {
  const { errors, warnings } = file.verify;
  if (errors) return chip(`${plural(errors, "error")}`, "error");
  return warnings ? chip(`no errors, ${plural(warnings, "warning")}`, "warning") : chip("no errors", "fine");
}

function overviewPanel(file, open) {
  const about = file.about;
  const weights = file.tensors.reduce((sum, tensor) => sum + Number(tensor.bytes), 0);
  const detail = el("section", { class: "module", "aria-live": "polite", "aria-label": "Module" });
  let list = null;
  const select = (index, row) => {
    if (row) open.address({ module: file.tree[index].path });
    for (const old of list.querySelectorAll("[aria-selected=true]")) old.setAttribute("aria-selected", "false");
    row = row || [...list.children].find((candidate) => candidate.module === index);
    if (row) row.setAttribute("aria-selected", "true");
    detail.replaceChildren(...moduleDetail(file, file.tree[index], open));
    return row;
  };
  list = treeList(file, select);
  if (file.tree.length) select(0);
  const figures = [
    figure(bytes(file.bytes), "in the file", () => open.tab("sizes")),
    file.tree.length ? counted(file.tree.length, "module", () => moveRow(panel, 0)) : null,
    file.models.length + file.functions.length ? counted(file.models.length + file.functions.length, "function", () => open.tab("functions")) : null,
    file.kernels.length ? counted(file.kernels.length, "kernel", () => open.tab("functions")) : null,
    devicesOf(file).length ? counted(devicesOf(file).length, "device", () => open.tab("functions")) : null,
    file.weights ? counted(file.tensors.length, "tensor", () => open.tab("tensors")) : null,
    file.weights ? figure(shortCount(file.tensors.reduce((sum, tensor) => sum + elementsOf(tensor), 0)), "elements", () => open.tab("tensors")) : null,
    file.tensors.length && !file.weights ? figure(bytes(weights), "of tensors", () => open.tab("sizes")) : null,
    problemFigure(file, () => open.tab("findings"))];
  const map = mapView(file, open);
  const panel = el("div", { class: "overview" },
    el("div", { class: "figures" }, ...figures.filter(Boolean)),
    el("div", { class: "split first" }, el("section", { class: "about", "aria-label": "What it is" }, factList(
      fact("File", el("code", {}, file.name), " ", verdict(file)),
      file.cut_rows ? fact("Cut", el("span", { class: "cut" }, `${plural(file.cut_rows, "row")} of kernels and parts have no room on this page. All of it: `, el("code", {}, `minspect html ${shell(file.name)} -o PAGE`))) : null,
      fact("Container", `${containerName(about)}${about.machine ? `, ${about.machine}` : ""}${about.elf ? `, ${about.elf.class}-bit ${about.elf.byte_order} endian` : ""}`),
      ...(file.weights ? weightFacts(file) : [fact("Loads in", about.releases || "not known"),
      about.loaders && about.loaders.length ? fact("Needs loaders for", about.loaders.join(", ")) : null,
      about.blob ? fact("Module blob", `${bytes(about.blob.bytes)}, ${hex(about.blob.offset)} bytes into the file`, about.blob.symbol ? ["  ", el("code", {}, about.blob.symbol)] : "") : fact("Module blob", file.gpu_code.length ? "none" : "none: host code only"),
      file.gpu_code.length ? fact("GPU code", el("ul", { class: "plain" }, ...file.gpu_code.map((row) => el("li", { title: row.packing }, gpuRow(row))))) : null,
      about.members && about.members.length ? fact("Members", about.members.join(", ")) : null]))),
    el("section", { class: "overview-map", "aria-label": "Where the bytes are" }, map)),
    file.tree.length ? el("div", { class: "split" }, el("section", {}, heading("Modules", file.tree.length), list), detail) : null,
    gpuCode(file, open), beside(file, open));
  panel.escape = map.escape;
  panel.shown = map.draw;
  panel.onReport = map.draw;
  panel.select = select;
  return panel;
}

// All images of one sort for one device, as the listing tells them.
function gpuRow(row) {
  const size = row.bytes ? `, ${bytes(row.bytes)}` : "";
  const plain = row.plain_bytes !== row.bytes ? `, ${bytes(row.plain_bytes)} unpacked` : "";
  return `${row.target} ${row.image}: ${plural(row.images, "image")}${size}${plain}`;
}

// GPU code of any library: what compilers put into sections of their own, container by container.
function gpuCode(file, open) {
  if (!file.gpu_containers.length) return null;
  const list = el("div", { class: "rows gpu", "data-rows": "", role: "group", "aria-label": "GPU code" });
  lazyRows(list, file.gpu_containers, (container) => {
    const parts = file.parts.filter((part) => part.module === container.path);
    return el("article", { class: "card", "data-row": "", tabindex: "-1", "aria-label": container.path },
      el("h3", {}, el("span", { class: "name" }, container.path)),
      el("p", { class: "note" }, [container.title, container.member, `${bytes(container.bytes)} at ${hex(container.offset)}`].filter(Boolean).join("  \u00b7  ")),
      container.lines ? el("pre", { class: "lines-of" }, container.lines.trimEnd()) : "",
      parts.length ? partsTable(file, parts, open) : "");
  });
  return el("section", {}, heading("GPU code", file.gpu_containers.length), list);
}

// Code that stands beside the tree.
function beside(file, open) {
  const parts = file.parts.filter((part) => !file.byPath.has(part.module) && !file.gpuPaths.has(part.module));
  if (!parts.length) return null;
  return el("section", {}, heading("Code beside the modules", parts.length), partsTable(file, parts, open));
}

function partsTable(file, parts, open) {
  const table = el("div", { class: "rows parts", "data-rows": "", role: "group", "aria-label": "Parts" });
  return lazyRows(table, parts, (part) => {
    const row = el("div", { class: `row part${part.text !== undefined ? " opens" : ""}`, "data-row": "", tabindex: "-1", role: part.text !== undefined ? "button" : "group", "aria-label": part.text !== undefined ? null : part.title || part.name },
      el("span", { class: "name" }, part.title || part.name, " ", mark(part)),
      el("span", { class: "what" }, part.dtype !== undefined ? `${part.dtype}[${part.shape.join(", ")}]` : part.text !== undefined ? LANGUAGE_NAMES[part.language] : "binary"),
      el("span", { class: "size" }, bytes(part.bytes)));
    if (part.text !== undefined) row.addEventListener("click", () => open.text(part));
    return row;
  });
}

function moduleDetail(file, module, open) {
  const parts = file.parts.filter((part) => part.module === module.path);
  const kernels = file.kernels.filter((kernel) => kernel.module === module.path);
  const models = file.models.filter((model) => model.module === module.path);
  const findings = file.findings.filter((finding) => finding.path === module.path);
  const targets = (module.targets || []).map((target) => target.name + (target.ptx ? ` (PTX ${target.ptx})` : "")).join(", ");
  const isHost = module.role === "host";
  return [
    heading(module.kind),
    el("p", { class: "note" }, module.title + module.counts + (isHost ? `, ${plural(file.functions.length, "function")}` : "")),
    module.problem ? el("p", { class: "problem" }, `Cannot be read: ${module.problem.message}`) : "",
    factList(fact("Tree path", el("code", {}, module.path)),
      isHost ? null : fact("Payload", `${bytes(module.bytes)}, ${hex(module.offset)} bytes into the blob`),
      module.format ? fact("Format", module.format) : null,
      targets ? fact("For", targets) : null),
    module.lines ? el("pre", { class: "lines-of" }, module.lines.trimEnd()) : "",
    ...findings.map((finding) => findingRow(finding, null)),
    ...[[models, "Functions", "models"], [kernels, "Kernels", "kernels"]].map(([list, title, kind]) => list.length
      ? el("section", {}, heading(title, list.length), el("ul", { class: "plain names" }, ...list.slice(0, 100).map((item) =>
        el("li", {}, el("button", { type: "button", class: "link", title: item.title ? item.name : null, onclick: () => open.named(kind, item) }, item.title || item.name))), list.length > 100 ? el("li", {}, `and ${list.length - 100} more`) : null))
      : ""),
    isHost && file.functions.length ? el("p", {}, el("button", { type: "button", class: "link", onclick: () => open.tab("functions") }, "Its functions")) : "",
    ...file.graphs.filter((graph) => graph.module === module.path).slice(0, 20).map((graph) =>
      el("p", {}, el("button", { type: "button", class: "link", onclick: () => open.graph(graph) }, `Graph${graph.name ? ` of ${graph.name}` : ""}`))),
    parts.length ? el("section", {}, heading("Parts", parts.length), partsTable(file, parts, open)) : "",
  ];
}

// --- texts --------------------------------------------------------------------------------------

function textsPanel(file, open) {
  if (!file.texts.length) return el("div", {}, empty("This file holds no source text, PTX or byte code that can be shown."));
  const list = el("div", { class: "rows", "data-rows": "", role: "listbox", "aria-label": "Sources" });
  const stage = el("div", { class: "text-stage" });
  const panel = el("div", { class: "texts split" }, el("section", {}, heading("Sources", file.texts.length), list), stage);
  let shown = null, view = null;
  const show = (part, line) => {
    if (shown !== part) {
      shown = part;
      view = codeView(part.text, part.language, part.title);
      const kind = LANGUAGE_NAMES[part.language];
      stage.replaceChildren(
        el("div", { class: "text-head" }, el("h2", {}, part.title), el("span", { class: "note" }, `${part.module}  \u00b7  ${kind}  \u00b7  ${bytes(part.bytes)}  \u00b7  ${plural(linesOf(part.text).length, "line")}`), mark(part) || "", copyButton(part.text, "the text")),
        part.shown !== undefined ? el("p", { class: "cut" }, `These are the first ${bytes(part.shown)} of ${bytes(part.bytes)}. All of it: `, el("code", {}, `minspect extract ${shell(file.name)} -o DIR`)) : "",
        view);
      list.reveal(file.texts.indexOf(part));
      for (const row of list.querySelectorAll("[data-row]")) row.setAttribute("aria-selected", String(row.item === part));
    }
    open.address({ module: part.module, source: part.name, line: line === undefined ? undefined : line + 1 });
    if (line !== undefined) view.show(line);
  };
  lazyRows(list, file.texts, (part) => {
    const row = el("div", { class: "row opens text-row", "data-row": "", tabindex: "-1", role: "option", "aria-selected": "false", onclick: () => show(part) },
      el("span", { class: "name" }, part.title, " ", mark(part)), el("span", { class: "what" }, `${part.module}  ${LANGUAGE_NAMES[part.language]}`), el("span", { class: "size" }, bytes(part.bytes)));
    row.item = part;
    return row;
  });
  panel.show = show;
  panel.shown = () => shown || show(file.texts[0]);
  return panel;
}

// --- graphs -------------------------------------------------------------------------------------

function graphPanel(file, open) {
  if (!file.graphs.length) return el("div", {}, empty("There is no model in this file whose graph is known."));
  const choice = el("select", { id: "graph-choice" }, ...file.graphs.map((graph, i) => el("option", { value: i }, `${graph.name || "graph"}  ${graph.module}  (${plural(graph.nodes.length, "node")})`)));
  const stage = el("div", {});
  const panel = el("div", { class: "graphs" }, el("div", { class: "graph-head" }, heading("Graph"), el("label", { class: "hidden", for: "graph-choice" }, "Which graph"), choice), stage);
  let view = null, drawn = -1;
  const draw = (index) => {
    if (drawn === index) return;
    drawn = index;
    choice.value = String(index);
    view = graphView(file, file.graphs[index], open, (node) => open.address({ graph: index + 1, node }));
    stage.replaceChildren(view);
    view.shown();
    open.address({ graph: index + 1 });
  };
  choice.addEventListener("change", () => draw(Number(choice.value)));
  // the model itself, and not what tells its metadata
  const largest = file.graphs.reduce((best, graph, i) => (graph.nodes.length > file.graphs[best].nodes.length ? i : best), 0);
  panel.shown = () => draw(drawn < 0 ? largest : drawn);
  panel.show = (graph, node) => { draw(file.graphs.indexOf(graph)); if (node !== undefined) view.choose(node); };
  panel.step = (by) => view && view.step(by);
  panel.onPaper = () => view && view.onPaper();
  panel.onScreen = () => view && view.onScreen();
  return panel;
}

// --- findings -----------------------------------------------------------------------------------

function findingRow(finding, go) {
  const place = [finding.path, finding.kernel, finding.offset === null || finding.offset === undefined ? "" : `${hex(finding.offset)} bytes into the ${finding.space}`].filter(Boolean).join("  \u00b7  ");
  return el("div", { class: `row finding ${finding.severity}${go ? " opens" : ""}`, "data-row": "", tabindex: "-1", role: go ? "button" : null, onclick: go },
    chip(finding.severity, finding.severity), el("span", { class: "name" }, finding.message), el("code", { class: "what" }, finding.check), el("span", { class: "place" }, place));
}

function findingsPanel(file, open) {
  const panel = el("div", { class: "findings" }, heading("Findings", file.findings.length),
    el("p", { class: "note" }, `What minspect verify says of ${file.short}: `, verdict(file), file.verify.left_out ? ` ${plural(file.verify.left_out, "finding")} more are left out.` : ""));
  if (!file.findings.length) return fill(panel, {}, [empty("Structure and payloads were checked to the last byte; nothing was found.")]);
  const list = el("div", { class: "rows", "data-rows": "", role: "group", "aria-label": "Findings" });
  panel.append(list);
  lazyRows(list, file.findings, (finding) => findingRow(finding, file.byPath.has(finding.path) ? () => open.module(file.byPath.get(finding.path)) : null));
  panel.reveal = (finding) => list.reveal(file.findings.indexOf(finding));
  return panel;
}
