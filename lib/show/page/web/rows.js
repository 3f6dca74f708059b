// rows.js - lists that the keyboard walks through: one row is in the tab order, j and k or the arrows
// move to the others.

function rowsOf(panel) {
  return [...panel.querySelectorAll("[data-row]")].filter((row) => row.offsetParent !== null);
}

function focusRow(row) {
  for (const other of row.closest("[data-rows]").querySelectorAll("[data-row]")) other.tabIndex = -1;
  row.tabIndex = 0;
  row.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

// The next row in a direction; from outside of the list the first.
function moveRow(panel, step) {
  const rows = rowsOf(panel);
  const at = rows.indexOf(document.activeElement.closest("[data-row]"));
  const next = at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step));
  if (rows[next]) focusRow(rows[next]);
}

// Lists of thousands are drawn as far as they are looked at.
const BATCH = 200;

function lazyRows(list, items, draw) {
  let drawn = 0;
  const more = el("button", { class: "more", type: "button" });
  function next() {
    const end = Math.min(items.length, drawn + BATCH);
    for (; drawn < end; drawn++) more.before(draw(items[drawn], drawn));
    more.hidden = drawn >= items.length;
    more.textContent = `${plural(items.length - drawn, "more row")}`;
  }
  more.addEventListener("click", next);
  list.append(more);
  next();
  const first = list.querySelector("[data-row]");
  if (first) first.tabIndex = 0;
  // for a row that search or a link asks for
  list.reveal = (index) => {
    while (drawn <= index && drawn < items.length) next();
    return list.querySelectorAll("[data-row]")[index];
  };
  list.revealAll = () => {
    while (drawn < items.length) next();
  };
  return list;
}

function flash(row) {
  row.classList.remove("flash");
  void row.offsetWidth; // begins the animation again
  row.classList.add("flash");
}

// --- the module tree ----------------------------------------------------------------------------

function treeItem(file, index, depth, seen, select) {
  const module = file.tree[index];
  const again = seen.has(index);
  seen.add(index);
  const children = again ? [] : module.children.filter((child) => file.tree[child]);
  const share = Math.max(1, Math.round((100 * module.bytes) / Math.max(1, file.bytes)));
  const bar = el("span", { class: "bar", "aria-hidden": "true" });
  bar.style.setProperty("--share", `${module.bytes ? share : 0}%`);
  const row = el("div", { class: `node role-${module.role}`, role: "treeitem", "data-row": "", tabindex: "-1", "aria-level": depth + 1,
    "aria-selected": "false", "aria-expanded": children.length ? "true" : null },
    el("span", { class: "twist", "aria-hidden": "true" }, children.length ? "\u25be" : ""),
    el("span", { class: "kind" }, module.kind),
    el("span", { class: "path" }, again ? `see ${module.path}` : module.path),
    mark(module),
    el("span", { class: "size" }, module.bytes ? bytes(module.bytes) : ""), bar);
  row.style.setProperty("--depth", Math.min(depth, 12));
  row.module = index;
  row.addEventListener("click", (event) => {
    if (event.target.closest(".twist") && children.length) toggleNode(row, depth);
    else select(index, row);
  });
  return { row, children: children.map((child) => [child, depth + 1]) };
}

function toggleNode(row, depth, wanted) {
  const open = wanted === undefined ? row.getAttribute("aria-expanded") !== "true" : wanted;
  row.setAttribute("aria-expanded", String(open));
  row.querySelector(".twist").textContent = open ? "\u25be" : "\u25b8";
  let closed = Infinity;
  for (let next = row.nextElementSibling; next; next = next.nextElementSibling) {
    const level = Number(next.getAttribute("aria-level"));
    if (level <= depth + 1) break;
    if (level <= closed) closed = Infinity;
    next.hidden = !open || closed < level;
    if (next.getAttribute("aria-expanded") === "false" && level < closed) closed = level;
  }
}

// How deep a tree is, the file decides: no recursion.
function treeList(file, select) {
  const list = el("div", { class: "tree", role: "tree", "aria-label": "Modules", "data-rows": "" });
  const seen = new Set();
  for (let root = 0; root < file.tree.length; root++) {
    if (seen.has(root)) continue;
    const waiting = [[root, 0]];
    while (waiting.length) {
      const [index, depth] = waiting.pop();
      const { row, children } = treeItem(file, index, depth, seen, select);
      list.append(row);
      waiting.push(...children.reverse());
    }
  }
  if (list.firstChild) list.firstChild.tabIndex = 0;
  list.addEventListener("keydown", (event) => {
    const row = event.target.closest("[data-row]");
    if (!row || !["ArrowLeft", "ArrowRight"].includes(event.key) || !row.hasAttribute("aria-expanded")) return;
    toggleNode(row, Number(row.getAttribute("aria-level")) - 1, event.key === "ArrowRight");
    event.preventDefault();
  });
  return list;
}
