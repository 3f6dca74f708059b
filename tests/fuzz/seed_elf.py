#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""seed_elf.py - small ELF files of one or two KiB, made by hand: a library from a linker is eight times as large

ideas(blob) yields (name, bytes): both classes, both byte orders, libraries and objects, then libraries whose
parts overlap: tables within the blob or within each other, the blob in a table, alignments beyond sense.
"""
import struct

SO, OBJECT = 3, 1
PROGBITS, SYMTAB, STRTAB, DYNAMIC, NOTE, DYNSYM = 1, 2, 3, 6, 7, 11


class Elf:
    """An ELF file whose sections are laid out one after the other, at addresses that are their offsets."""

    def __init__(self, wide=True, big=False, kind=SO, machine=62):
        self.wide, self.order, self.kind, self.machine = wide, ">" if big else "<", kind, machine
        self.sections, self.segments = [], []  # [name, type, flags, bytes, link, info, align, entsize, at]
        self.data = bytearray(self.header_size() + 4 * self.size_of("IIQQQQQQ", "IIIIIIII"))

    def pack(self, wide, narrow, *values):
        form = wide if self.wide else narrow
        return struct.pack(self.order + form, *[v & (1 << 64) - 1 if c == "Q" else v & 0xffffffff if c == "I" else v
                                                for v, c in zip(values, form)])

    def size_of(self, wide, narrow):
        return struct.calcsize(self.order + (wide if self.wide else narrow))

    def header_size(self):
        return 64 if self.wide else 52

    def add(self, name, kind, content, flags=2, link=0, info=0, align=8, entsize=0, at=None):
        """Appends a section and its bytes; with at, its bytes are those that stand there."""
        if at is None:
            self.data += bytes(-len(self.data) % align)
            at = len(self.data)
            self.data += content
        self.sections.append([name, kind, flags, at, len(content), link, info, align, entsize])
        return at

    def symbol(self, name, value, size, section, info=0x11):
        if self.wide:
            return struct.pack(self.order + "IBBHQQ", name, info, 0, section, value, size)
        return struct.pack(self.order + "IIIBBH", name, value, size, info, 0, section)

    def finish(self, segments):
        names, at = bytearray(b"\0"), []
        for s in self.sections + [[".shstrtab"]]:
            at.append(len(names))
            names += s[0].encode() + b"\0"
        self.add(".shstrtab", STRTAB, bytes(names), flags=0, align=1)
        self.data += bytes(-len(self.data) % 8)
        table = len(self.data)
        self.data += bytes(self.size_of("IIQQQQIIQQ", "IIIIIIIIII"))
        for name, s in zip(at, self.sections):
            _, kind, flags, off, size, link, info, align, entsize = s
            self.data += self.pack("IIQQQQIIQQ", "IIIIIIIIII", name, kind, flags, off if flags & 2 else 0, off, size,
                                   link, info, align, entsize)
        head = b"\x7fELF" + bytes([2 if self.wide else 1, 2 if self.order == ">" else 1, 1]) + bytes(9)
        head += self.pack("HHIQQQIHHHHHH", "HHIIIIIHHHHHH", self.kind, self.machine, 1, 0,
                          self.header_size() if segments else 0, table, 0, self.header_size(),
                          self.size_of("IIQQQQQQ", "IIIIIIII") if segments else 0, len(segments),
                          self.size_of("IIQQQQIIQQ", "IIIIIIIIII"), len(self.sections) + 1, len(self.sections))
        self.data[:len(head)] = head
        where = self.header_size()
        for kind, flags, off, size, align in segments:
            if self.wide:
                made = self.pack("IIQQQQQQ", "", kind, flags, off, off, off, size, size, align)
            else:
                made = self.pack("", "IIIIIIII", kind, off, off, off, size, size, flags, align)
            self.data[where:where + len(made)] = made
            where += len(made)
        return bytes(self.data)


def library(blob, symbol="__tvm_ffi__library_bin", function="__tvm_ffi_add", tables_in_blob=False, blob_in_table=False,
            twice=False, align=4096, **kind):
    """A library with a blob and a function, in .symtab and .dynsym."""
    e = Elf(**kind)
    names = b"\0" + symbol.encode() + b"\0" + function.encode() + b"\0libc.so.6\0"
    strings = {"blob": 1, "function": 2 + len(symbol), "needed": 3 + len(symbol) + len(function)}
    entry = 24 if e.wide else 16
    text = e.add(".text", PROGBITS, b"\xf3\x0f\x1e\xfa\x31\xc0\xc3\x90" * 2, flags=6, align=16)
    room = blob + bytes(8 * entry) if tables_in_blob else blob
    at = e.add(".rodata", PROGBITS, room, align=16)
    dynstr = e.add(".dynstr", STRTAB, names, align=1)
    symbols = (bytes(entry) + e.symbol(strings["blob"], at, len(room), 2) +
               e.symbol(strings["function"], text, 16, 1, info=0x12))
    inside = (at + len(blob) + 15) // 16 * 16 if tables_in_blob else None
    dynsym = e.add(".dynsym", DYNSYM, symbols, link=3, info=1, entsize=entry, at=inside)
    if inside:
        e.data[inside:inside + len(symbols)] = symbols
    if blob_in_table:  # the symbol of the blob says that it stands in the table
        e.sections[1][3] = dynsym + entry
        e.data[dynsym + entry:dynsym + 2 * entry] = e.symbol(strings["blob"], dynsym + entry, 2 * entry, 2)
    full = dynsym if twice else None
    e.add(".symtab", SYMTAB, symbols, flags=0, link=3, info=1, entsize=entry, at=full)
    note = e.add(".note.mpack", NOTE, e.pack("III", "III", 6, 4, 1) + b"mpack\0\0\0" + bytes(4), align=4)
    tags = [(5, dynstr), (6, dynsym), (10, len(names)), (11, entry), (1, strings["needed"]), (0, 0)]
    made = b"".join(e.pack("QQ", "II", *t) for t in tags)
    dynamic = e.add(".dynamic", DYNAMIC, made, flags=3, link=3, entsize=16 if e.wide else 8)
    end = len(e.data)
    if e.kind == OBJECT:
        return e.finish([])
    return e.finish([(1, 5, 0, end, align), (2, 6, dynamic, len(made), 8), (4, 4, note, 24, 4)])


def ideas(blob):
    yield "wide", library(blob)
    yield "narrow", library(blob, wide=False, machine=40)
    yield "big", library(blob, big=True, machine=22)
    yield "narrow-big", library(blob, wide=False, big=True, machine=20)
    yield "object", library(blob, kind=OBJECT)
    yield "arm", library(blob, machine=183)
    yield "legacy", library(blob, symbol="__tvm_dev_mblob", function="add")
    yield "hybrid", library(blob, symbol="__tvm_ffi__library_bin", function="__tvm_ffi_main")
    yield "table-in-blob", library(blob, tables_in_blob=True)
    yield "table-in-blob-narrow", library(blob, tables_in_blob=True, wide=False)
    yield "blob-in-table", library(blob, blob_in_table=True)
    yield "tables-alike", library(blob, twice=True)
    yield "tables-alike-in-blob", library(blob, twice=True, tables_in_blob=True)
    for shift in (0, 1, 16, 40, 63):
        yield "align-%d" % shift, library(blob, align=1 << shift)
    if len(blob) > 300:
        yield "headers-in-blob", headers_in(blob)


def headers_in(blob):
    """The table of sections stands in the blob."""
    made = bytearray(library(blob + bytes(1024)))
    at = made.index(blob) + len(blob)
    at += -at % 8
    off, = struct.unpack_from("<Q", made, 40)
    size = 64 * struct.unpack_from("<H", made, 60)[0]
    made[at:at + size] = made[off:off + size]
    struct.pack_into("<Q", made, 40, at)
    return bytes(made)
