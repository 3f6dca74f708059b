#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cubin.py - code digests of a cubin, written from lib/know/canon/FORMAT.md 1 - 3 alone

  cubin.py FILE.cubin...    prints FILE, then a line for each kernel and one for the image: the digest, kernel NAME or image
"""
import hashlib
import re
import struct
import sys

NOISE = (".debug", ".nv_debug", ".note", ".comment", ".nv.merc.", ".nv.callgraph", ".nv.prototype", ".nv.rel.", ".symtab",
         ".strtab", ".shstrtab", ".rel.debug", ".rela.debug", ".rel.nv_deb", ".rela.nv_deb", ".nv.reservedSm")
RELA, REL, INFO = 4, 9, 0x70000000
NOBITS = {8, 0x70000007, 0x70000009, 0x7000000a, 0x70000015}
FIRST_WORD = {2, 6, 7, 8, 0x0a, 0x11, 0x12, 0x13, 0x23, 0x2f}


def number(n):
    return (n & (1 << 64) - 1).to_bytes(8, "little")


def text(b):
    return number(len(b)) + b


def digest(what, *fields):
    return hashlib.sha256(text(what.encode()) + b"".join(fields)).digest()


def parts(digests, own=b""):
    return digest("parts", own, *sorted(digests))


def name(s):
    """Section 2."""
    whole = re.fullmatch(rb"(\$__.+)__\d+", s, re.S)
    if whole and len(whole[1]) > 3:
        s = whole[1]
    out = b""
    while s:
        unique = re.match(rb"(\d*)(_INTERNAL_|_GLOBAL__N_)", s)
        taken = 0
        if unique:
            digits = unique[1]
            for first in range(max(len(digits) - 5, 0), len(digits)):
                length = int(digits[first:])
                if digits[first:first + 1] != b"0" and len(unique[2]) < length <= len(s) - len(digits):
                    out += digits[:first] + b"%d" % len(unique[2]) + unique[2]
                    taken = len(digits) + length
                    break
        static = re.match(rb"__nv_static_(\d{1,5})_", s)
        if static and not taken:
            end = static.end() + int(static[1])
            if s[end:end + 1] == b"_" and int(static[1]):
                out, taken = out + b"__unique", end + 1
        cuid = re.match(rb"(__static__|__intern__|__hip_cuid_|\.static\.|\.intern\.)[0-9a-f]{8,}", s)
        if cuid and not taken:
            out, taken = out + (b".unique" if s[:1] == b"." else b"__unique"), cuid.end()
        if not taken:
            run = re.match(rb"\d+", s)  # digits belong to what follows them
            taken = run.end() if run else 1
            out += s[:taken]
        s = s[taken:]
    return out


def symbol(s):
    return text(name(s))


class Section:
    def __init__(self, data, names, at):
        (off, self.type, self.flags, _, place, self.size, self.link, self.info, self.align,
         _) = struct.unpack_from("<IIQQQQIIQQ", data, at)
        self.name = names[off:names.index(b"\0", off)]
        self.data = b"" if self.type in NOBITS else data[place:place + self.size]
        self.base, self.node, self.role = self.name, 0, "common"


class Cubin:
    def __init__(self, data):
        self.data = data
        at = struct.unpack_from("<Q", data, 40)[0]
        count, names = struct.unpack_from("<HH", data, 60)
        place, size = struct.unpack_from("<QQ", data, at + 64 * names + 24)
        self.sections = [Section(data, data[place:place + size], at + 64 * i) for i in range(count)]
        self.functions = {s.name[6:]: i for i, s in enumerate(self.sections) if s.name.startswith(b".text.")}
        table = next(s for s in self.sections if s.type == 2)
        strings = self.sections[table.link].data
        self.symbols = []
        for i in range(0, len(table.data), 24):
            off, kind, other, section, value, size = struct.unpack_from("<IBBHQQ", table.data, i)
            s = strings[off:strings.index(b"\0", off)]
            if kind & 15 == 3 and section < count:
                s = self.sections[section].name
            self.symbols.append((s, kind & 15, other, section if 0 < section < count else 0, value, size))
        for i, s in enumerate(self.sections):
            self.classify(i, s)

    def classify(self, i, s):
        if s.name.startswith(b".text."):
            s.role, s.node, s.base = "text", i, b".text."
        elif not s.name or s.name.startswith(tuple(n.encode() for n in NOISE)):
            s.role = "noise"
        elif s.type in (REL, RELA):
            s.role = "relocations"
        else:
            dots = [k for k, c in enumerate(s.name) if c == ord(".")][1:6]
            owner = next((k for k in dots if s.name[k + 1:] in self.functions), None)
            if owner is not None:
                s.role, s.node, s.base = "of text", self.functions[s.name[owner + 1:]], s.name[:owner + 1]
            elif s.name in (b".nv.global", b".nv.global.init"):
                s.role, s.node = "data", i
            elif s.name == b".nv.info":
                s.role = "info"

    def attributes(self, data):
        at = 0
        while at < len(data):
            form, what, value = struct.unpack_from("<BBH", data, at)
            rest = data[at + 4:at + 4 + value] if form == 4 else b""
            value = {4: 0, 2: value & 0xff}.get(form, value)
            at += 4 + len(rest)
            fields, words = number(what) + number(value), 0
            if what == 0x0f:
                words = len(rest) // 4
            elif what in FIRST_WORD and len(rest) >= 4:
                words = 1
            used = [struct.unpack_from("<I", rest, 4 * k)[0] for k in range(words)]
            fields += b"".join(symbol(self.symbols[k][0]) for k in used) + text(rest[4 * words:])
            yield fields, used[0] if what in FIRST_WORD and used else None

    def variable(self, i):
        _, kind, _, section, value, size = self.symbols[i]
        s = self.sections[section]
        if kind == 3:
            value, size = 0, s.size
        return digest("variable", symbol(s.base), number(size), text(s.data[value:value + size]))

    def own(self):
        found = [[] for _ in self.sections]
        osabi, abi = self.data[7:9]
        kind, flags = struct.unpack_from("<H", self.data, 16)[0], struct.unpack_from("<I", self.data, 48)[0]
        found[0].append(digest("header", number(osabi), number(abi), number(kind),
                               number(flags & 0xffffff if osabi == 0x41 else flags)))
        for s in self.sections[1:]:
            if s.role == "info":
                for fields, of in self.attributes(s.data):
                    section = self.sections[self.symbols[of][3]] if of is not None and self.symbols[of][3] else None
                    found[section.node if section and section.role == "text" else 0].append(digest("attribute", fields))
            elif s.role in ("text", "of text", "common"):
                content = b"".join(f for f, _ in self.attributes(s.data)) if s.type == INFO else \
                    text(s.data[4:] if s.base.startswith(b".nv.capmerc.") else s.data)
                found[s.node].append(digest("section", symbol(s.base), number(s.type), number(s.flags), number(s.align),
                                            number(s.info >> 24 if s.role == "text" else 0),
                                            number(s.size if s.type in NOBITS else 0), content))
        return [parts(f) for f in found]

    def graph(self, own):
        found, edges = [[] for _ in self.sections], {i: set() for i in range(len(self.sections))}
        for i, s in enumerate(self.sections):
            if s.role == "text":
                edges[i].add(0)
            if s.role != "relocations" or self.sections[s.info].role in ("noise", "info", "relocations"):
                continue
            of = self.sections[s.info]
            for at in range(0, len(s.data), 24 if s.type == RELA else 16):
                off, info, addend = struct.unpack_from("<QQQ" if s.type == RELA else "<QQ", s.data + bytes(8), at)[:3] + \
                    (() if s.type == RELA else (0,))
                to, _, _, section, value, _ = self.symbols[info >> 32]
                target = self.sections[section]
                fields = [symbol(of.base), number(off), number(info & 0xffffffff), symbol(to), number(addend)]
                if section and target.role in ("text", "of text"):
                    fields.append(number(value))
                if section and target.role == "text":
                    fields.append(own[target.node])
                elif section and target.role in ("data", "common"):
                    fields.append(self.variable(info >> 32))
                found[of.node].append(digest("relocation", *fields))
                if section and target.role in ("text", "data") and target.node != of.node:
                    edges[of.node].add(target.node)
        return [parts(f, o) for f, o in zip(found, own)], edges

    def reach(self, local, edges):
        """Components by brute force: who reaches whom."""
        def closure(i):
            seen, todo = {i}, [i]
            while todo:
                for k in edges[todo.pop()] - seen:
                    seen.add(k)
                    todo.append(k)
            return seen
        reached = [closure(i) for i in range(len(local))]
        component = [frozenset(k for k in reached[i] if i in reached[k]) for i in range(len(local))]
        made = {}

        def whole(c):
            if c not in made:
                beyond = {component[k] for i in c for k in edges[i]} - {c}
                made[c] = digest("reach", number(len(c)), *sorted(local[i] for i in c), *sorted({whole(b) for b in beyond}))
            return made[c]
        return [whole(c) for c in component]

    def rows(self):
        own = self.own()
        whole = self.reach(*self.graph(own))
        kernels = [s for s in self.symbols if s[1] == 2 and s[2] & 0x10 and s[3]]
        for k in kernels:
            yield digest("kernel", symbol(k[0]), whole[self.functions[k[0]]]), b"kernel " + name(k[0])
        entries = {self.functions[k[0]] for k in kernels}
        rest = [digest("function", whole[0])]
        for i, s in enumerate(self.sections):
            if s.role == "data":
                rest.append(digest("function", whole[i]))
            elif s.role == "text" and i not in entries:
                rest.append(digest("function", symbol(s.name), whole[i]))
        for i, (s, kind, _, section, _, _) in enumerate(self.symbols):
            if kind in (1, 13) and section and self.sections[section].role == "data":
                rest.append(digest("variable", symbol(s), self.variable(i)))
        yield parts(rest), b"image"


for path in sys.argv[1:]:
    print(path)
    for made, what in sorted(Cubin(open(path, "rb").read()).rows(), key=lambda r: (r[1] != b"image", r[1])):
        print(made.hex(), what.decode())
