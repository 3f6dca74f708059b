// base.js - elements, figures and the clipboard.
// Text of a file becomes text nodes and attributes, never markup.

// What reorders or parts lines, or what nobody sees, would make one name look like another: lib/ground/text/invisible.def.
const INVISIBLE =
  /[\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

function visible(key, value) {
  return typeof value === "string" ? value.replace(INVISIBLE, (c) => `\\u{${c.codePointAt(0).toString(16)}}`) : value;
}

const data = document.getElementById("data").textContent;
// such a character is escaped in the document, but for "<" nothing else is
const page = JSON.parse(data, /\\u(?!003[cC])/.test(data) ? visible : undefined);

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function byId(id) {
  return document.getElementById(id);
}

// Integers beyond 2^53 come as strings.
function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let n = Number(count), unit = 0;
  while (n >= 1024 && unit < units.length - 1) {
    n /= 1024;
    unit++;
  }
  return (unit ? n.toFixed(n < 100 ? 1 : 0) : n) + "\u00a0" + units[unit];
}

function percent(part, whole) {
  const share = whole ? (100 * part) / whole : 0;
  return share > 0 && share < 0.1 ? "<0.1\u00a0%" : share.toFixed(1) + "\u00a0%";
}

function plural(count, word) {
  return `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
}

function hex(n) {
  return "0x" + Number(n).toString(16);
}

function basename(name) {
  return name.slice(name.lastIndexOf("/") + 1) || name;
}

// Names sort as people list them: layer2 before layer10.
const natural = new Intl.Collator("en", { numeric: true }).compare;

function announce(text) {
  byId("live").textContent = text;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without the permission, or a page that is not trusted to have it.
    const area = el("textarea", { class: "hidden", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

function copyButton(text, what) {
  const button = el("button", { class: "copy", type: "button", "aria-label": `Copy ${what}` }, "Copy");
  button.addEventListener("click", async (event) => {
    event.stopPropagation();
    await copy(text);
    button.textContent = "Copied";
    announce("Copied");
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  return button;
}

// A file's name as a shell takes it.
function shell(name) {
  return /^[\w@%+=:,./-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}

// A command to paste, with its button. Lines break between its words, not behind their dashes.
function command(text, what) {
  // of a call with a thousand inputs nobody reads more than its beginning
  const MOST = 1200, all = text.length > MOST ? text.slice(0, text.lastIndexOf(" ", MOST)) : text;
  const words = all.split(" ").flatMap((word, i) => [i ? " " : "", el("span", {}, word)]);
  if (all !== text) words.push(` \u2026 and ${plural(text.slice(all.length).split(" ").length - 1, "more word")}, which the button copies`);
  return el("div", { class: "command" }, el("code", {}, words), copyButton(text, what));
}

function chip(text, kind) {
  return el("span", { class: `chip ${kind || ""}` }, text);
}

function empty(text) {
  return el("p", { class: "empty" }, text);
}

function heading(text, count) {
  return el("h2", {}, text, count === undefined ? null : el("span", { class: "count" }, String(count)));
}

// Names that are not for people in the JSON document.
const CONTAINERS = { "elf-so": "shared library", "elf-object": "object file", archive: "static archive", tar: "tar archive", blob: "module blob alone", "macho-library": "Mach-O library", "macho-object": "Mach-O object", "pe-library": "Windows DLL", "coff-object": "COFF object", "c-source": "C source", weights: "file of weights" };

function containerName(about) {
  return (CONTAINERS[about.container] || about.container) + (about.elf ? " (ELF)" : "");
}

// As much of a text as shows what was found in it.
function excerpt(text, wanted, most) {
  const at = text.toLowerCase().indexOf(wanted);
  return at < 0 || at + wanted.length <= most ? text : "\u2026" + text.slice(Math.max(0, at - 12));
}

// The end of a path tells more than its beginning.
function tail(name, most) {
  return name.length > most && name.lastIndexOf("/") > 0 ? "\u2026" + name.slice(1 - Math.max(2, most)) : name;
}
