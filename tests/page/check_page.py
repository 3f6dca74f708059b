#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_page.py - what a reader of a page of minspect --html sees and does, in Chromium

  check_page.py FOLDER [PART...]

PART is the name of a function below; without one all but GRAPHS are made.
FOLDER holds pages: model.html of tests/data/relax/gelu_opencl.so, two.html of it and of gelu.so,
graph.html of legacy/mlp_llvm.so, flow.html of formats/15_relax_cond.blob,
kernels.html of a file with ten thousand kernels, wheel.html of one with 25 libraries, sass.html, lines.html, nosass.html and host.html of machine code with lines, times.html and
notimes.html of a model with a profile, set.html of a wheel for GPUs of two makers, weights.html of an index of safetensors files and layers.html of one whose metadata is markup, newer.html of weights/small.safetensors and small.gguf, noted.html of a library with a note, damaged.html of one
with errors, fatbin.html of cuda/fatbin/vadd_cuda.so, many.html of eight files, moved.html of two with the same modules at other paths, gpu.html of gpu/cuda.so in a wheel, hostile.html of a file whose
names are markup, large.html with a long text. Prints a line a check; 1: one of them failed.
"""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser  # noqa: E402

WIDTHS = {"desk": (1280, 900, False), "tablet": (768, 1024, True), "phone": (390, 844, True)}
failed = 0


def check(name, got, wanted=True):
    global failed
    if got == wanted:
        print(f"ok   {name}")
    else:
        failed += 1
        print(f"FAIL {name}: {got!r}, not {wanted!r}")


def shown(b):
    """The view that is open."""
    return b.run("shownTab")


def text(b, selector):
    return b.run(f"document.querySelector({selector!r})?.textContent")


def count(b, selector):
    return b.run(f"[...document.querySelectorAll({selector!r})].filter(e => e.offsetParent !== null).length")


def clean(b, name):
    """No error, and nothing asked of a network."""
    check(f"{name}: no problem in the console", b.problems, [])
    check(f"{name}: no request but the page", [url for url in b.requests if not url.endswith(f"/{name}.html")], [])


def rendering(b, folder):
    b.open(f"{folder}/model.html")
    check("title", b.run("document.title"), "gelu_opencl.so - minspect")
    check("modules in the tree", b.run("[...document.querySelectorAll('.tree [role=treeitem] .kind')].map(e => e.textContent)"),
          ["relax.VMExecutable", "_lib", "opencl"])
    for name in b.run("openTabs()"):
        b.click(f"#tab-{name}")
        check(f"the view {name} opens", b.run(f"document.querySelector('#panel-0-{name}').offsetHeight > 60"))
    b.click("#tab-functions")
    check("a signature", "forward(x: f32[4, 24]) -> (f32[4, 24])" in text(b, "#panel-0-functions"))
    b.click("#panel-0-functions [data-row] td, #panel-0-functions [data-row] .rest")
    check("a row opens, with a line that calls it", text(b, ".command code"), "minspect run forward data/relax/gelu_opencl.so --input 4x24xf32=rand")
    b.run("navigator.clipboard.writeText = async t => { window.copied = t; }")
    b.click(".command .copy")
    check("its button copies it", b.run("window.copied"), "minspect run forward data/relax/gelu_opencl.so --input 4x24xf32=rand")
    b.click("#tab-texts")
    check("byte code has colours", count(b, ".code .t-register") > 20)
    b.click(".text-row:nth-child(2)")
    check("the list marks which text is shown", text(b, "[role=option][aria-selected=true] .name").strip(), "kernels.cl")
    check("OpenCL C has colours", count(b, ".code .t-space") > 10 and count(b, ".code .t-type") > 10)
    check("the text is whole", b.run("[...document.querySelectorAll('#panel-0-texts .code .line')].map(e => e.textContent).join('\\n').trimEnd() === files[0].texts[1].text.replace(/^$/gm, ' ').trimEnd()"))
    b.click("#tab-findings")
    check("nothing was found but a note", [b.run("files[0].findings.map(f => `${f.severity} ${f.check}`)"), text(b, "#panel-0-findings .chip")], [["note blob-digest"], "no errors"])
    clean(b, "model")


def zooming(b, folder):
    b.open(f"{folder}/model.html")
    b.click("#tab-sizes")
    check("the map has the file's sections", b.run("document.querySelector('#panel-0-sizes .map button').getAttribute('aria-label').startsWith('.rodata, section, 126')"))
    areas = b.run("""[...document.querySelectorAll('#panel-0-sizes .map > button:not(.leaf), #panel-0-sizes .map > [role=img]')].map(e => { const r = e.getBoundingClientRect(); return (r.width + 2) * (r.height + 2); })""")
    whole = b.run("document.querySelector('#panel-0-sizes .map').clientWidth * document.querySelector('#panel-0-sizes .map').clientHeight")
    check("its rectangles fill it", abs(sum(areas) / whole - 1) < 0.02)
    check("and are as large as their shares", abs(areas[0] / whole - 128870 / 166312) < 0.01)
    small = b.run("""[...document.querySelectorAll('.map .cell')].filter(e => { const r = e.getBoundingClientRect(); return r.width > parseFloat(e.style.width) + 0.6 || r.height > parseFloat(e.style.height) + 0.6; }).length""")
    check("no rectangle is larger than its place", small, 0)
    b.click("#panel-0-sizes .map button")
    check("a click zooms", text(b, "#panel-0-sizes .crumbs"), "gelu_opencl.so.rodata, 126\u00a0KiB")
    b.click("#panel-0-sizes .map button")
    b.click("#panel-0-sizes .map button")
    check("down to the parts of a module", b.run("[...document.querySelectorAll('.size-row .name')].map(e => e.textContent)"), ["kernels.cl", "fields"])
    b.key("Escape")
    check("Esc goes back", "opencl" not in text(b, "#panel-0-sizes .crumbs span"))
    b.click("#panel-0-sizes .crumbs button")
    check("so do the crumbs", text(b, "#panel-0-sizes .crumbs"), "gelu_opencl.so, 162\u00a0KiB")
    b.run("document.querySelector('#panel-0-sizes .map button').focus()")
    b.key("Enter")
    check("Enter zooms, and the focus stays in the map", b.run("document.activeElement.closest('.map') !== null && document.querySelector('#panel-0-sizes .crumbs button') !== null"))
    clean(b, "model")


def keyboard(b, folder):
    b.open(f"{folder}/model.html")
    order = []
    for _ in range(4):
        b.key("Tab")
        order.append(b.run("document.activeElement.id || document.activeElement.className"))
    check("the tab key visits in order", order, ["skip", "search", "theme", "tab-overview"])
    b.run("document.activeElement.blur()")
    b.key("2")
    check("a digit opens a view", shown(b), "sizes")
    b.key("1")
    b.key("j")
    b.key("j")
    check("j goes to the next row", b.run("document.activeElement.querySelector('.kind').textContent"), "_lib")
    b.key("ArrowDown")
    check("so does the arrow", b.run("document.activeElement.querySelector('.kind').textContent"), "opencl")
    b.key("k")
    b.key("ArrowLeft")
    check("an arrow closes a module", count(b, ".tree [role=treeitem]"), 2)
    b.key("ArrowRight")
    b.key("j")
    b.key("Enter")
    check("Enter opens the module", text(b, ".module h2"), "opencl")
    check("the focus can be seen", b.run("getComputedStyle(document.activeElement).outlineStyle"), "solid")
    b.key("/")
    check("/ goes to the search", b.run("document.activeElement.id"), "search")
    b.key("Escape")
    check("Esc leaves it", b.run("document.activeElement.id"), "")
    b.key("6")
    b.key("j")
    check("j walks through the graph", text(b, ".detail h3"), "x")
    b.key("j")
    check("a node of byte code says which constants it takes", b.run("[...document.querySelectorAll('.detail .taken tbody tr')].map(r => [...r.children].map(c => c.textContent))"),
          [["x", "input", "float32[4, 24]", ""], ["c[6]", "constant", "float32[24]", "96\u00a0B"], ["c[7]", "constant", "float32[24]", "96\u00a0B"]])
    check("nodes have types", b.run("[...document.querySelectorAll('.g-node')].map(e => [...e.querySelectorAll('text')].map(t => t.textContent))"),
          [["x", "float32[4, 24]"], ["layer_norm", "float32[4, 24]", "2 constants"], ["fused_matmul_add_gelu", "float32[4, 48]", "2 constants"],
           ["fused_matmul1_add1_add2", "float32[4, 24]", "2 constants"], ["result", "float32[4, 24]"]])
    clean(b, "model")


def searching(b, folder):
    b.open(f"{folder}/model.html")
    b.key("/")
    b.type("layer_norm")
    kinds = b.run("[...document.querySelectorAll('.result .chip')].map(e => e.textContent)")
    check("names and lines are found", {"function", "kernel", "graph node", "line"} <= set(kinds))
    check("a listbox tells which is chosen", b.run("byId(byId('search').getAttribute('aria-activedescendant')).getAttribute('aria-selected')"), "true")
    b.key("Enter")
    check("Enter leads there", [shown(b), b.run("document.activeElement.querySelector('.name').textContent")], ["functions", "layer_norm"])
    b.key("/")
    b.run("byId('search').value = ''")
    b.type("convert_float(")
    line = b.run("[...document.querySelectorAll('.result')].findIndex(e => e.textContent.startsWith('line'))")
    if line >= 0:
        b.click(f"#result-{line}")
    else:
        b.run("byId('search').value = ''")
        b.type("__kernel void")
        b.key("Enter")
    check("a line of a text is shown", shown(b) == "texts" and count(b, ".line.found") == 1)
    b.key("/")
    b.run("byId('search').value = ''")
    b.type("gelu")
    hidden = b.run("""[...document.querySelectorAll('.result')].filter(row => ![...row.querySelectorAll('mark')].some(mark => mark.getBoundingClientRect().right <= mark.parentElement.getBoundingClientRect().right)).map(row => row.textContent)""")
    check("what was found can be seen in each result", hidden, [])
    b.key("Escape")
    b.key("/")
    b.type("no such thing")
    check("and what is not there is said", text(b, ".result"), "Nothing has that in its name or text.")
    def results(typed):
        b.run("byId('search').value = ''")
        b.type(typed)
        return b.run("[...document.querySelectorAll('.result')].map(e => [e.querySelector('.chip') ? e.querySelector('.chip').textContent : '', (e.querySelector('.name') || e).textContent])")
    check("a file is found by its name", ["file", "gelu_opencl.so"] in results("gelu_opencl.so"))
    check("and a section", ["section", ".rodata"] in results(".rodata"))
    b.key("Enter")
    check("which leads into the map", [shown(b), text(b, "#panel-0-sizes .crumbs span")[:7]], ["sizes", ".rodata"])
    b.key("/")
    both = results("kernel layer_norm")
    check("two words must both be there", len(both) > 0 and all(row[0] for row in both))
    check("and in any order", len(results("layer_norm kernel")), len(both))
    check("a regular expression", all("layer_norm" in name.lower() or kind == "line" for kind, name in results("/^layer_norm$/")) and results("/^layer_norm$/")[0][1] == "layer_norm")
    check("one with a mistake is said to be none", results("/(/")[0][1].startswith("No regular expression"))
    check("what is searched is in the address", (results("gelu"), b.run("new URLSearchParams(location.hash.slice(1)).get('find')"))[1], "gelu")
    for width in (390, 640, 700, 768, 860, 1280):
        b.size(width, 900)
        b.run("byId('search').value = ''")
        b.key("Escape")
        b.key("/")
        b.type("layer")
        check(f"the list of results is whole at {width}", b.run("(r => [r.left >= 0, r.right <= innerWidth, r.width > 300])(byId('results').getBoundingClientRect())"), [True, True, True])
        b.key("Escape")
    b.size(*WIDTHS["desk"])
    clean(b, "model")


def side_by_side(b, folder):
    b.open(f"{folder}/two.html")
    check("what differs is first", shown(b), "diff")
    check("as --diff says it", [b.run("page.diff.differences.length"), count(b, "#panel-diff tbody tr[data-row]")], [b.run("page.diff.differences.length")] * 2)
    b.run("(s => { s.value = 'removed'; s.dispatchEvent(new Event('change')); })(document.querySelector('#panel-diff .data-tools select'))")
    check("of one sort", b.run("[...new Set([...document.querySelectorAll('#panel-diff tbody .chip')].map(e => e.textContent))]"), ["removed"])
    b.run("(s => { s.value = ''; s.dispatchEvent(new Event('change')); })(document.querySelector('#panel-diff .data-tools select'))")
    with_lines = b.run("page.diff.differences.findIndex(d => d.diff)")
    if with_lines >= 0:
        b.run(f"document.querySelectorAll('#panel-diff tbody tr[data-row]')[{with_lines}].click()")
        check("a row opens on its lines", count(b, "#panel-diff .hunks .added, #panel-diff .hunks .removed") > 0)
    b.click("#tab-compare")
    rows = b.run("[...document.querySelectorAll('.compare tbody tr[data-row]')].map(e => [e.className, ...[...e.children].map(c => c.textContent)])")
    check("a module that one file has not", next(row for row in rows if "/0/0  opencl" in row[1])[3], "not there")
    check("a function that differs", any(row[0] == "state-changed" and "layer_norm" in row[1] for row in rows))
    same = b.run("Object.values(differences).flat().find(row => row.state === 'same').label")
    check("equal ones are left out", any(same == row[1].strip() for row in rows), False)
    b.click("#only")
    check("unless they are wanted", b.run(f"[...document.querySelectorAll('.compare tbody th')].some(e => e.textContent.trim() === {same!r})"))
    b.click("#only")
    b.click(".compare .link")
    lines = b.run("[...document.querySelectorAll('.lines .side')].map(e => [e.className, e.querySelector('.what').textContent])")
    check("texts by line", any(kind == "side removed" for kind, _ in lines) and any(kind == "side added" for kind, _ in lines))
    both = b.run("""(() => { const [a, c] = files.map(f => f.texts.find(t => t.name === 'bytecode.txt').text.split('\\n'));
        const pairs = lineUp(a, c); return pairs.every(([i, k]) => i < 0 || k < 0 || a[i] === c[k])
          && pairs.filter(p => p[0] >= 0).length === a.length && pairs.filter(p => p[1] >= 0).length === c.length; })()""")
    check("each line once", both)
    b.click("#files button:nth-child(2)")
    check("the other file", text(b, ".overview .facts code"), "data/relax/gelu.so")
    b.click("#tab-functions")
    check("its differences are marked", count(b, ".data-table .chip.changed") + count(b, ".data-table .chip.only") > 0)
    clean(b, "two")


def problems_are_told(b, folder):
    tile = "(e => [e.className, e.textContent])(document.querySelector('.figure:last-child'))"
    b.open(f"{folder}/noted.html")
    check("a note is no problem", [b.run("files[0].findings.map(f => f.severity)"), b.run(tile)], [["note"], ["figure fine", "0errors"]])
    check("nor does the tab count it", text(b, "#tab-findings .count"), "")
    b.open(f"{folder}/damaged.html")
    wanted = b.run("files[0].verify.errors")
    check("errors have their colour", [b.run(tile)[0], wanted > 0, text(b, "#tab-findings .count").startswith(str(wanted))], ["figure error", True, True])
    ground = "getComputedStyle(document.querySelector('.figure:{}-child')).backgroundColor"
    check("which is not that of the others", b.run(ground.format("last")) != b.run(ground.format("first")))
    clean(b, "damaged")


def fatbin(b, folder):
    b.open(f"{folder}/fatbin.html")
    check("PTX within a fatbin is a source", b.run("files[0].texts.map(t => t.name)"), ["compute_90.ptx"])
    b.click("#tab-texts")
    check("and can be read", ".version" in text(b, ".code"))
    clean(b, "fatbin")


def many(b, folder):
    overlap = """[...document.querySelectorAll('th, #title, #files, .find, .tabs button')].filter(e => e.offsetParent && e.scrollWidth > e.clientWidth + 1).map(e => e.textContent.slice(0, 40))"""
    for width, size in WIDTHS.items():
        b.size(*size)
        b.open(f"{folder}/many.html")
        check(f"eight files on a {width}: nothing is cut or lies over another", b.run(overlap), [])
        b.open(f"{folder}/two.html")
        check(f"nor with two on a {width}", b.run(overlap + ".concat([...document.querySelectorAll('.tabs button, #files button')].filter(e => e.offsetParent && e.getBoundingClientRect().right > Math.min(innerWidth, e.parentElement.getBoundingClientRect().right) + 1).map(e => e.textContent))"), [])
        b.open(f"{folder}/many.html")
        check(f"and the title is whole on a {width}", text(b, "#title"), "8 files")
    b.size(*WIDTHS["desk"])
    b.open(f"{folder}/many.html")
    b.run("(s => { s.value = '2'; s.dispatchEvent(new Event('change')); })(byId('file-choice'))")
    check("a file is chosen from a list", [b.run("current.index"), shown(b)], [2, "overview"])
    clean(b, "many")


def addresses(b, folder):
    b.open(f"{folder}/two.html")
    check("no address before the reader moves", b.run("location.hash"), "")
    b.click("#files button:nth-child(1)")
    b.run("open.kernel('layer_norm_kernel')")
    address = b.run("location.hash")
    check("a kernel has an address", address, "#view=functions&kernel=layer_norm_kernel&module=/0/0")
    check("which its name leads to", b.run("document.activeElement.querySelector('a.name').getAttribute('href')"), address)
    b.run("open.module(1)")
    check("a module, too", b.run("location.hash"), "#view=overview&module=/0")
    back = "new Promise(done => { addEventListener('hashchange', () => setTimeout(() => done(0), 50), { once: true }); history.back(); })"
    b.run(back)
    check("the button of the browser goes back", [b.run("location.hash"), shown(b), b.run("document.activeElement.querySelector('.name').textContent")], [address, "functions", "layer_norm_kernel"])
    b.open(f"{folder}/model.html")  # another document: the next address is loaded, not gone to
    b.open(f"{folder}/two.html#file=2&view=texts&module=/&source=bytecode.txt&line=3")
    check("a line of a source in the second file", [b.run("current.index"), shown(b), count(b, ".line.found")], [1, "texts", 1])
    for bad in ("view=nothing", "file=99&view=sizes", "file=-1", "view=functions&kernel=%3Cimg src=x onerror=owned=1%3E", "view=overview&module=/9/9", "view=texts&source=bytecode.txt&line=1e9", "view=texts&source=bytecode.txt&line=0.5", "view=graph&graph=constructor", "%", "view=__proto__"):
        b.run(f"new Promise(done => {{ addEventListener('hashchange', () => setTimeout(() => done(0), 20), {{ once: true }}); location.hash = {bad!r}; }})")
        check(f"an address that leads nowhere: {bad}", [b.run("TABS.some(tab => tab[0] === shownTab) && document.querySelectorAll('[role=tabpanel]:not([hidden])').length"), count(b, "img"), b.run("window.owned === undefined")], [1, 0, True])
    check("addresses: no problem in the console", b.problems, [])


def views(b, folder):
    """What a reader filters and sorts is in the address, and back from it."""
    b.open(f"{folder}/gpu.html")
    b.click("#tab-functions")
    b.run("(s => { s.value = [...s.options].find(o => o.textContent.includes('registers')).value; s.dispatchEvent(new Event('change')); })(document.querySelector('#panel-0-functions .sorting'))")
    b.run("(f => { if (f) { f.value = 'e'; f.dispatchEvent(new Event('input')); } })(document.querySelector('#panel-0-functions .filter'))")
    address = b.run("location.hash")
    names = "[...document.querySelectorAll('#panel-0-functions tr[data-row] .name')].map(e => e.textContent)"
    order = b.run(names)
    check("the order of a table is in the address", "kernels.sort=-Registers" in address, True)
    b.open(f"{folder}/gpu.html{address}")
    check("and an address gives the table back", b.run(names), order)
    b.open(f"{folder}/gpu.html#view=functions&kernels.sort=-nonsense&kernels.only=sm_0&kernels.filter=%3Cb%3E")
    check("whatever an address says", b.run("document.querySelectorAll('#panel-0-functions tr[data-row] b').length"), 0)
    clean(b, "gpu")


def moved(b, folder):
    b.open(f"{folder}/moved.html")
    b.click("#tab-compare")
    rows = b.run("Object.fromEntries(Object.entries(differences).map(([name, rows]) => [name, rows.map(row => `${row.label.trim()} ${row.state}`)]))")
    check("modules are found again at other paths", rows["modules"], ["/  example.root same", "/0  opencl changed", "/1  opencl changed", "/0  example.net partial"])
    check("kernels are told apart by their text", rows["kernels"], ["shift changed", "twice same", "scale changed"])
    cells = b.run("[...document.querySelectorAll('.compare td.differs')].map(e => e.textContent)")
    check("where a module went", any("moved to /2" in cell for cell in cells))
    check("whose text differs", [sum("its text differs" in cell for cell in cells), sum("what stands around it differs" in cell for cell in cells)], [1, 1])
    clean(b, "moved")


def graphs(b, folder):
    b.open(f"{folder}/graph.html")
    b.click("#tab-graph")
    wanted = b.run("files[0].graphs[0].nodes.length")
    check("nodes of a graph executor", count(b, ".g-node"), wanted)
    above = b.run("""(() => { const plan = planOf(files[0].graphs[0], { folded: false, open: new Map() }); return plan.edges.length === files[0].graphs[0].edges.length && plan.edges.every((e) => plan.ofNode.get(e.source).y < plan.ofNode.get(e.target).y); })()""")
    check("values flow downwards", above)
    b.click(".g-operator rect")
    check("a node says what it is", "is used by" in text(b, ".detail") or "gets its values from" in text(b, ".detail"))
    taken = "[...document.querySelectorAll('.detail .taken tbody tr')].map(r => [...r.children].map(c => c.textContent))"
    check("a node says what it takes, in order, with weights", b.run(taken),
          [["data", "input", "float32[2, 20]", ""], ["p0", "weight", "float32[2, 20, 6]", "960\u00a0B"], ["p1", "weight", "float32[1, 12]", "48\u00a0B"], ["extra", "input", "float32[2, 12]", ""]])
    check("and its attributes", b.run("[...document.querySelectorAll('.detail dt')].map((e, i) => [e.textContent, document.querySelectorAll('.detail dd')[i].textContent]).filter(([k]) => ['weight_layout', 'num_inputs', 'Storage'].includes(k))"),
          [["num_inputs", "4"], ["weight_layout", "NC6n"], ["Storage", "4"]])
    b.click(".detail .taken button")
    check("from where one gets to the node that makes it", text(b, ".detail h3"), "data")
    b.key("j")
    b.key("j")
    b.click(".detail .taken tr:nth-child(2) button")
    check("or to the weight", [shown(b), text(b, ".module h2")], ["overview", "GraphExecutorFactory"])
    clean(b, "graph")
    b.open(f"{folder}/flow.html")
    b.click("#tab-graph")
    check("byte code with jumps as blocks", [count(b, ".g-block"), b.run("[...document.querySelectorAll('.g-label')].map(e => e.textContent).sort()")], [4, ["else", "then"]])
    b.run("window.wide = { is_flow: false, name: 'made', module: '/', nodes: Array.from({length: 12000}, (_, i) => ({kind: i ? 'operator' : 'input', label: 'n' + i})), edges: Array.from({length: 11999}, (_, i) => [Math.max(0, i - i % 7), i + 1]) }; files[0].graphs.push(window.wide)")
    start = b.busy()
    b.run("open.graph(window.wide)")
    check("twelve thousand nodes are laid out in 5 seconds", b.busy() - start < 5)
    check("and a part of them is drawn", 0 < count(b, ".g-node") < 2000)
    clean(b, "flow")


def weights(b, folder):
    rows = "[...document.querySelectorAll('#panel-0-tensors tbody tr[data-row]')].map(r => [...r.children].map(c => c.textContent))"
    b.open(f"{folder}/weights.html")
    check("a file of weights has views of its own", b.run("openTabs()"), ["overview", "sizes", "tensors", "findings"])
    check("what it holds", "3 tensors, 17 elements, 70\u00a0B" in text(b, ".overview .facts"))
    b.click("#tab-tensors")
    check("tensors with their figures", b.run(rows)[0], ["a", "float32", "3 \u00d7 4", "48\u00a0B", "10.3\u00a0%", "0", "2.75", "1.375", "model-00001-of-00002.safetensors"])
    clean(b, "weights")
    b.open(f"{folder}/layers.html")
    check("metadata is no markup", [b.run("typeof owned"), "<script>owned=1" in text(b, ".overview .facts")], ["undefined", True])
    b.click("#tab-tensors")
    b.click("#panel-0-tensors thead th:nth-child(8) button")
    check("sorted by a figure", b.run(rows)[0][0], "layers.2.k.weight")
    b.click("#panel-0-tensors tbody tr td:nth-child(2)")
    check("a row opens on the tensor", "from 256 to 287, 271.5 on average" in text(b, "#panel-0-tensors .detail-of"))
    check("with a histogram", [count(b, "#panel-0-tensors .magnitudes rect"), text(b, "#panel-0-tensors .magnitudes title")], [1, "2^8 to 2^9: 32"])
    b.click("#tab-sizes")
    check("the map is by the parts of names", b.run("[...document.querySelectorAll('#panel-0-sizes .size-row .name')].map(e => e.textContent)"), ["layers", "names and padding"])
    b.click("#panel-0-sizes .map button")
    b.click("#panel-0-sizes .map button")
    check("down to tensors", text(b, "#panel-0-sizes .crumbs"), "layers.safetensorslayers0, 384\u00a0B")
    b.click("#panel-0-sizes .map button")
    check("which lead to the table", [shown(b), b.run("document.activeElement.querySelector('.name').textContent")], ["tensors", "layers.0.q.weight"])
    b.key("/")
    b.type("layers.1.k")
    b.key("Enter")
    check("so does the search", b.run("document.activeElement.querySelector('.name').textContent"), "layers.1.k.weight")
    for width, size in WIDTHS.items():
        b.size(*size)
        for name in b.run("openTabs()"):
            b.click(f"#tab-{name}")
            check(f"{name} of weights on a {width} is not wider than the page", b.run("document.documentElement.scrollWidth <= innerWidth"))
    b.size(*WIDTHS["desk"])
    clean(b, "layers")
    b.open(f"{folder}/newer.html")
    check("of two files of weights what differs", [shown(b), b.run("[...document.querySelectorAll('#panel-diff tbody tr[data-row] .name')].map(e => e.textContent)")], ["diff", ["q"]])
    clean(b, "newer")


def gpu(b, folder):
    b.open(f"{folder}/gpu.html")
    check("GPU code by device", b.run("[...document.querySelectorAll('.facts li')].map(e => e.textContent.split(',')[0])"),
          ["sm_80 cubin: 2 images", "sm_90 cubin: 2 images", "compute_90 PTX: 2 images"])
    check("its containers", b.run("[...document.querySelectorAll('.gpu .card h3')].map(e => e.textContent)"), [".nv_fatbin:0", ".nv_fatbin:1"])
    check("with their images", count(b, ".gpu .part"), 6)
    b.click(".gpu .part.opens")
    check("PTX opens", [shown(b), count(b, ".code .line") > 10], ["texts", True])
    b.click("#tab-functions")
    check("kernels tell what they need", "Registers" in text(b, "#panel-0-functions thead"))
    clean(b, "gpu")


def colours(b, folder):
    ground = "getComputedStyle(document.body).backgroundColor"
    b.colours("light")
    b.open(f"{folder}/model.html")
    light = b.run(ground)
    b.colours("dark")
    dark = b.run(ground)
    check("the system's colours", light != dark)
    b.click("#theme")
    check("the switch to light", b.run(ground), light)
    b.click("#theme")
    check("and to dark", b.run(ground), dark)
    b.click("#theme")
    # of each text that can be seen, against what is behind it (WCAG 2, AA)
    low = """(() => {
      const paint = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
      const rgb = c => { paint.clearRect(0, 0, 1, 1); paint.fillStyle = c; paint.fillRect(0, 0, 1, 1); return [...paint.getImageData(0, 0, 1, 1).data]; };
      const light = c => c.slice(0, 3).map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
      const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] > 250) return c; } return [255, 255, 255, 255]; };
      const mix = (c, g, a) => c.map((v, i) => v * a + g[i] * (1 - a));
      const opacity = e => { let o = 1; for (; e; e = e.parentElement) o *= getComputedStyle(e).opacity; return o; };
      const bad = new Set();
      for (const e of document.querySelectorAll('body *')) {
        if (e.closest('svg') || !e.offsetParent || ![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
        const ground = behind(e), a = light(mix(rgb(getComputedStyle(e).color), ground, opacity(e))), g = light(ground);
        const ratio = (Math.max(a, g) + .05) / (Math.min(a, g) + .05);
        if (ratio < 4.5) bad.add(`${e.tagName}.${e.className} ${ratio.toFixed(2)}`);
      }
      return [...bad].slice(0, 8); })()"""
    for scheme in ("light", "dark"):
        b.colours(scheme)
        bad = []
        for name in b.run("openTabs()"):
            b.click(f"#tab-{name}")
            bad += b.run(low)
        check(f"contrast, {scheme}", bad, [])
    b.colours("light")
    clean(b, "model")


def accessible(b, folder):
    b.open(f"{folder}/two.html")
    bad = []
    for name in b.run("openTabs()"):
        b.click(f"#tab-{name}")
        bad += b.run("""[...document.querySelectorAll('button, input, select, [role=treeitem], [role=button], [tabindex="0"]')].filter(e => e.offsetParent !== null
          && !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length || e.getAttribute('aria-labelledby'))).map(e => e.outerHTML.slice(0, 90))""")
    check("whatever takes the focus has a name", bad, [])
    tree = b.call("Accessibility.getFullAXTree")["nodes"]
    roles = {node["role"]["value"] for node in tree if not node.get("ignored")}
    check("roles that a screen reader knows", {"tablist", "tab", "tabpanel", "main", "combobox", "heading"} <= roles)
    ids = b.run("[...document.querySelectorAll('[id]')].map(e => e.id)")
    check("no id twice", len(ids), len(set(ids)))
    clean(b, "two")


def narrow(b, folder):
    for page in ("model", "two", "graph", "gpu", "hostile"):
        for width, (x, y, mobile) in WIDTHS.items():
            b.size(x, y, mobile)
            b.open(f"{folder}/{page}.html")
            wide = []
            for name in b.run("openTabs()"):
                b.click(f"#tab-{name}")
                if b.run("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
                    wide.append(name)
            check(f"{page} on a {width}: nothing is wider than the page", wide, [])
    b.size(*WIDTHS["desk"])


def printing(b, folder):
    wanted = ["overview", "sizes", "functions", "memory", "findings"]
    shown_panels = "[...document.querySelectorAll('[role=tabpanel]')].filter(e => e.offsetHeight > 0).map(e => e.tab)"
    for visited in ([], ["graph", "findings", "texts", "functions"]):
        b.open(f"{folder}/model.html")
        for name in visited:
            b.click(f"#tab-{name}")
        b.media("print")
        b.run("window.dispatchEvent(new Event('beforeprint'))")
        check(f"paper has the report, whatever was opened: {visited}", b.run(shown_panels), wanted)
        check("and no controls", count(b, ".tabs button, .copy, #search, .filter"), 0)
        b.media("")
    b.click("#tab-texts")
    b.media("print")
    b.run("window.dispatchEvent(new Event('beforeprint'))")
    check("a source that is shown is printed alone", [b.run(shown_panels), count(b, ".code .line") > 5], [["texts"], True])
    b.media("")
    clean(b, "model")
    b.open(f"{folder}/kernels.html")
    start = b.busy()
    b.run("window.dispatchEvent(new Event('beforeprint'))")
    pages = len(b.call("Page.printToPDF")["data"])
    check("ten thousand kernels are printed in ten seconds", [b.busy() - start < 10, pages > 10000], [True, True])
    check("as many as somebody reads, and a word of the others", text(b, ".functions .on-paper"), "and 9,000 more kernels, which minspect functions kernels.so lists")


def tables(b, folder):
    b.open(f"{folder}/kernels.html")
    b.click("#tab-functions")
    panel = "#panel-0-functions"
    first = f"document.querySelector('{panel} tbody [data-row] .name').textContent"
    check("a part of ten thousand rows is drawn", 0 < count(b, f"{panel} tbody tr") <= 500)
    start = b.busy()
    b.click(f"{panel} thead th:first-child button")
    check("they sort in a second", [b.busy() - start < 1.5, b.run(first)], [True, "k0"])
    b.click(f"{panel} thead th:first-child button")
    check("and the other way around, layer2 before layer10", b.run(first), "k9999")
    b.click(f"{panel} .filter")
    b.type("k77")
    check("a filter", [b.run(f"[...document.querySelectorAll('{panel} tbody .name')].every(e => e.textContent.includes('k77'))"), text(b, f"{panel} .data-tools .note")], [True, "111 of 10,000 kernels"])
    b.key("Enter")
    check("Enter leads to its first row", b.run("document.activeElement.matches('tr[data-row]')"))
    b.key("Enter")
    check("and opens it", count(b, f"{panel} .below .command"), 1)
    b.run("open.kernel('k5')")
    check("a link shows what the filter had hidden", b.run("document.activeElement.querySelector('.name').textContent"), "k5")
    clean(b, "kernels")
    b.open(f"{folder}/gpu.html")
    b.click("#tab-functions")
    cell = "[...document.querySelectorAll('{} tbody [data-row]')].map(row => row.querySelector('[data-label={}]').textContent)"
    heads = b.run(f"[...document.querySelectorAll('{panel} thead th')].map(e => e.textContent)")
    check("what kernels need has a column each", heads, ["Name", "Devices", "Registers", "Stack", "Shared", "Constants", "Code", "Occupancy", "Module"])
    before = b.run(cell.format(panel, "Registers"))
    b.click(f"{panel} thead th:nth-child(3) button")
    after = b.run(cell.format(panel, "Registers"))
    most = lambda values: [int(v.replace("\u2013", " ").split()[-1]) for v in values]  # noqa: E731
    check("the most registers are one click away", [most(after), b.run(f"document.querySelector('{panel} th[aria-sort]').getAttribute('aria-sort')")], [sorted(most(before), reverse=True), "descending"])
    check("C++ has names, and its symbols beside them", b.run(f"[...document.querySelectorAll('{panel} a.name')].filter(e => e.title).map(e => [e.textContent, e.title])")[0],
          ["shared_kernel<float>(float*, float const*, int)", "_Z13shared_kernelIfEvPT_PKS0_i"])
    b.click(f"{panel} tbody [data-row] td")
    check("an open row has a line for each device that differs, and a chart of block sizes", [count(b, f"{panel} .below .plain-table tbody tr") >= 1, count(b, f"{panel} .block-chart rect") >= 32, count(b, f"{panel} .block-chart .here") >= 1], [True, True, True])
    check("occupancy is what the command says", b.run("[...files[0].occupancy.values()].every(row => row.percent === Number(row.chart.split(' ')[Math.ceil(row.threads / row.lanes) - 1]))"))
    b.run(f"(s => {{ s.value = 'sm_90'; s.dispatchEvent(new Event('change')); }})(document.querySelector('{panel} .device'))")
    check("figures of one device", all("up to" not in value for value in b.run(cell.format(panel, "Code"))))
    clean(b, "gpu")


def levels(b, folder):
    b.open(f"{folder}/gpu.html")
    check("the map is on the first screen", b.run("(r => r.top > 0 && r.bottom < innerHeight)(document.querySelector('.overview-map .map').getBoundingClientRect())"))
    b.click("#tab-sizes")
    row = "(name => [...document.querySelectorAll('#panel-0-sizes .size-row')].find(e => e.querySelector('.name').textContent.startsWith(name)).click())"
    b.run(f"{row}('.nv_fatbin')")
    check("it goes down to devices", {"sm_80 cubin", "sm_90 cubin", "compute_90 PTX"} <= set(b.run("[...document.querySelectorAll('#panel-0-sizes .size-row .name')].map(e => e.textContent)")))
    b.run(f"{row}('sm_90')")
    check("and to kernels", "first" in b.run("[...document.querySelectorAll('#panel-0-sizes .size-row .name')].map(e => e.textContent)"))
    b.run(f"{row}('first')")
    check("which lead to what they need", [shown(b), b.run("document.activeElement.querySelector('.name').textContent")], ["functions", "first"])
    b.open(f"{folder}/model.html")
    b.click("#tab-sizes")
    b.run(f"{row}('.text')")
    check("host code has functions", any("layer_norm" in name for name in b.run("[...document.querySelectorAll('#panel-0-sizes .size-row .name')].map(e => e.textContent)")))
    whole = b.run("(function sum(node) { return !node.children.length || Math.abs(node.children.reduce((s, c) => s + c.bytes, 0) - node.bytes) === 0 && node.children.every(sum); })(sizeMap(files[0]))")
    check("what is within a box fills it", whole)
    clean(b, "model")


def machine(b, folder):
    """Machine code beside its source: which lines belong together, pointed at, clicked, walked through."""
    tied = "[...document.querySelectorAll('.panes .code')].map(pane => [...pane.querySelectorAll('.tied')].map(line => line.textContent.trim()))"
    at = "(r => ({x: r.x + 60, y: r.y + 5}))([...document.querySelectorAll('.panes .code:%s-child .line')].find(l => l.textContent.includes('%s')).getBoundingClientRect())"
    for page, line, wanted in (("sass", "y[i] = a", "FFMA"), ("host", "return a * a", "imul")):
        b.open(f"{folder}/{page}.html")
        if page == "host" and not b.run("files[0].code.length"):
            check("without LLVM the page says what it wants", "LLVM" in b.run("files[0].code_problems.join(' ')"))
            continue
        b.click("#tab-code")
        check(f"{page}: source and machine code, side by side", [count(b, ".panes .code"), b.run("document.querySelectorAll('.panes .tinted').length > 3")], [2, True])
        b.call("Input.dispatchMouseEvent", type="mouseMoved", **b.run(at % ("first", line)))
        b.settle()
        source, code = b.run(tied)
        check(f"{page}: pointing at a line marks its instructions", [len(source) == 1 and line in source[0], any(wanted in c for c in code)], [True, True])
        point = b.run(at % ("last", wanted))
        for kind in ("mousePressed", "mouseReleased"):
            b.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **point)
        b.call("Input.dispatchMouseEvent", type="mouseMoved", x=5, y=5)
        b.settle()
        check(f"{page}: a click on an instruction keeps its line marked", [line in c for c in b.run(tied)[0]], [True])
        before = b.run(tied)
        b.key("j" if page == "host" else "k")
        check(f"{page}: a key goes to another source line", b.run(tied) != before)
        clean(b, page)
    b.open(f"{folder}/lines.html")
    b.click("#tab-code")
    check("a source line has how many instructions are of it, and what they do", b.run("[...document.querySelectorAll('.panes .line[data-work]')].map(l => [l.dataset.work, l.title])"),
          [["1 \u00b7 9 %", "1 of 11 instructions"], ["8 \u00b7 73 %", "8 of 11 instructions; global loads 1 of 4 B; global stores 1 of 4 B"],
           ["2 \u00b7 18 %", "2 of 11 instructions"]])
    clean(b, "lines")
    b.open(f"{folder}/sass.html")
    b.click("#tab-functions")
    b.click("#panel-0-functions section:last-child tbody [data-row] td")
    b.run("[...document.querySelectorAll('.detail-of .link')].find(e => e.textContent === 'Machine code').click()")
    check("a kernel leads to its machine code, which has an address", [shown(b), "code=vadd" in b.run("location.hash")], ["code", True])
    b.run("document.querySelector('.machine select').value = [...document.querySelector('.machine select').options].length - 1; document.querySelector('.machine select').dispatchEvent(new Event('change'))")
    check("and stands alone, where that is wanted", count(b, ".panes .code"), 1)
    b.open(f"{folder}/nosass.html")
    b.click("#tab-code")
    check("without nvdisasm the page says what it wants", "nvdisasm" in (text(b, "#panel-0-code .cut") or ""))


def profiled(b, folder):
    b.open(f"{folder}/times.html")
    b.click("#tab-graph")
    check("nodes are coloured by their time", [count(b, ".g-node.timed") > 4, "coloured by time" in text(b, ".tools .note")], [True, True])
    shares = b.run("files[0].graphs[0].nodes.filter(n => n.share !== undefined).map(n => n.share)")
    check("their shares are all of it", abs(sum(shares) - 1) < 1e-6)
    fills = b.run("[...document.querySelectorAll('.g-node.timed rect')].map(e => getComputedStyle(e).fill)")
    check("what takes longer has more of the colour", len(set(fills)) > 2)
    check("edges say what flows along them", "4\u00d724" in b.run("[...document.querySelectorAll('.g-label')].map(e => e.textContent)"))
    b.click("#tab-profile")
    check("a trace has a timeline and a table, the longest first", [b.run("document.querySelector('.timeline canvas').height > 20"), b.run("(l => l.length > 5 && l.every((us, i) => !i || us <= l[i - 1]))([...times.values()].map(t => t.us).sort((a, c) => c - a))"),
          text(b, "#panel-profile tbody .name") == b.run("[...times].sort(([, a], [, c]) => c.us - a.us)[0][0]")], [True, True, True])
    check("and says what else opens it", "Perfetto" in text(b, "#panel-profile .note"))
    b.run("document.querySelector('.timeline').focus()")
    drawn = b.run("document.querySelector('.timeline canvas').toDataURL()")
    b.key("+")
    check("keys zoom it", b.run("document.querySelector('.timeline canvas').toDataURL()") != drawn)
    b.run("[...document.querySelectorAll('#panel-profile tbody tr')].find(r => r.querySelector('.name').textContent === 'layer_norm').querySelector('td').click()")
    check("an operator leads into the graph", [shown(b), text(b, ".detail h3")], ["graph", "layer_norm"])
    b.click("#tab-memory")
    check("a model of one function has the chart of its memory", [count(b, "#panel-0-memory select"), count(b, ".memory-chart polygon")], [0, 3])
    clean(b, "times")
    b.open(f"{folder}/notimes.html")
    b.click("#tab-graph")
    check("what is no profile colours nothing", [count(b, ".g-node.timed"), "the profile has no operator of it" in text(b, ".tools .note")], [0, True])
    clean(b, "notimes")


def remembered(b, folder):
    """The memory of calls: what the command says, which memory.json has."""
    b.open(f"{folder}/memory.html")
    b.click("#tab-memory")
    with open(f"{folder}/memory.json", encoding="utf-8") as f:
        wanted = [fn for model in json.load(f)["files"][0]["models"] for fn in model["functions"]]
    check("each function has the peak that the command says", b.run("files[0].memory.flatMap(m => m.functions.map(f => [f.name, f.peak_bytes]))"), [[f["name"], f["peak_bytes"]] for f in wanted])
    check("the sums of the chart are the bytes of the steps", b.run("files[0].memory.every(m => m.functions.every(f => { const s = memoryAt(f); return f.steps.every((step, i) => step.bytes === s.cache[i] + s.result[i] + s.scratch[i]); }))"))
    most = max(wanted, key=lambda f: f["peak_bytes"] - f["cache_bytes"] + f["input_bytes"])
    check("it opens at the function that needs most", b.run("document.querySelector('#panel-0-memory select').selectedOptions[0].textContent").split(":")[0], most["name"])
    peak = most["peak_step"]
    check("and at its peak", f"step {peak + 1:,}" in text(b, "#panel-0-memory p[role=status]") and most["steps"][peak]["name"] in text(b, "#panel-0-memory p[role=status]"))
    there = sorted((s["bytes"] for s in most["storages"] if s["first"] <= peak < s["end"]), reverse=True)
    check("with what is there then", [count(b, ".storages tbody tr"), sum(there)], [min(len(there), 50), most["steps"][peak]["bytes"]])
    b.run("document.querySelector('.memory-chart').focus()")
    b.key("ArrowLeft")
    check("arrows move", b.run("document.querySelector('.memory-chart').getAttribute('aria-valuenow')"), str(peak))
    b.key("ArrowRight")
    check("and back", b.run("document.querySelector('.memory-chart').getAttribute('aria-valuenow')"), str(peak + 1))
    b.run("(n => { const r = n.getBoundingClientRect(); n.dispatchEvent(new MouseEvent('click', { clientX: r.left + 1, clientY: r.top + 5, bubbles: true })); })(document.querySelector('.memory-chart'))")
    check("a click is a step", b.run("Number(document.querySelector('.memory-chart').getAttribute('aria-valuenow'))") < peak + 1)
    b.run("(s => { s.value = '0'; s.dispatchEvent(new Event('change')); })(document.querySelector('#panel-0-memory select'))")
    check("another function is chosen", b.run("document.querySelector('#panel-0-memory .facts strong').textContent") != "")
    check("what the extents are", "max_batch_size" in b.run("files[0].memory[0].functions.map(f => f.extents.map(e => e.name).join()).join()"))
    clean(b, "memory")


def many_libraries(b, folder):
    b.open(f"{folder}/wheel.html")
    check("a wheel of 25 libraries makes at most 5 MB", os.path.getsize(f"{folder}/wheel.html") <= 5 << 20)
    times = [b.busy()]
    for _ in range(2):
        b.open(f"{folder}/wheel.html")
        times.append(b.busy())
    check("and a second of work for the browser", min(times) < 1)
    check("its files are a list, and no 25 columns", [shown(b), count(b, ".files-of-set tbody tr"), b.run("openTabs().includes('compare')")], ["files", 25, False])
    b.click(".files-of-set thead th:nth-child(2) button")
    b.click(".files-of-set tbody tr:nth-child(3) td")
    check("a row leads to its file", [shown(b), b.run("current.index > 0")], ["overview", True])
    clean(b, "wheel")
    check("nor more where names are long and many", os.path.getsize(f"{folder}/long.html") <= 5 << 20)
    b.open(f"{folder}/long.html")
    check("each library has some of its kernels, and says which command has all", b.run("""files.map((file) => file.kernels.length > 0 && file.kernels.length + file.cut_rows > 3000)"""), [True, True, True])
    b.click(".files-of-set tbody tr:nth-child(1) td")
    check("where it is looked at", b.run("document.querySelector(`#panel-${current.index}-overview .cut`).textContent.includes(`minspect html 'long.whl!/`)"), True)
    check("which is true", b.run("files.every((file) => file.cut_rows > 0)"), True)
    clean(b, "long")
    b.open(f"{folder}/whole.html")
    check("and of one library all are there", b.run("[files[0].kernels.length, files[0].cut_rows]"), [3000, 0])
    clean(b, "whole")


def front(b, folder):
    """The front page of a set: totals, a matrix of bytes, devices that run it, a map over all, what needs most."""
    b.open(f"{folder}/set.html")
    check("a wheel is called by its name", [b.run("document.title"), text(b, "#title")], ["set.whl - minspect", "set.whl"])
    check("its numbers come first", [text(b, ".lead").startswith("12 files, "), count(b, ".files-panel .figure") >= 4], [True, True])
    check("in the words of the command", b.run("page.kernels.slice(1)") in text(b, ".lead"), True)
    sums = b.run("""[...document.querySelectorAll('.matrix tbody tr')].map(row => { const cells = [...row.querySelectorAll('td')].map(td => td.textContent === '' ? 0 : td.textContent === '<0.1' ? 0.05 : Number(td.textContent));
        return Math.abs(cells.pop() - cells.reduce((a, c) => a + c, 0)) <= 0.06 * cells.length; })""")
    check("the cells of a library come to its sum", [len(sums) > 0, all(sums)], [True, True])
    widths = b.run("[...new Set([...document.querySelectorAll('.shade')].map(e => e.style.getPropertyValue('--shade')))].length")
    check("more bytes are darker", widths > 1)
    runs = b.run("[...document.querySelectorAll('.runs tbody tr')].map(r => [r.children[0].textContent, r.children[1].textContent.split(' ')])")
    check("devices that run it", any(word == "runs" and "sm_80" in names for word, names in runs) and any(word == "no code" and "sm_50" in names for word, names in runs))
    b.click(".matrix .shade")
    check("a number leads to the kernels of that library on that device", [shown(b), b.run("document.querySelector('[role=tabpanel]:not([hidden]) .device').value !== ''")], ["functions", True])
    b.click("#tab-files")
    b.click(".set-map .map button")
    check("the map leads into a library", b.run("document.querySelectorAll('.set-map .crumbs button').length"), 1)
    b.run("(function walk() { const e = [...document.querySelectorAll('.set-map .map button')].find(e => /gpu|cubin|device|_fatbin/.test(e.getAttribute('aria-label'))); if (e && !window.steps--) return; if (e) { e.click(); walk(); } })(window.steps = 6)")
    b.key("Escape")
    check("and Esc back", b.run("document.querySelectorAll('.set-map .crumbs button').length < 7"))
    b.run("[...document.querySelectorAll('.kernels-of-set tbody .link')][0]?.click()")
    check("a kernel of the table leads to its row", shown(b), "functions")
    for width, size in WIDTHS.items():
        b.size(*size)
        b.click("#tab-files")
        check(f"the front page on a {width} is not wider than the page", b.run("document.documentElement.scrollWidth <= innerWidth"))
    b.size(*WIDTHS["desk"])
    clean(b, "set")


def releases(b, folder):
    """Two wheels: what the newer has more, less and worse, and the newer one below."""
    b.open(f"{folder}/releases.html")
    check("two releases open on what differs", [shown(b), b.run("document.title"), text(b, "#panel-diff h2")], ["diff", "old.whl \u2192 new.whl - minspect", "old.whl \u2192 new.whl"])
    with open(f"{folder}/releases.txt", encoding="utf-8") as f:
        said = f.read()
    counts = b.run("[page.sets.added, page.sets.removed, page.sets.changed, page.sets.equal]")
    check("its counts are those of the command", [f"{counts[0]} file added, {counts[1]} removed, {counts[2]} changed, {counts[3]} equal" in said, b.run("page.sets.kernels.changed")],
          [True, int(said.split(" changed, each on each device")[0].split(",")[-1])])
    check("and are said first", "1 file added, 1 removed, 2 changed, 1 equal" in text(b, "#panel-diff .lead"))
    check("what got worse is listed", [b.run("page.sets.worse_count") > 0, b.run("page.sets.worse.every(t => document.querySelector('.got-worse').textContent.includes(t))"), b.run("page.sets.worse[0]") in said], [True, True, True])
    check("devices that came and went", b.run("page.sets.devices.map(d => `${d.added}${d.removed} ${d.name}`).sort()"),
          sorted(f"{int(sign == '+')}{int(sign == '-')} {name}" for sign, name in [part.split()[:2] for part in said.split("devices")[1].split("\n")[0].split(", ")]))
    rows = b.run("[...document.querySelectorAll('#panel-diff .data-table tbody tr[data-row]')].map(r => [r.querySelector('.name').textContent, r.querySelector('.chip').textContent])")
    check("each file that differs has a row, worse ones first", [rows[0][0], sorted(rows)], ["pkg/liba.so", [["pkg/liba.so", "changed"], ["pkg/libb.so", "changed"], ["pkg/libgone.so", "removed"], ["pkg/libnew.so", "added"]]])
    b.click("#panel-diff .data-table tbody tr:nth-child(1) td")
    check("which opens on its kernels, and a command", [count(b, "#panel-diff .below tbody tr") > 0, text(b, "#panel-diff .below .command code")], [True, "minspect diff 'old.whl!/pkg/liba.so' 'new.whl!/pkg/liba.so'"])
    b.run("(s => { s.value = 'removed'; s.dispatchEvent(new Event('change')); })(document.querySelector('#panel-diff .data-tools select'))")
    check("files of one sort", count(b, "#panel-diff .data-table tbody tr[data-row]"), 1)
    check("the view is in the address", "changes.only=removed" in b.run("location.hash"))
    check("the other views have the newer one alone", b.run("files.map(f => f.name)"), ["new.whl!/pkg/liba.so", "new.whl!/pkg/libb.so", "new.whl!/pkg/libnew.so", "new.whl!/pkg/libsame.so"])
    check("no file is marked as shown where all are", b.run("byId('file-choice') ? byId('file-choice').value : String([...document.querySelectorAll('#files [aria-pressed=true]')].length)") in ("-1", "0"))
    for width, size in WIDTHS.items():
        b.size(*size)
        check(f"what differs on a {width} is not wider than the page", b.run("document.documentElement.scrollWidth <= innerWidth"))
    b.open(f"{folder}/releases.html")
    b.size(718, 1000)  # a sheet of A4 between its margins
    b.media("print")
    b.run("window.dispatchEvent(new Event('beforeprint'))")
    check("paper has the maps of views that were not opened", [count(b, ".set-map .cell") > 0, count(b, ".overview-map .cell") > 0], [True, True])
    check("and nothing of a table is cut", b.run("[...document.querySelectorAll('table')].filter(t => t.offsetParent && t.getBoundingClientRect().right > innerWidth + 1).map(t => t.className)"), [])
    b.media("")
    b.size(*WIDTHS["desk"])
    clean(b, "releases")


def thousands(b, folder):
    """A folder of many files: a map by what is alike in their names, and no box of boxes of boxes."""
    b.open(f"{folder}/thousands.html")
    check("the map begins with groups", b.run("setMap().children.map(n => n.name).sort()"), ["copy_#.cubin, 300 files", "scale_#.cubin, 300 files"])
    check("which are all of the bytes", b.run("bytesOf(setMap().children) === set.bytes"))
    check("no rest is drawn in a rest", count(b, ".set-map .leaf.c-rest.outer"), 0)
    check("so do the rows of bytes by device", b.run("[...document.querySelectorAll('.matrix tbody th')].map(e => e.textContent).sort()"), ["copy_#.cubin, 300 files", "scale_#.cubin, 300 files"])
    b.click(".matrix tbody .link")
    check("which lead to their files", [shown(b), "300 of 600 files" in text(b, ".files-of-set .data-tools"), "files.filter=" in b.run("location.hash")], ["files", True, True])
    check("files of GPU code are no libraries", [text(b, ".runs tbody td:last-child"), "," not in text(b, ".runs tbody td:last-child")], ["600 of 600 files", True])
    check("numbers are grouped by thousands", b.run("boxOf(Array.from({ length: 1500 }, (_, i) => ({ name: String(i), bytes: 2000 - i, children: [] }))).name"), "1,500 smaller parts")
    deep = b.run("(box => [box.children.length, Math.max(...box.children.map(c => c.children.length))])(boxOf(Array.from({ length: 1500 }, (_, i) => ({ name: String(i), bytes: 2000 - i, children: [] }))))")
    check("too many to draw are boxes of a hundred", deep, [15, 100])
    clean(b, "thousands")
    b.open(f"{folder}/set.html")
    b.run("(function find(node, trail) { if (node.kind === 'rest' && /smaller ones?$/.test(node.name) && !node.children.length) { window.cutNode = node; } node.children.forEach(find); })(setMap())")
    check("the page names what it can", b.run("window.cutNode === undefined || window.cutNode.bytes > 0"))


def long_texts(b, folder):
    """A model that takes hundreds of weights: its row and its command have the first few."""
    b.open(f"{folder}/model.html")
    b.run("""window.long = `(x: f32[1, n, 32], ${Array.from({ length: 300 }, (_, i) => `layers.${i}.weight: f32[32, 32]`).join(', ')}) -> (f32[1, n, 32])`""")
    short = b.run("shortSignature(long)")
    check("a long signature is cut, and says so", [len(short) < 400, short.endswith("\u2026 and 295 more parameters) -> (f32[1, n, 32])")], [True, True])
    check("a short one is whole", b.run("shortSignature('(x: f32[4, 24]) -> (f32[4, 24])')"), "(x: f32[4, 24]) -> (f32[4, 24])")
    b.run("navigator.clipboard.writeText = async t => { window.copied = t; }; window.typed = 'minspect run f' + ' --input 4xf32=rand'.repeat(300); document.body.append(command(typed, 'it'))")
    check("a long command shows its beginning", [len(text(b, "body > .command code")) < 1400, "more words, which the button copies" in text(b, "body > .command code")], [True, True])
    b.click("body > .command .copy")
    check("and is copied whole", b.run("window.copied === window.typed"))
    check("a name is quoted where a shell wants it", b.run("['a b.so', 'w.whl!/x.so', 'lib.so', \"it's\"].map(shell)"), ["'a b.so'", "'w.whl!/x.so'", "lib.so", "'it'\\''s'"])
    clean(b, "model")


# a transformer as TVM writes it: weights are inputs, each layer does the same
TRANSFORMER = """(layers => { const nodes = [], edges = [], type = 'float32[1, 8, 16]';
    const add = (kind, label, from, more) => { nodes.push({ kind, label, type, ...more }); for (const f of [...from].sort((a, c) => a - c)) edges.push([f, nodes.length - 1]); return nodes.length - 1; };
    const op = (label, ...from) => add('operator', label, from);
    let x = add('input', 'x', []);
    const weights = Array.from({ length: layers }, (_, l) => ['norm1', 'qkv', 'out', 'norm2', 'up', 'down'].map(n => add('input', `layers.${l}.${n}.weight`, [])));
    const head = add('input', 'head.weight', []);
    for (const [n1, qkv, out, n2, up, down] of weights) {
      const q = op('matmul', op('layer_norm', x, n1), op('permute_dims', qkv)), parts = [0, 1, 2].map(() => op('transpose', add('builtin', 'reshape', [q])));
      const mixed = op('matmul2', op('softmax', op('matmul1', parts[0], parts[1])), parts[2]), o = op('fused_matmul_add', mixed, out, x);
      x = op('fused_matmul_add1', op('fused_matmul_gelu', op('layer_norm', o, n2), up), down, o);
    }
    add('output', 'result', [op('matmul3', x, head)]);
    edges.sort((a, c) => a[1] - c[1]);
    return { module: '/', name: `t${layers}`, is_flow: false, nodes, edges }; })"""


def transformers(b, folder):
    """Graphs of 24 and 80 layers: what repeats is one box, which opens; none lies over another; all of it scrolls."""
    overlaps = """(plan => { const list = plan.boxes.filter(e => e.kind !== 'frame').sort((a, c) => a.y - c.y); let n = 0;
        list.forEach((p, i) => { for (let k = i + 1; k < list.length && list[k].y - p.y < 200; k++) { const q = list[k];
          if (Math.abs(p.x - q.x) < (p.width + q.width) / 2 - 1 && Math.abs(p.y - q.y) < (p.height + q.height) / 2 - 1) n++; } }); return n; })"""
    for layers in (24, 80):
        b.open(f"{folder}/model.html")
        b.run(f"window.made = {TRANSFORMER}({layers}); files[0].graphs.push(made)")
        before = b.busy()
        b.run("open.graph(made)")
        b.settle()
        check(f"{layers} layers are drawn in half a second", b.busy() - before < 0.5)
        check("as one box", [text(b, ".g-fold text"), count(b, ".g-node") <= 6], [f"{layers} \u00d7 layer", True])
        check("weights stand beside their readers", [count(b, ".g-node.g-input"), text(b, ".g-pill text")], [1, "head.weight"])
        b.run("document.querySelector('.g-fold').dispatchEvent(new MouseEvent('click', { bubbles: true }))")
        b.settle()
        check("a click opens it", [text(b, ".g-title"), count(b, ".g-node.g-operator") > 6, text(b, ".detail h3")], [f"layer 1 of {layers}", True, f"{layers} \u00d7 layer"])
        b.run("document.querySelector('.stage').focus()")
        b.key("]")
        check("a key shows the next layer", [text(b, ".g-title"), "layers.1." in text(b, ".g-pill text")], [f"layer 2 of {layers}", True])
        b.key("j")
        b.key("j")
        check("another walks in it", [text(b, ".detail h3"), "layers.1.norm1.weight" in text(b, ".detail .taken")], ["matmul", False])
        b.key("k")
        check("and back, with what the operator takes", [text(b, ".detail h3"), "layers.1.norm1.weight" in text(b, ".detail .taken")], ["layer_norm", True])
        at = b.run("made.nodes.map((n, i) => n.label === 'softmax' ? i : -1).filter(i => i >= 0)[16]")
        b.run(f"open.graph(made, {at})")
        check("a node deep inside opens its layer", [text(b, ".g-title"), text(b, ".detail h3"), count(b, ".g-node.chosen")], [f"layer 17 of {layers}", "softmax", 1])
        check("and has an address", f"node={at}" in b.run("location.hash"))
        check("no box lies over another", b.run(f"{overlaps}(document.querySelector('.graph').parentElement && planOf(made, {{ folded: true, open: new Map([['0', 3]]) }}))"), 0)
        b.run("document.querySelector('.check-tool input').click()")
        b.settle()
        check("nor where all are drawn", b.run(f"{overlaps}(planOf(made, {{ folded: false, open: new Map() }}))"), 0)
        b.run("document.querySelector('.stage').scrollTop = 0")
        b.settle()
        steps = []
        for _ in range(8):
            before = b.busy()
            b.run("document.querySelector('.stage').scrollTop += 500")
            b.settle()
            steps.append(b.busy() - before)
        check("a step of a scroll takes at most 60 ms", sorted(steps)[-2] <= 0.06)
        check("and draws a part", 0 < count(b, ".g-node") < 120)
        b.key("0")
        check("a key shows all of it", b.run("(s => s.scrollWidth <= s.clientWidth + 1)(document.querySelector('.stage'))"))
        clean(b, "model")


def graph_differences(b, folder):
    b.open(f"{folder}/model.html")
    b.run(f"""window.older = {TRANSFORMER}(24); window.newer = {TRANSFORMER}(24);
        const gelu = newer.nodes.map((n, i) => n.label === 'fused_matmul_gelu' ? i : -1).filter(i => i >= 0);
        newer.nodes[gelu[5]].type = 'float16[1, 8, 16]'; newer.nodes[gelu[12]].label = 'fused_matmul_silu';
        newer.nodes.splice(gelu[2] + 1, 0, {{ kind: 'operator', label: 'clip', type: 'float32[1, 8, 16]' }});
        newer.edges = newer.edges.map(([f, t]) => [f > gelu[2] ? f + 1 : f, t > gelu[2] ? t + 1 : t]).concat([[gelu[2], gelu[2] + 1]]).sort((a, c) => a[1] - c[1]);
        window.both = mergeGraphs(older, newer)""")
    check("operators are lined up", b.run("both.nodes.filter(n => n.state).map(n => `${n.state} ${n.label}`)"), ["added clip", "changed fused_matmul_gelu", "removed fused_matmul_gelu", "added fused_matmul_silu"])
    check("no edge is lost, and all lead on", b.run("[both.edges.every(([f, t]) => f < t), both.edges.length >= newer.edges.length]"), [True, True])
    b.run("files[0].graphs.push(both); open.graph(both)")
    b.settle()
    check("equal layers stay folded", b.run("[...document.querySelectorAll('.g-fold text:first-of-type')].length > 0"))
    b.run("open.graph(both, both.nodes.findIndex(n => n.state === 'changed'))")
    check("what changed is marked, and says how it was", [count(b, ".g-changed.chosen"), "float32[1, 8, 16]" in text(b, ".detail")], [1, True])
    clean(b, "model")
    b.open(f"{folder}/two.html")
    b.click("#tab-graphs")
    check("of two files the page has both graphs as one", [count(b, "#panel-graphs .g-node") > 4, count(b, "#panel-graphs .g-added") + count(b, "#panel-graphs .g-removed") + count(b, "#panel-graphs .g-changed") > 0,
          b.run("document.querySelector('#panel-graphs .changes') !== null")], [True, True, True])
    clean(b, "two")


def hostile(b, folder):
    b.open(f"{folder}/hostile.html")
    check("markup of a name stays text", count(b, "img, iframe, object, embed, style + style"), 0)
    check("and nothing of it ran", b.run("window.owned === undefined"))
    check("names are shown as they are", "</script><img src=x onerror=owned=1>" in b.run("document.querySelector('.tree').textContent"))
    b.click("#tab-texts")
    check("so are texts", b.run("files[0].texts.some(t => t.text.includes('</script><!--<script>\\\\u{2028}'))") and "</script><!--<script>" in text(b, ".code"))
    b.key("/")
    b.type("onerror")
    check("and results", count(b, ".result") > 0 and count(b, "img") == 0)
    b.key("Escape")
    for name in b.run("openTabs()"):
        b.click(f"#tab-{name}")
    check("in no view", [count(b, "img"), b.run("window.owned === undefined")], [0, True])
    policy = b.run("""new Promise(done => { document.addEventListener('securitypolicyviolation', e => done(e.effectiveDirective));
        const script = document.createElement('script'); script.textContent = 'window.owned = 1'; document.body.append(script); setTimeout(() => done('none'), 500); })""")
    check("a script that was put in does not run", [policy, b.run("window.owned === undefined")], ["script-src-elem", True])
    requests = b.run("fetch('https://example.com/').then(() => 'sent', () => 'refused')")
    check("and nothing can be sent", requests, "refused")


def unscripted(b, folder):
    """What is read where scripts are switched off: the listings, and nothing that would answer a click."""
    b.call("Emulation.setScriptExecutionDisabled", value=True)
    for page, words in (("model", ["forward(x: f32[4, 24])", "layer_norm_kernel", "kernels.cl"]), ("gpu", ["sm_90 cubin", "registers"]), ("hostile", ["<img src=x onerror=owned=1>"])):
        for width, (x, y, mobile) in WIDTHS.items():
            b.call("Emulation.setDeviceMetricsOverride", width=x, height=y, deviceScaleFactor=1, mobile=mobile)
            b.send("Page.navigate", url="about:blank")
            b.wait_for("Page.loadEventFired")
            b.send("Page.navigate", url="file://" + os.path.abspath(f"{folder}/{page}.html"))
            b.wait_for("Page.loadEventFired")
            shown_text = b.run("document.querySelector('.unscripted').innerText")
            check(f"{page} without scripts on a {width}: lists are read", [word for word in words if word not in shown_text], [])
            check("nothing is wider than the page", b.run("document.documentElement.scrollWidth > document.documentElement.clientWidth"), False)
            check("and there are no controls", b.run("[...document.querySelectorAll('input, button')].filter(e => e.offsetParent).length"), 0)
    check("markup of a name is text there, too", b.run("[document.querySelectorAll('img').length, window.owned === undefined]"), [0, True])
    b.call("Emulation.setScriptExecutionDisabled", value=False)
    b.size(*WIDTHS["desk"])


def large(b, folder):
    # the best of three, and a limit that holds where other tests run beside this one: alone it takes a second
    times = []
    for _ in range(3):
        b.open(f"{folder}/large.html")
        times.append(b.run("performance.getEntriesByType('navigation')[0].loadEventEnd"))
    check("a library of 12 MB opens while one waits", min(times) < 4000)
    shown_bytes = b.run("files[0].texts.reduce((sum, part) => sum + new TextEncoder().encode(part.text).length, 0)")
    check("a page is less than a megabyte more than its texts", os.path.getsize(f"{folder}/large.html") - shown_bytes < 1000000)
    b.click("#tab-texts")
    check("a text that is cut says so, and how to get it", "All of it: minspect extract data.so -o DIR" in text(b, ".cut"))
    check("its end has colours once it is seen", b.run("(() => { const c = document.querySelector('.code'); c.scrollTop = c.scrollHeight; return new Promise(done => setTimeout(() => done(c.lastChild.querySelectorAll('span').length > 0), 300)); })()"))
    clean(b, "large")


PAGES = (rendering, zooming, levels, tables, machine, many_libraries, keyboard, searching, side_by_side, problems_are_told, fatbin, many, addresses, views, moved, graphs, weights, gpu, colours,
         accessible, narrow, printing, hostile, unscripted, large)
GRAPHS = (front, releases, thousands, long_texts, transformers, graph_differences, profiled, remembered)  # the case html-graphs


def main():
    folder, names = sys.argv[1], sys.argv[2:]
    with Browser() as b:
        b.size(*WIDTHS["desk"])
        b.colours("light")
        for part in [part for part in PAGES + GRAPHS if part.__name__ in names] if names else PAGES:
            try:
                part(b, folder)
            except RuntimeError as error:
                check(part.__name__, str(error), None)
    sys.exit(1 if failed else 0)


main()
