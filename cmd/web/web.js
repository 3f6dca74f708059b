// SPDX-License-Identifier: Apache-2.0
// web.js - the page around minspect in a browser: takes files, runs the program in a worker, shows what it says
//
// Each command is a fresh worker with a fresh instance of the program, so that nothing is left of the one before.
// Answers in HTML are shown in a frame that has an origin of its own: a hostile file's page could not reach this one.

const TEXT_SHOWN = 4 << 20; // bytes of a text that are shown; Save has all of it
const byId = id => document.getElementById(id);
const quoted = word => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word}'`;

let files = [];     // {path, file}
let worker = null;  // the command that runs
let module = null;  // promise of the compiled program
let answer = null;  // the Blob that is shown
let urls = [];      // of what is shown

function program() {
  module ??= (async () => {
    const packed = Uint8Array.from(atob(byId("program").textContent.replace(/\s/g, "")), c => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return WebAssembly.compile(await new Response(stream).arrayBuffer());
  })();
  return module;
}

function say(text, failed = false) {
  byId("state").textContent = text;
  byId("state").classList.toggle("failed", failed);
}

// Words of a command line: blanks part them, quotes of either kind keep them together.
function words(line) {
  return [...line.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)].map(m => m[0].replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
}

function size(bytes) {
  const units = ["bytes", "KiB", "MiB", "GiB"];
  let unit = 0;
  for (; bytes >= 1024 && unit < 3; unit++)
    bytes /= 1024;
  return `${unit ? bytes.toFixed(1) : bytes} ${units[unit]}`;
}

function forget() {
  for (const url of urls)
    URL.revokeObjectURL(url);
  urls = [];
  answer = null;
  byId("main").replaceChildren();
  byId("save").hidden = true;
}

function urlOf(blob) {
  const url = URL.createObjectURL(blob);
  urls.push(url);
  return url;
}

// The command line as the program gets it. "html" and no action at all are the page, on standard output.
function argumentsOf(line) {
  const given = words(line);
  const isPage = given.length === 0 || given[0] === "html" || given[0] === "--html";
  const args = given[0] === "list" ? given.slice(1) : isPage && given.length === 0 ? ["html"] : given;
  if ((isPage || given[0] === "extract") && !args.some(word => word === "-o" || word.startsWith("--output")))
    args.push("-o", "-");
  // a folder or a set is named by its first part, a file that the line names already is not named again
  const roots = [...new Set(files.map(f => f.path.split("/")[0]))].map(root => root.startsWith("-") ? `./${root}` : root)
    .filter(root => !args.some(word => word === root || word.startsWith(`${root}!/`)));
  return { isPage, args: [...args, ...roots] };
}

async function show(result, isPage, seconds) {
  const { status, output, errors } = result;
  const type = isPage ? "text/html" : "text/plain;charset=utf-8";
  const blob = new Blob([output], { type });
  answer = blob;
  byId("progress").hidden = true;
  if (output.size) {
    const save = byId("save");
    save.href = urlOf(blob);
    save.download = isPage ? "minspect.html" : "minspect.txt";
    save.hidden = false;
  }
  if (isPage && output.size) {
    const frame = document.createElement("iframe");
    frame.title = "What minspect says";
    frame.sandbox = "allow-scripts allow-downloads allow-popups";
    frame.src = urlOf(blob);
    byId("main").append(frame);
  } else if (output.size) {
    const pre = document.createElement("pre");
    pre.tabIndex = 0;
    pre.textContent = await blob.slice(0, TEXT_SHOWN).text() + (blob.size > TEXT_SHOWN ? `\n... ${size(blob.size - TEXT_SHOWN)} more: Save has all of it\n` : "");
    byId("main").append(pre);
  }
  byId("help").hidden = true;
  say(errors.trim() || `${seconds.toFixed(1)} s, exit status ${status}`, status !== 0 && errors !== "");
  document.body.dataset.status = status; // what waits for the end looks here
}

async function run() {
  const { isPage, args } = argumentsOf(byId("line").value);
  const total = files.reduce((sum, f) => sum + f.file.size, 0);
  const began = performance.now();

  worker?.terminate();
  forget();
  delete document.body.dataset.status;
  say(`minspect ${args.map(quoted).join(" ")}`);
  byId("progress").value = 0;
  byId("progress").hidden = false;
  try {
    const url = URL.createObjectURL(new Blob([byId("worker").textContent], { type: "text/javascript" }));
    worker = new Worker(url);
    URL.revokeObjectURL(url);
    const mine = worker;
    worker.onmessage = ({ data }) => {
      if ("read" in data) {
        byId("progress").value = Math.min(1, data.read / Math.max(1, total));
        say(`minspect ${args.map(quoted).join(" ")}: ${size(data.read)} read`);
        return;
      }
      mine.terminate();
      show(data, isPage, (performance.now() - began) / 1000);
    };
    worker.onerror = event => {
      event.preventDefault();
      show({ status: 70, output: new Blob(), errors: `the program could not be run: ${event.message}` }, isPage, 0);
    };
    worker.postMessage({ module: await program(), args: ["minspect", ...args], files });
  } catch (error) {
    show({ status: 70, output: new Blob(), errors: `this browser cannot run the program: ${error.message}` }, isPage, 0);
  }
}

function take(list) {
  if (!list.length)
    return;
  files = list;
  document.title = `${files.length === 1 ? files[0].path : `${files.length} files`} - minspect`;
  byId("go").disabled = false;
  run();
}

// What was dropped: files, and folders with all that is in them.
async function dropped(transfer) {
  const list = [];
  const walk = async (entry, prefix) => {
    if (entry.isFile) {
      list.push({ path: prefix + entry.name, file: await new Promise((ok, no) => entry.file(ok, no)) });
      return;
    }
    const reader = entry.createReader();
    for (;;) {
      const some = await new Promise((ok, no) => reader.readEntries(ok, no));
      if (!some.length)
        return;
      for (const inner of some)
        await walk(inner, `${prefix}${entry.name}/`);
    }
  };
  const entries = [...transfer.items].map(item => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length)
    return [...transfer.files].map(file => ({ path: file.name, file }));
  for (const entry of entries)
    await walk(entry, "");
  return list;
}

byId("files").onchange = event => take([...event.target.files].map(file => ({ path: file.name, file })));
byId("folder").onchange = event => take([...event.target.files].map(file => ({ path: file.webkitRelativePath || file.name, file })));
byId("form").onsubmit = event => {
  event.preventDefault();
  if (files.length)
    run();
};
document.ondragover = event => {
  event.preventDefault();
  document.body.classList.add("over");
};
document.ondragleave = event => {
  if (!event.relatedTarget)
    document.body.classList.remove("over");
};
document.ondrop = async event => {
  event.preventDefault();
  document.body.classList.remove("over");
  take(await dropped(event.dataTransfer));
};
