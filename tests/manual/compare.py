# SPDX-License-Identifier: Apache-2.0
"""Compares what reader.py, written from tvm-blob(5) alone, and minspect read.

    compare.py [-v] [--page FILE] [GENERATION:]FILE...

GENERATION is needed for bare blobs. Prints what differs and exits 1, or nothing and exits 0; -v
prints a line for each module. --page also compares the page's hexadecimal dump with the file it
names.
"""
import json
import re
import subprocess
import sys

import reader


def minspect(path):
    """The modules that minspect reads, None when there is no blob; the generation; what went wrong."""
    out = subprocess.run(["minspect", "-q", "--json", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         check=False).stdout
    file = json.loads(out)["files"][0]
    if "error" in file:
        return None, None, [f"minspect says {file['error']}"]
    tree = file["tree"] if file["blob"] else None
    wrong = [f"{n['path']}: minspect says {n['problem']}" for n in tree or [] if "problem" in n]
    return tree, file["generation"], wrong


def facts_of_reader(module):
    content = module["content"]
    facts = {key: module[key] for key in ("kind", "offset", "bytes", "children")}
    if "kernels" in content:
        facts["kernels"] = sorted(content["kernels"], key=lambda k: k["name"])
        facts["format"] = content.get("format")
    if "functions" in content and "instructions" in content:
        facts["functions"] = sorted(content["functions"])
    return facts


def facts_of_minspect(node, like):
    facts = {key: node[key] for key in ("kind", "offset", "bytes", "children")}
    if "kernels" in node:
        facts["kernels"] = sorted(node["kernels"], key=lambda k: k["name"])
        # the name that the page gives to a format that is not stored
        facts["format"] = node["format"] if like.get("format") else None
    if "functions" in like:
        facts["functions"] = sorted(model["name"] for model in node["models"])
    if node["kind"] == "_lib":  # no bytes, so no place
        facts["offset"] = like["offset"]
    return facts


def compare(path, generation):
    """Returns the lines that say what differs."""
    modules, generation = reader.read_file(path, generation)
    nodes, said, wrong = minspect(path)
    if wrong:
        return wrong, []
    if modules is None or nodes is None:
        return [] if modules is nodes else ["one of them finds no blob"], []
    # Without kernels or constants the bytes of these two are the same.
    alike = said == generation or (generation, said) == ("ffi-0.21", "legacy")
    wrong = [] if alike else [f"generation {generation}, minspect says {said}"]
    if len(modules) != len(nodes):
        wrong.append(f"{len(modules)} modules, minspect has {len(nodes)}")
    for i, (module, node) in enumerate(zip(modules, nodes)):
        want = facts_of_reader(module)
        got = facts_of_minspect(node, want)
        wrong += [f"module {i}: {key}: {want.get(key)}, minspect says {got.get(key)}"
                  for key in sorted(want.keys() | got.keys()) if want.get(key) != got.get(key)]
    lines = [f"{m['kind']}: {m['bytes']} bytes, kernels: "
             + (", ".join(k["name"] for k in m["content"].get("kernels", [])) or "none") for m in modules]
    return wrong, lines


def compare_page(path):
    """The dump in the page against the file's bytes."""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    name = re.search(r"^\.Pa (tests/data/\S+)", page, re.M).group(1)
    with open(name.replace("tests/", ""), "rb") as file:
        data = file.read()
    rows = re.findall(r"^([0-9a-f]{8})  ((?:[0-9a-f]{2} +){15}[0-9a-f]{2})$", page, re.M)
    wrong = [f"{name}: the dump differs at {at}" for at, row in rows
             if bytes.fromhex(row) != data[int(at, 16) : int(at, 16) + 16]]
    return wrong if len(rows) >= 16 else ["the page has no dump"]


def main(arguments):
    verbose, bad = False, 0
    while arguments and arguments[0].startswith("-"):
        option = arguments.pop(0)
        if option == "-v":
            verbose = True
        elif option == "--page":
            for line in compare_page(arguments.pop(0)):
                print(line)
                bad = 1
    for argument in arguments:
        generation, _, path = argument.rpartition(":")
        try:
            wrong, lines = compare(path, generation or None)
        except reader.Bad as error:
            wrong, lines = [f"the reader says {error}"], []
        for line in (wrong or (lines if verbose else [])):
            print(f"{path}: {line}")
        bad = bad or int(bool(wrong))
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
