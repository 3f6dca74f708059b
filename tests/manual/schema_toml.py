#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""schema_toml - the JSON Schema of a TOML file and the program that reads it judge alike

  schema_toml.py SCHEMA COMMAND... -- FILE...
  schema_toml.py SCHEMA [--invalid] FILE...     whether files are valid, or not, and no more

COMMAND, with the name of a file behind it, reads such a file: mpack check. Each FILE must be valid for
both. Then it is changed, one thing at a time: a key is taken away, added or given another value. What
the program accepts the schema must accept; what the program calls a mistake of form the schema must
refuse. Whether files exist and names lead somewhere only the program can tell.
"""
import copy
import json
import re
import subprocess
import sys
import tomllib

from jsonschema import Draft202012Validator

# Mistakes of form, by the word in brackets.
FORM = {"unknown-key", "wrong-type", "missing-key", "empty-value", "misplaced-key", "abi", "base", "format", "dtype",
        "launch-tag", "kind", "name", "entry", "steps", "source-suffix", "nvrtc-options", "number", "extents",
        "argument", "raises", "device"}
# The same words where they need more than the file itself, or more than a schema can say.
BEYOND = re.compile(r"stands behind dynamic shared memory|have no \[\[module.function\]\]|needs \[\[module.function\]\]|"
                    r"'kernel' .*: write|is compiled already|options of its own|one file for all kernels|"
                    r"the device number must be")
VALUES = ["", "zzz", 5, 1.5, True, [], ["zzz"], [0], {}, [{}]]
# What is told from what is right by more than its type, at the keys where that can be.
SPECIAL = {"name": ["x\0y", "a/b"], "args": [["float32", "float33"], [[]], {"zzz": 1}], "launch": [["blockIdx.w"]],
           "sources": [["host.py"]], "nvrtc_options": [["-O 2"], ["zzz"]], "grid": [[1, 2, 3, 4], [-1]],
           "block": [[0], ["x"]], "device": ["cuda:0", "cuda:x"], "timeout": [-1, 0], "repeat": [0], "warmup": [-1],
           "entry": ["a b"], "kind": ["_lib", "host"], "expect": [["x\0y"]]}


def toml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def paths(value, at=()):
    yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, (*at, key))


def at(document, path):
    for key in path:
        document = document[key]
    return document


def changes(document, words):
    """(what was done, the document then)"""
    for path in list(paths(document)):
        if path:
            changed = copy.deepcopy(document)
            del at(changed, path[:-1])[path[-1]]
            yield f"without {path}", changed
            for value in VALUES + SPECIAL.get(path[-1], []):
                changed = copy.deepcopy(document)
                at(changed, path[:-1])[path[-1]] = value
                yield f"{path} = {value!r}", changed
        if isinstance(at(document, path), dict):
            for word, value in words:
                if word in at(document, path):
                    continue
                changed = copy.deepcopy(document)
                at(changed, path)[word] = value
                yield f"{path} with {word} = {value!r}", changed


def keys_of(schema):
    """Every key of the schema, once, with a value of its type."""
    found = {"zzz": "zzz"}

    def walk(part):
        if isinstance(part, list):
            for inner in part:
                walk(inner)
        if not isinstance(part, dict):
            return
        for key, inner in part.get("properties", {}).items():
            if isinstance(inner, dict):
                kinds = {"array": ["zzz"], "boolean": True, "object": {}, "number": 1, "integer": 1}
                found.setdefault(key, kinds.get(inner.get("type"), "zzz"))
        for inner in part.values():
            walk(inner)

    walk(schema)
    return list(found.items())


def main():
    schema = json.load(open(sys.argv[1], encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    if "--" not in sys.argv:
        invalid = sys.argv[2] == "--invalid"
        for name in sys.argv[2 + invalid:]:
            assert validator.is_valid(tomllib.load(open(name, "rb"))) != invalid, name
        return
    split = sys.argv.index("--")
    command, files = sys.argv[2:split], sys.argv[split + 1:]
    wrong, accepted, refused = 0, 0, 0

    def judge(what, document):
        nonlocal wrong, accepted, refused
        with open("changed.toml", "w", encoding="utf-8") as file:
            for key, value in document.items():
                file.write(f"{json.dumps(key)} = {toml(value)}\n")
        done = subprocess.run([*command, "changed.toml"], capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL)
        said = [line for line in done.stderr.splitlines() if " error: " in line]
        form = [line for line in said if (m := re.search(r"\[([a-z-]+)\]$", line)) and m.group(1) in FORM and
                not BEYOND.search(line)]
        valid = validator.is_valid(document)
        if form and valid:
            print(f"{what}: the schema accepts what the program refuses: {form[0]}")
        elif done.returncode != 4 and not valid:
            error = next(validator.iter_errors(document))
            print(f"{what}: the schema refuses what the program accepts: {error.message[:200]}")
        wrong += bool(form and valid) or (done.returncode != 4 and not valid)
        accepted += done.returncode != 4
        refused += bool(form)

    for name in files:
        document = tomllib.load(open(name, "rb"))
        validator.validate(document)
        done = subprocess.run([*command, name], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, (name, done.stderr)
        for what, changed in changes(document, keys_of(schema)):
            judge(f"{name}: {what}", changed)
    # a test that judges nothing says nothing
    assert accepted > 20 and refused > 100, (accepted, refused)
    sys.exit(1 if wrong else 0)


main()
