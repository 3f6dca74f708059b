#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""names - files whose names are commands for a terminal, through every action of both programs

  names.py --bin DIR [--count N] [--seed S] [FILE...]

In N variants of each file, of tests/data and of archives made of them, some of the words that stand in it
are replaced, everywhere in it, by bytes of the same length: OSC, CSI and C1 sequences, bidirectional
overrides, bytes that are no UTF-8, and line ends with a line that looks like one of ours behind them. So
what is a name anywhere becomes hostile, whatever format it stands in: symbols, sections, versions, needed
libraries, notes, kinds, kernels, tables, members, tensors, nodes, VM functions. Each variant goes through
every action.

No action writes a byte to standard output or standard error, or to a text file, that is neither printable
UTF-8 nor a line end or tab; no line begins with what was planted behind a line end, but of sources that
are shown as they are; JSON is JSON. The last line is "N passed, N failed, N skipped".
"""
import argparse
import io
import json
import os
import random
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.normpath(os.path.join(HERE, "..", "data"))
FORGED = b"FORGED"
PLANTS = [b"\033]0;owned\007", b"\033[2J\033[31m", b"\x9b2J\x9d0;x\x9c", b"\xc2\x9b2J", b"\xc2\x9d0;x\xc2\x9c",
          b"\xe2\x80\xaea", b"\xe2\x81\xa6b", b"\xff\xfe", b"\xed\xa0\x80", b"\n" + FORGED + b": no errors\n",
          b"\r" + FORGED, b"\b\b\b\x7f", b"\033Pq\033\\", b"'\033[31m", b"\t\v\f"]
WORD = re.compile(rb"[A-Za-z_.][A-Za-z0-9_.-]{3,60}")
# Not by name: these are the magic words that have a file read at all.
KEEP = re.compile(rb"^(ELF|NUMPY|arch|ustar|_lib|devc|lib0|\.c|\.o|\.?(shstrtab|strtab|dynstr|dynsym|symtab))$")
# What readers ask a name to begin with.
PREFIX = re.compile(rb"(__tvm_ffi_(_metadata_|_doc_)?|__TVM|TVM(FFI)?|__cuda|__hip|lib|_ZN?|\.[a-z]+\.?|[a-z]+_)?")
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]|\r(?!\n)")
ACTIONS = [["minspect"], ["minspect", "-v"], ["minspect", "--functions"], ["minspect", "-v", "--functions"],
           ["minspect", "--size"], ["minspect", "--size", "--csv"], ["minspect", "--size", "--markdown"],
           ["minspect", "--verify"], ["minspect", "--verify", "-v"],
           ["minspect", "--check"], ["minspect", "--check", "--tvm", "0.27", "--machine", "x86_64"],
           ["minspect", "--check", "--tvm", "0.18", "--device-arch", "sm_50", "--libs", "."],
           ["minspect", "--check", "--runtime", "FILE"], ["minspect", "--extract", "OUT"],
           ["minspect", "--disasm"], ["minspect", "--dot", "tree"], ["minspect", "--dot", "model"],
           ["minspect", "--sbom"], ["minspect", "--sbom=spdx"], ["minspect", "--header", "OUT.h"],
           ["minspect", "--header", "-"], ["minspect", "--html", "OUT.html"], ["minspect", "--json"],
           ["minspect", "--functions", "--json"], ["minspect", "--verify", "--json"], ["minspect", "--size", "--json"],
           ["minspect", "--check", "--tvm", "0.27", "--json"], ["minspect", "--diff", "OTHER"],
           ["minspect", "--diff", "OTHER", "--markdown"], ["minspect", "--diff", "OTHER", "--json"],
           ["minspect", "--show", "/nothing"], ["minspect", "--baseline", "OUT.json", "--update-baseline"],
           ["minspect", "--run", "nothing", "--timeout", "5"], ["mpack", "unpack", "-o", "OUT", "-v"],
           ["mpack", "init"], ["mpack", "check"], ["mpack", "build", "-n", "-o", "OUT.blob"],
           ["mpack", "edit", "-o", "OUT.so", "--replace", "/0=OTHER"]]


def plant(length, rng):
    text = b""
    while len(text) < length:
        text += rng.choice(PLANTS)
    return text[:length]


def checksums(data):
    """Headers of a tar file, right again."""
    out = bytearray(data)
    for at in range(0, len(out) - 511, 512):
        if out[at + 257:at + 262] == b"ustar":
            out[at + 148:at + 156] = b" " * 8
            out[at + 148:at + 156] = b"%06o\0 " % sum(out[at:at + 512])
    return bytes(out)


def variant(data, rng):
    words = sorted({word for word in WORD.findall(data) if not KEEP.match(word)}, key=lambda word: (-len(word), word))
    if not words:
        return data
    for word in rng.sample(words, min(len(words), rng.choice([1, 3, 10, len(words) // 4 + 1, len(words)]))):
        kept = PREFIX.match(word).group() if rng.random() < 0.7 else b""
        data = data.replace(word, kept + plant(len(word) - len(kept), rng))
    return checksums(data)


def archives(data, rng):
    """The file as a member with a hostile name."""
    name = plant(12, rng).replace(b"\0", b"_").replace(b"/", b"_") + b".so"
    with io.BytesIO() as out:
        with tarfile.open(fileobj=out, mode="w") as tar:
            info = tarfile.TarInfo(name.decode("utf-8", "surrogateescape"))
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        yield out.getvalue()
    with io.BytesIO() as out:
        with zipfile.ZipFile(out, "w") as file:
            file.writestr("N" * len(name), data)
        yield out.getvalue().replace(b"N" * len(name), name)
    table = name + b"/\n"
    pad = b"\n" * (len(table) % 2)
    yield (b"!<arch>\n" + b"%-48s%-10d`\n" % (b"//", len(table)) + table + pad
           + b"%-48s%-10d`\n" % (b"/0              0           0     0     644", len(data)) + data)


def complaints(what, text, is_json=False, has_sources=False):
    shown = text.decode("utf-8", "surrogateescape")
    found = CONTROL.search(shown)
    if found:
        yield f"{what}: control character {found.group()!r} in {shown[max(0, found.start() - 60):found.end() + 20]!r}"
    if any(0xdc80 <= ord(c) <= 0xdcff for c in shown):
        yield f"{what}: no UTF-8"
    if not has_sources and any(line.startswith(FORGED) for line in text.split(b"\n")):
        yield f"{what}: a forged line"
    if is_json and text:
        try:
            json.loads(text)
        except ValueError as error:
            yield f"{what}: no JSON: {error}"


def run(bin_dir, action, path, other, folder):
    subprocess.run(["rm", "-rf", *[os.path.join(folder, name) for name in os.listdir(folder) if name.startswith("OUT")]],
                   check=True)
    words = [{"OTHER": other, "FILE": path}.get(word, word).replace("=OTHER", "=" + other) for word in action]
    words[0] = os.path.join(bin_dir, words[0])
    at = 2 if words[0].endswith("mpack") else 1
    done = subprocess.run([*words[:at], path, *words[at:]], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=120)
    if done.returncode < 0 or done.returncode == 70:
        yield f"status {done.returncode}"
    is_json = "--json" in action or any(word.startswith("--sbom") for word in action)
    yield from complaints("standard output", done.stdout, is_json, "--disasm" in action)
    yield from complaints("standard error", done.stderr)
    for name in ("OUT.h", "OUT.pyi", "OUT.html", "OUT.json"):
        if os.path.exists(os.path.join(folder, name)):
            with open(os.path.join(folder, name), "rb") as file:
                yield from complaints(name, file.read(), name.endswith("json"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("files", nargs="*")
    o = parser.parse_args()
    o.bin = os.path.abspath(o.bin)
    files = o.files or [os.path.join(folder, name) for folder, _, names in os.walk(DATA) for name in names
                        if name.rsplit(".", 1)[-1] in ("so", "blob", "o", "a", "tar", "cubin", "fatbin", "hsaco", "ptx",
                                                       "dylib", "dll", "obj", "gz", "whl", "toml")]
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for source in sorted(files):
            with open(source, "rb") as file:
                data = file.read()
            for count in range(o.count):
                rng = random.Random(f"{os.path.basename(source)} {o.seed} {count}")
                made = [variant(data, rng)]
                if source.endswith(".so") and count % 4 == 0:
                    made += archives(made[0], rng)
                for number, content in enumerate(made):
                    name = f"v{number}\033[31m\n{FORGED.decode()}" + os.path.splitext(source)[1]
                    path = os.path.join(folder, name if rng.random() < 0.2 else f"v{number}.so")
                    with open(path, "wb") as file:
                        file.write(content)
                    for action in ACTIONS if len(made) == 1 else rng.sample(ACTIONS, 12):
                        wrong = list(run(o.bin, action, path, os.path.abspath(source), folder))
                        failed, passed = failed + bool(wrong), passed + (not wrong)
                        for text in wrong:
                            print(f"{os.path.relpath(source, DATA)} {count}.{number} {' '.join(action)}: {text}"[:400])
                    os.unlink(path)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(failed > 0)


main()
