// profile.js - a profile of a run: which operators took how long, and when, if the profile is a trace.

// What a trace says of each event: { name, from, us, lane }, in the order in which they began; microseconds.
function readEvents() {
  let given = null;
  try { given = JSON.parse(page.times); } catch { return []; }
  const list = Array.isArray(given.traceEvents) ? given.traceEvents : Array.isArray(given) ? given : [];
  const events = list.filter((event) => event && event.ph === "X" && Number.isFinite(event.dur) && Number.isFinite(event.ts))
    .map((event) => ({ name: String(event.name), from: event.ts, us: event.dur, thread: `${event.pid} ${event.tid}` })).sort((a, b) => a.from - b.from || b.us - a.us);
  // what runs within another stands below it
  const ends = new Map(), lanes = new Map();
  for (const event of events) {
    const open = ends.get(event.thread) || [];
    while (open.length && open[open.length - 1] <= event.from + 1e-9) open.pop();
    const key = `${event.thread} ${open.length}`;
    if (!lanes.has(key)) lanes.set(key, lanes.size);
    event.lane = lanes.get(key);
    open.push(event.from + event.us);
    ends.set(event.thread, open);
  }
  return events;
}

const LANE = 24;

function timeline(events, said) {
  const begin = events[0].from, end = Math.max(...events.map((event) => event.from + event.us)), lanes = 1 + Math.max(...events.map((event) => event.lane));
  const canvas = el("canvas", { role: "img", "aria-label": `${plural(events.length, "event")} over ${duration(end - begin)}; the table has their sums` });
  const box = el("div", { class: "timeline", tabindex: "0", role: "region", "aria-label": "Timeline; arrows move, plus and minus zoom" }, canvas);
  const seen = { from: begin, to: end };
  const x = (time) => ((time - seen.from) / (seen.to - seen.from)) * box.clientWidth;
  const hue = new Map();
  let chosen = null;

  function draw() {
    const width = box.clientWidth, height = lanes * LANE + 22, ratio = window.devicePixelRatio || 1;
    if (!width) return;
    Object.assign(canvas, { width: width * ratio, height: height * ratio });
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
    const draw = canvas.getContext("2d"), style = getComputedStyle(box);
    const dark = style.getPropertyValue("color-scheme").trim() === "dark" || (style.getPropertyValue("color-scheme").includes("dark") && matchMedia("(prefers-color-scheme: dark)").matches);
    draw.scale(ratio, ratio);
    draw.font = "11px sans-serif";
    const step = 10 ** Math.ceil(Math.log10((seen.to - seen.from) / 10));
    draw.fillStyle = style.color;
    for (let time = Math.ceil((seen.from - begin) / step) * step; time <= seen.to - begin; time += step) {
      draw.globalAlpha = 0.25;
      draw.fillRect(x(begin + time), 0, 1, height);
      draw.globalAlpha = 0.8;
      draw.fillText(duration(time), x(begin + time) + 3, 12);
    }
    draw.globalAlpha = 1;
    for (const event of events) {
      if (event.from + event.us < seen.from || event.from > seen.to) continue;
      if (!hue.has(event.name)) hue.set(event.name, (hue.size * 47) % 360);
      const left = x(event.from), wide = Math.max(1, x(event.from + event.us) - left);
      draw.fillStyle = `hsl(${hue.get(event.name)} 45% ${dark ? 32 : 78}%)`;
      draw.fillRect(left, 18 + event.lane * LANE, wide, LANE - 3);
      if (event === chosen) { draw.strokeStyle = style.outlineColor; draw.lineWidth = 2; draw.strokeRect(left, 18 + event.lane * LANE, wide, LANE - 3); }
      if (wide < 34) continue;
      draw.fillStyle = style.color;
      draw.save();
      draw.beginPath();
      draw.rect(left, 0, wide - 3, height);
      draw.clip();
      draw.fillText(event.name, Math.max(left, 0) + 4, 18 + event.lane * LANE + 14);
      draw.restore();
    }
  }

  function look(from, to) {
    const least = (end - begin) / 1e5 || 1, span = Math.min(end - begin, Math.max(least, to - from));
    seen.from = Math.max(begin, Math.min(from, end - span));
    seen.to = seen.from + span;
    draw();
  }
  const zoom = (by, at) => look(at - (at - seen.from) * by, at + (seen.to - at) * by);
  const timeAt = (event) => seen.from + ((event.clientX - canvas.getBoundingClientRect().left) / box.clientWidth) * (seen.to - seen.from);
  const eventAt = (event) => {
    const time = timeAt(event), lane = Math.floor((event.clientY - canvas.getBoundingClientRect().top - 18) / LANE), slack = (2 / box.clientWidth) * (seen.to - seen.from);
    return events.find((one) => one.lane === lane && time >= one.from - slack && time <= one.from + one.us + slack);
  };
  const tell = (event) => { said.textContent = event ? `${event.name}: ${duration(event.us)}, from ${duration(event.from - begin)} on` : ""; };
  box.addEventListener("wheel", (event) => { if (!event.ctrlKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY) && !event.shiftKey) return; event.preventDefault(); if (event.ctrlKey) zoom(Math.exp(event.deltaY / 300), timeAt(event)); else { const by = ((event.deltaX || event.deltaY) / box.clientWidth) * (seen.to - seen.from); look(seen.from + by, seen.to + by); } }, { passive: false });
  box.addEventListener("pointermove", (event) => tell(eventAt(event) || chosen));
  box.addEventListener("click", (event) => { chosen = eventAt(event) || null; tell(chosen); draw(); });
  box.addEventListener("keydown", (event) => {
    const span = seen.to - seen.from, middle = (seen.from + seen.to) / 2;
    if (event.key === "ArrowRight") look(seen.from + span / 5, seen.to + span / 5);
    else if (event.key === "ArrowLeft") look(seen.from - span / 5, seen.to - span / 5);
    else if (event.key === "+" || event.key === "=") zoom(0.6, middle);
    else if (event.key === "-") zoom(1 / 0.6, middle);
    else if (event.key === "0") look(begin, end);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  new ResizeObserver(draw).observe(box);
  box.draw = draw;
  box.zoom = (by) => zoom(by, (seen.from + seen.to) / 2);
  box.all = () => look(begin, end);
  return box;
}

function profilePanel() {
  const events = readEvents(), rows = [...times].map(([name, { us, calls }]) => ({ name, us, calls }));
  const whole = rows.reduce((sum, row) => sum + row.us, 0);
  const table = dataTable({
    what: "operator", first: "Operator", title: "Operators by time", items: rows.sort((a, b) => b.us - a.us), label: (row) => row.name, text: (row) => row.name, address: () => addressOf("profile", {}),
    go: (row) => { for (const file of files) for (const graph of file.graphs) { const at = graph.nodes.findIndex((node) => firstLine(node) === row.name); if (at >= 0) { if (file !== current) showFile(file); open.graph(graph, at); return; } } },
    columns: [{ title: "Time", numeric: true, text: (row) => duration(row.us), rank: (row) => row.us }, { title: "Share", numeric: true, text: (row) => percent(row.us, whole), rank: (row) => row.us },
      { title: "Calls", numeric: true, text: (row) => row.calls.toLocaleString("en"), rank: (row) => row.calls }, { title: "Each", numeric: true, text: (row) => duration(row.us / Math.max(1, row.calls)), rank: (row) => row.us / Math.max(1, row.calls) }],
  });
  const said = el("p", { class: "note", role: "status" });
  const line = events.length ? timeline(events, said) : null;
  const panel = el("div", { class: "profile" }, heading("Profile", rows.length),
    el("p", { class: "note" }, rows.length ? `${duration(whole)} in ${plural(rows.reduce((sum, row) => sum + row.calls, 0), "call")}. ` : "The profile has no operators. ", events.length ? "The trace that this is made of opens in Perfetto (ui.perfetto.dev) and in chrome://tracing, too." : "A trace has a timeline, too: minspect run FUNCTION FILE --profile=trace.json writes one, which Perfetto opens as well."),
    line ? el("section", {}, el("div", { class: "tools" }, el("button", { type: "button", "aria-label": "Longer", onclick: () => line.zoom(1 / 0.6) }, "\u2212"), el("button", { type: "button", "aria-label": "Shorter", onclick: () => line.zoom(0.6) }, "+"), el("button", { type: "button", onclick: () => line.all() }, "All")), line, said) : null,
    rows.length ? el("section", {}, table) : null);
  panel.tables = { operators: table };
  panel.revealAll = table.revealAll;
  if (line) panel.shown = line.draw;
  return panel;
}
