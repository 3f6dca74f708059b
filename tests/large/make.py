#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make.py - valid files with very many of one thing, in which whatever is quadratic, or keeps much for each, shows

  make.py DIR NAME...       NAME as in MADE; writes DIR/NAME

Nothing in them is random: the same names give the same bytes.
"""
import json
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fuzz"))
from seed_elf import DYNSYM, NOTE, PROGBITS, STRTAB, SYMTAB, Elf  # noqa: E402

HANDLE, INT = struct.pack("<BBH", 3, 64, 1), struct.pack("<BBH", 0, 32, 1)
EM_CUDA, EM_AMDGPU = 190, 224
RELA = 4


def u64(*values):
    return struct.pack("<%dQ" % len(values), *values)


def text(data):
    return u64(len(data)) + data


# MODULES

def blob(modules, children):
    """A blob of (kind, payload) and the indices that each imports; b"_lib" has no payload."""
    flat = [c for row in children for c in row]
    starts = [0]
    for row in children:
        starts.append(starts[-1] + len(row))
    body = u64(len(starts), *starts) + u64(len(flat), *flat)
    body += b"".join(text(kind) + (b"" if kind == b"_lib" else text(payload)) for kind, payload in modules)
    return u64(len(body)) + body


def chain(count, module):
    """Each module is the import of the one before."""
    return blob([module] * (count - 1) + [(b"_lib", b"")], [[i + 1] for i in range(count - 1)] + [[]])


def flat(count, module):
    """The root imports all."""
    return blob([(b"_lib", b"")] + [module] * (count - 1), [list(range(1, count))] + [[]] * (count - 1))


def lattice(count):
    """Each module imports the next two: more ways through it than anybody can count."""
    return blob([(b"my_kind", b"x")] * count, [list(range(i + 1, min(i + 3, count))) for i in range(count)])


# KERNELS

def kernels(fmt, names, code):
    """The payload of a CUDA module."""
    row = u64(2) + HANDLE + INT + u64(2) + text(b"blockIdx.x") + text(b"threadIdx.x") + u64(0)
    return (text(fmt) + u64(len(names)) + b"".join(text(n) + text(n) + row for n in names) + text(code))


def ptx(names):
    return (b".version 8.0\n.target sm_80\n.address_size 64\n" +
            b"".join(b".visible .entry %s(.param .u64 p0, .param .u32 p1)\n{\n\tret;\n}\n" % n for n in names))


def cubin(count):
    """A cubin with a section and a symbol for each of count kernels."""
    e = Elf(machine=EM_CUDA, kind=2)
    names, at = bytearray(b"\0"), []
    for i in range(count):
        at.append(len(names))
        names += b"k%d\0" % i
    body = [e.add(".text.k%d" % i, PROGBITS, bytes(16), flags=6, align=1) for i in range(count)]
    e.add(".strtab", STRTAB, bytes(names), flags=0, align=1)
    table = bytes(24) + b"".join(e.symbol(at[i], 0, 16, i + 1, info=0x12) for i in range(count))
    assert len(body) == count
    e.add(".symtab", SYMTAB, table, flags=0, link=count + 1, info=1, entsize=24)
    return e.finish([])


def infos(count):
    """A cubin with one kernel and count sections of attributes, all of the same bytes."""
    e = Elf(machine=EM_CUDA, kind=2)
    e.add(".text.k", PROGBITS, bytes(16), flags=6, align=1)
    e.add(".strtab", STRTAB, b"\0k\0", flags=0, align=1)
    symbol = bytearray(e.symbol(1, 0, 16, 1, info=0x12))
    symbol[5] = 0x10
    e.add(".symtab", SYMTAB, bytes(24) + bytes(symbol), flags=0, link=2, info=1, entsize=24)
    attributes = struct.pack("<BBH", 3, 0x19, 16) * (8 * count)
    at = e.add(".nv.info.k", PROGBITS, attributes, flags=0, align=4)
    for _ in range(count):
        e.sections.append([".nv.info.k", PROGBITS, 0, at, len(attributes), 0, 0, 4, 0])
    return e.finish([])


def spirv(count):
    """Entry points that share one function, which has as many execution modes."""
    def put(op, *words):
        return struct.pack("<%dI" % (len(words) + 1), len(words) + 1 << 16 | op, *words)

    def name(i):
        data = b"e%06d\0" % i
        return struct.unpack("<2I", data)

    made = struct.pack("<5I", 0x07230203, 0x10000, 0, 11, 0) + put(17, 1) + put(14, 0, 1)
    made += b"".join(put(15, 5, 3, *name(i)) for i in range(count))
    made += put(16, 3, 17, 8, 1, 1) * count
    made += put(19, 1) + put(33, 2, 1) + put(54, 1, 3, 0, 2) + put(248, 4) + put(253) + put(56)
    return made


def one_module(payload, kind=b"cuda"):
    return blob([(b"_lib", b""), (kind, payload)], [[1], []])


def cxx_kernels(count):
    """Kernels of C++, whose symbols tell their parameters."""
    names = [b"_Z%dkernel_%dPfi" % (len(b"kernel_%d" % i), i) for i in range(count)]
    return one_module(kernels(b"ptx", names, ptx(names)))


def some_kernels(count):
    names = [b"kernel_%d" % i for i in range(count)]
    return one_module(kernels(b"ptx", names, ptx(names)))


# SOURCES

def some_names(count, prefix=b""):
    return [b"%skernel_%d" % (prefix, i) for i in range(count)]


def opencl(names, code):
    return one_module(kernels(b"cl", names, code), b"opencl")


def opencl_text(names, attribute=b"", params=b"__global float* a, int n"):
    """A program for each kernel, as TVM writes them."""
    return b"".join(b"// Function: %s\n%s__kernel void %s(%s) { a[0] = n; }\n" % (n, attribute, n, params)
                    for n in names)


def cuda_text(names, qualifiers=b'extern "C" __global__'):
    return b"".join(b"%s void %s(float* a, int n) { a[0] = n; }\n" % (qualifiers, n) for n in names)


def hashes(count):
    """A line of '#' that begins none."""
    return opencl([b"kernel"], opencl_text([b"kernel"]) + b" " * count + b"x" + b"#" * count + b"\n")


def own_texts(kind, text_of, fmt=b""):
    """A text for each of ten thousand kernels."""
    names = some_names(10000)
    row = u64(2) + HANDLE + INT + u64(2) + text(b"blockIdx.x") + text(b"threadIdx.x") + u64(0)
    return one_module((text(fmt) if fmt else b"") + u64(len(names)) + b"".join(text(n) + text(n) + row for n in names) +
                      u64(len(names)) + b"".join(text(n) + text(text_of % n) for n in names), kind)


METAL = b"""#include <metal_stdlib>
using namespace metal;
kernel void %s(device float* a [[buffer(0)]]) {}
"""
WGSL = b"""@group(0) @binding(0) var<storage> a: array<f32>;
@compute @workgroup_size(64) fn %s() {}
"""


# LIBRARIES

def library(functions, sections=0, content=None):
    """A library with functions of TVM, as many more sections, and a blob with one kernel."""
    e = Elf()
    content = content or some_kernels(1)
    names, rows = bytearray(b"\0__tvm_ffi__library_bin\0"), []
    code = e.add(".text", PROGBITS, b"\x31\xc0\xc3\x90" * max(4, functions), flags=6, align=16)
    at = e.add(".rodata", PROGBITS, content, align=16)
    rows.append(bytes(24) + e.symbol(1, at, len(content), 2))
    for i in range(functions):
        rows.append(e.symbol(len(names), code + 4 * i, 4, 1, info=0x12))
        names += b"__tvm_ffi_function_%d\0" % i
    needed = len(names)
    names += b"libc.so.6\0"
    dynstr = e.add(".dynstr", STRTAB, bytes(names), align=1)
    symbols = b"".join(rows)
    dynsym = e.add(".dynsym", DYNSYM, symbols, link=3, info=1, entsize=24)
    e.add(".symtab", SYMTAB, symbols, flags=0, link=3, info=1, entsize=24)
    tags = [(5, dynstr), (6, dynsym), (10, len(names)), (11, 24), (1, needed), (0, 0)]
    made = b"".join(e.pack("QQ", "II", *t) for t in tags)
    dynamic = e.add(".dynamic", 6, made, flags=3, link=3, entsize=16)
    for i in range(sections):
        e.add(".data.%d" % i, PROGBITS, b"x", align=1)
    end = len(e.data)
    return e.finish([(1, 5, 0, end, 4096), (2, 6, dynamic, len(made), 8)])


def archive(count):
    """Members that are objects with one function each."""
    e = Elf(kind=1)
    names = b"\0__tvm_ffi_one\0"
    e.add(".text", PROGBITS, b"\x31\xc0\xc3\x90", flags=6, align=16)
    e.add(".strtab", STRTAB, names, flags=0, align=1)
    e.add(".symtab", SYMTAB, bytes(24) + e.symbol(1, 0, 4, 1, info=0x12), flags=0, link=2, info=1, entsize=24)
    made = e.finish([])
    made += b"\n" * (len(made) % 2)
    return b"!<arch>\n" + b"".join(b"%-16s%-12d%-6d%-6d%-8s%-10d`\n" % (b"m%d.o/" % i, 0, 0, 0, b"644", len(made)) + made
                                   for i in range(count))


# TEXTS

PROTOTYPES = b" when calling:\n  `\0"  # what stands before one


def telling(symbols, constants=b"", code=None, names=b"\0", content=None, again=0):
    """A library for x86-64 with functions of TVM and constants that tell of them, and a blob.

    A symbol is (name, offset in the code, size); a name may be an offset in names. code(d) makes code from which the
    constants are d bytes away. again: of so many more sections the bytes are those constants.
    """
    e, names, content = Elf(), bytearray(names), content or some_kernels(1)

    def put(name):
        names.extend(name + b"\0")
        return len(names) - len(name) - 1

    texts = e.add(".rodata", PROGBITS, constants + b"\0", align=16)
    at = len(e.data) + -len(e.data) % 16
    e.add(".text", PROGBITS, code(texts - at) if code else b"\x31\xc0\xc3\x90" * 4, flags=6, align=16)
    blob_at = e.add(".data", PROGBITS, content, flags=3, align=16)
    rows = [bytes(24), e.symbol(put(b"__tvm_ffi__library_bin"), blob_at, len(content), 3)]
    rows += [e.symbol(n if isinstance(n, int) else put(n), at + off, size, 2, info=0x12) for n, off, size in symbols]
    dynstr = e.add(".dynstr", STRTAB, bytes(names), align=1)
    dynsym = e.add(".dynsym", DYNSYM, b"".join(rows), link=4, info=1, entsize=24)
    tags = [(5, dynstr), (6, dynsym), (10, len(names)), (11, 24), (0, 0)]
    made = b"".join(e.pack("QQ", "II", *t) for t in tags)
    dynamic = e.add(".dynamic", 6, made, flags=3, link=4, entsize=16)
    for _ in range(again):
        e.add(".rodata", PROGBITS, constants, align=1, at=texts)
    end = len(e.data)
    return e.finish([(1, 5, 0, end, 4096), (2, 6, dynamic, len(made), 8)])


ONE = [(b"__tvm_ffi_f", 0, 4)]


def lengths(byte, texts):
    """Functions whose names are one byte, again and again, each of another length."""
    return telling([(b"__tvm_ffi_" + byte * n, 0, 4) for n in range(1, 1000)], PROTOTYPES + texts)


def asserts(message):
    return telling(ONE, b"Assert fail: x, f: num_args should be 1\0Assert fail: x, " + message + b"\0")


def getters(count, away=0, again=0):
    """Each getter of a doc has 32 addresses in its code, all of them of one long text, or so far away from it."""
    size = 32 * 7
    symbols = [(b"__tvm_ffi_g%d" % i, 0, 4) for i in range(count)]
    symbols += [(b"__tvm_ffi__doc_g%d" % i, i * size, size) for i in range(count)]
    return telling(symbols, b"d" * (200 * count), lambda d: b"".join(
        b"\x48\x8d\x05" + struct.pack("<i", d + away - 7 * i - 7) for i in range(32 * count)), again=again)


def pieces(piece, count):
    """One text with very many begins of a function's metadata in it."""
    return telling(ONE + [(b"__tvm_ffi__metadata_f", 0, 4)], piece * count)


def tails(count):
    """Symbols whose names are tails of one long string."""
    return telling([(1 + 10 * i, 0, 4) for i in range(count)], names=b"\0" + b"__tvm_ffi_" * count + b"x\0")


def images(count):
    """Each function may have a kernel with an image, and there are as many kernels."""
    text = b"__kernel void k(__read_only image2d_t a, int n) {}\n"
    table = kernels(b"cl", [b"f%d_kernel" % i for i in range(count)], text)
    return telling([(b"__tvm_ffi_f%d" % i, 0, 4) for i in range(count)],
                   PROTOTYPES + b"".join(b"f%d(a: Tensor([n], float32))\0" % i for i in range(count)),
                   content=one_module(table, b"opencl"))


# WHAT A LOADER READS

class Library:
    """A library for x86-64 with a blob, whose dynamic section says what put() and tags say."""

    def __init__(self):
        self.elf, self.names, self.rows, self.tags = Elf(), bytearray(b"\0"), [bytes(24)], []

    def name(self, text):
        self.names += text + b"\0"
        return len(self.names) - len(text) - 1

    def symbol(self, name, value=0, size=0, section=0, info=0x12):
        self.rows.append(self.elf.symbol(self.name(name), value, size, section, info))
        return len(self.rows) - 1

    def put(self, name, kind, content, **how):
        return self.elf.add(name, kind, content, **how)

    def finish(self, static=False):
        e, content = self.elf, some_kernels(1)
        at = e.add(".data", PROGBITS, content, flags=3, align=16)
        self.symbol(b"__tvm_ffi__library_bin", at, len(content), len(e.sections), 0x11)
        link, rows = len(e.sections) + 1, b"".join(self.rows)
        dynstr = e.add(".dynstr", STRTAB, bytes(self.names), align=1)
        dynsym = e.add(".dynsym", DYNSYM, rows, link=link, info=1, entsize=24)
        if static:
            e.add(".symtab", SYMTAB, rows, flags=0, link=link, info=1, entsize=24)
        tags = [(5, dynstr), (6, dynsym), (10, len(self.names)), (11, 24)] + self.tags + [(0, 0)]
        made = b"".join(e.pack("QQ", "II", *t) for t in tags)
        dynamic = e.add(".dynamic", 6, made, flags=3, link=link, entsize=16)
        return e.finish([(1, 5, 0, len(e.data), 4096), (2, 6, dynamic, len(made), 8)])


RET = b"\x31\xc0\xc3\x90"


def one_function():
    made = Library()
    made.symbol(b"__tvm_ffi_f", made.put(".text", PROGBITS, RET * 4, flags=6, align=16), 4, 1)
    return made


def needed(count):
    made = one_function()
    made.tags += [(1, made.name(b"lib%d.so" % i)) for i in range(count)]
    return made.finish()


def needed_tails(count):
    """Names of libraries that are tails of one long string."""
    made = one_function()
    at = made.name(b"l" * (16 * count))
    made.tags += [(1, at + i) for i in range(count)]
    return made.finish()


def run_path(count):
    made = one_function()
    made.tags += [(29, made.name(b":".join(b"/no/%d" % i for i in range(count))))]
    made.tags += [(1, made.name(b"lib%d.so" % i)) for i in range(count)]
    return made.finish()


def versions(records, entries, names, step=16):
    """Records of versions that are needed, each with entries entries, step bytes from one to the next."""
    made = one_function()
    file = made.name(b"libc.so.6")
    at = made.name(names)
    body = b"".join(struct.pack("<HHIII", 1, entries, file, 16 * (records - i), 16) for i in range(records))
    body += b"".join(struct.pack("<IHHII", 0, 0, 2, at + i, step) for i in range(entries if step else 1))
    made.tags += [(1, file), (0x6ffffffe, made.put(".gnu.version_r", 0x6ffffffe, body)), (0x6fffffff, records)]
    return made.finish()


def slots(count, sections=0, again=False):
    """As many slots of a PLT as entries, and getters of docs whose code calls them behind each of 16 texts."""
    made = Library()
    e = made.elf
    own = [made.symbol(b"_ZNSt17basic_string_viewIcE%d" % i, info=0x10) for i in range(count)]
    text = made.put(".rodata", PROGBITS, b"x" * 40 + b"\0", align=16)
    got = made.put(".got.plt", PROGBITS, bytes(8 * count), flags=3, align=16)
    plt = len(e.data) + -len(e.data) % 16
    made.put(".plt", PROGBITS, b"".join(
        b"\xff\x25" + struct.pack("<i", got + 8 * i - (plt + 8 * i + 6)) + b"\x90\x90" for i in range(count)),
        flags=6, align=16)
    at = len(e.data) + -len(e.data) % 16
    code = bytearray()
    for i in range(16 * count):
        code += b"\x48\x8d\x3d" + struct.pack("<i", text - (at + len(code) + 7))
        code += b"\xe8" + struct.pack("<i", plt + 8 * (i % count) - (at + len(code) + 5))
    made.put(".text", PROGBITS, bytes(code), flags=6, align=16)
    for i in range(count):
        made.symbol(b"__tvm_ffi_g%d" % i, at, 8, 4)
        made.symbol(b"__tvm_ffi__doc_g%d" % i, at + 192 * i, 192, 4)
    filled = b"".join(struct.pack("<QQq", got + 8 * (0 if again else i), own[i] << 32 | 7, 0) for i in range(count))
    made.tags += [(23, made.put(".rela.plt", RELA, filled, entsize=24)), (2, len(filled))]
    for i in range(sections):
        made.put(".data.%d" % i, PROGBITS, b"x", align=1)
    return made.finish()


def relocations(count, again=1):
    """Sections of one relocation each, or of the same count ones again and again."""
    made = one_function()
    rows = [struct.pack("<QQq", 4096 + 8 * i, 1 << 32 | 6, 0) for i in range(count)]
    total = count if again == 1 else again
    link = total + 4
    at = made.put(".rela", RELA, rows[0] if again == 1 else b"".join(rows), link=link, entsize=24)
    for i in range(1, total):
        if again == 1:
            made.put(".rela", RELA, rows[i], link=link, entsize=24)
        else:
            made.elf.sections.append([".rela", RELA, 2, at, 24 * count, link, 0, 8, 24])
    return made.finish()


def sections_of_code(count):
    """An object whose functions have a section each, and one for the relocation in it."""
    e, names, rows = Elf(kind=1), bytearray(b"\0"), [bytes(24)]
    for i in range(count):
        e.add(".text.%d" % i, PROGBITS, b"\xe8\0\0\0\0\xc3" + bytes(10), flags=6, align=16)
        rows.append(e.symbol(len(names), 0, 16, i + 1, info=0x12))
        names += b"__tvm_ffi_f%d\0" % i
    e.add(".strtab", STRTAB, bytes(names), flags=0, align=1)
    e.add(".symtab", SYMTAB, b"".join(rows), flags=0, link=count + 1, info=1, entsize=24)
    for i in range(count):
        e.add(".rela.%d" % i, RELA, struct.pack("<QQq", 1, i + 1 << 32 | 4, -4), flags=0x40, link=count + 2, info=i + 1,
              entsize=24)
    return e.finish([])


def functions_at(count, size):
    """Functions of so many bytes that begin at one place; size None: each goes on to the end of the code."""
    made = Library()
    at = made.put(".text", PROGBITS, RET * (count if size is None else 4), flags=6, align=16)
    for i in range(count):
        made.symbol(b"__tvm_ffi_f%d" % i, at + (4 * i if size is None else 0),
                    4 * (count - i) if size is None else size, 1)
    return made.finish(static=True)


def references(count, pad):
    """A function that refers to one table, again and again, behind pad bytes."""
    made = Library()
    made.put(".pad", PROGBITS, b"x" * pad, align=16)
    table = b"\1\2\3\4" * (2 * count)
    data = made.put(".rodata", PROGBITS, table, align=16)
    made.put(".pad2", PROGBITS, b"x" * pad, align=16)
    at = len(made.elf.data) + -len(made.elf.data) % 16
    code = b"".join(b"\x48\x8d\x3d" + struct.pack("<i", data - (at + 7 * i + 7)) for i in range(count))
    made.put(".text", PROGBITS, code, flags=6, align=16)
    made.symbol(b"table", data, len(table), 2, 0x11)
    made.symbol(b"__tvm_ffi_f", at, len(code), 4)
    return made.finish(static=True)


# CODE FOR SEVERAL DEVICES

def fatbin(texts):
    body = b""
    for data in texts:
        data += bytes(1 + -(len(data) + 1) % 8)
        body += struct.pack("<HHIQIIHHIIIQQQ", 1, 0x101, 64, len(data), 0, 0, 0, 8, 80, 0, 0, 0, 0, 0) + data
    return struct.pack("<IHHQ", 0xba55ed50, 1, 16, len(body)) + body


def fatbin_of(names):
    return one_module(kernels(b"fatbin", names, fatbin([ptx([n]) for n in names])))


def message(value):
    """MessagePack of numbers, texts, lists and maps."""
    if isinstance(value, int):
        return struct.pack(">BI", 0xce, value)
    if isinstance(value, bytes):
        return struct.pack(">BH", 0xda, len(value)) + value
    rows = [p for pair in value.items() for p in pair] if isinstance(value, dict) else value
    return struct.pack(">BI", 0xdf if isinstance(value, dict) else 0xdd, len(value)) + b"".join(map(message, rows))


def note(owner, kind, text):
    head = struct.pack("<III", len(owner), len(text), kind)
    return head + owner + bytes(-len(owner) % 4) + text + bytes(-len(text) % 4)


def lists(count):
    """Metadata of a kernel with its arguments again and again, each time a thousand that say nothing."""
    one = message(b".args") + struct.pack(">BI", 0xdd, 1000) + b"\x80" * 1000
    return (struct.pack(">BI", 0xdf, 1) + message(b"amdhsa.kernels") + struct.pack(">BIBI", 0xdd, 1, 0xdf, count + 2) +
            message(b".name") + message(b"kernel_0") + one * count + message(b"x") + message(b"y" * 8000))


def amdgpu(names, tables=0, notes=0, tails=0, metadata=None):
    """A code object; tables, notes: so many sections more of the same bytes; tails: names that are tails of one."""
    e, strings, rows = Elf(machine=EM_AMDGPU), bytearray(b"\0" + b"k" * tails + b"\0"), [bytes(24)]
    at = e.add(".text", PROGBITS, bytes(16 * len(names)), flags=6, align=16)
    rows += [e.symbol(1 + i, at, 16, 1, info=0x12) for i in range(tails)]
    for i, name in enumerate(names):
        rows.append(e.symbol(len(strings), at + 16 * i, 16, 1, info=0x12))
        strings += name + b"\0"
    e.add(".dynstr", STRTAB, bytes(strings), align=1)
    symbols = b"".join(rows)
    dynsym = e.add(".dynsym", DYNSYM, symbols, link=2, info=1, entsize=24)
    for _ in range(tables):
        e.sections.append([".symtab", SYMTAB, 0, dynsym, len(symbols), 2, 1, 8, 24])
    filling = note(b"X\0", 1, b"") * notes
    for i in range(notes):
        if i:
            e.sections.append([".note", NOTE, 2, other, len(filling), 0, 0, 4, 0])
        else:
            other = e.add(".note", NOTE, filling, align=4)
    e.add(".note", NOTE, note(b"AMDGPU\0", 32, metadata or message({b"amdhsa.kernels": [
        {b".name": n, b".symbol": n + b".kd", b".vgpr_count": 4} for n in names]})), align=4)
    made = bytearray(e.finish([(1, 5, 0, len(e.data), 4096)]))
    made[7:9] = b"\x40\x03"
    return bytes(made)


def bundle(images):
    target, heads, body = b"hipv4-amdgcn-amd-amdhsa--gfx900", b"", b""
    first = 32 + len(images) * (24 + len(target))
    first += -first % 8
    for data in images:
        heads += struct.pack("<QQQ", first + len(body), len(data), len(target)) + target
        body += data + bytes(-len(data) % 8)
    heads = b"__CLANG_OFFLOAD_BUNDLE__" + u64(len(images)) + heads
    return heads + bytes(-len(heads) % 8) + body


def hip(names, code):
    return one_module(kernels(b"hsaco", names, code), b"hip")


# FILES THAT A MANIFEST IS FILLED IN FROM

def cuda_kernels(count, arrays=0):
    return (b"".join(b"extern __shared__ float s%d[];\n" % i for i in range(arrays)) +
            b"".join(b'extern "C" __global__ void k%d(float* a, int n) { a[0] = n; }\n' % i for i in range(count)))


def ptx_arrays(count):
    text = ptx(some_names(count))
    at = text.index(b".visible")
    return text[:at] + b"".join(b".extern .shared .align 4 .b8 s%d[];\n" % i for i in range(count)) + text[at:]


def mangled(count):
    return b"".join(b"int __tvm_ffi_f%d(void* a) { return 0; }\n" % i for i in range(count))



# MODELS

ELEMENT = struct.pack("<QQiiiBBHqQ", 0xDD5E40F096B4A13F, 0, 1, 0, 1, 2, 32, 1, 1, 4) + bytes(4)  # a tensor of one


def weights(count):
    return u64(count) + b"".join(text(b"w%d" % i) for i in range(count))


def factory(count, graph=b""):
    return graph + u64(count) + weights(count) + ELEMENT * count + text(b"default")


def items(kind, payload):
    """A blob as TVM up to 0.20 wrote it, with one module."""
    body = u64(2) + text(kind) + payload + text(b"_import_tree") + u64(2, 0, 0, 0)
    return u64(len(body)) + body


def graph(count):
    """A graph executor whose inputs are all parameters."""
    made = {"nodes": [{"op": "null", "name": "w%d" % i, "inputs": []} for i in range(count)],
            "arg_nodes": list(range(count)), "heads": [[count - 1, 0, 0]], "node_row_ptr": list(range(count + 1)),
            "attrs": {"dltype": ["list_str", ["float32"] * count], "storage_id": ["list_int", list(range(count))],
                      "shape": ["list_shape", [[1]] * count]}}
    return items(b"GraphExecutorFactory", factory(count, text(json.dumps(made, separators=(",", ":")).encode())))


def table(prefix):
    """Forty thousand kernels of a code that says nothing of them."""
    return one_module(kernels(b"nki", some_names(40000, prefix), b"code"), b"nki")


MODELS = {
    "table-a.blob": lambda: table(b"a_"),
    "table-b.blob": lambda: table(b"b_"),
    "consts.blob": lambda: one_module(weights(60000) + u64(60000) + ELEMENT * 60000 + u64(0, 0), b"const_loader"),
    "aot.blob": lambda: items(b"AotExecutorFactory", factory(60000)),
    "graph.blob": lambda: graph(40000),
}

# MANIFESTS

def code_module(name, kind, file, rows=()):
    return ('[[module]]\nid = "%s"\nkind = "%s"\ndata = "%s"\n' % (name, kind, file) + "".join(
        '[[module.function]]\nname = "%s"\nargs = ["handle", "int32"]\nlaunch = ["blockIdx.x", "threadIdx.x"]\n' % row
        for row in rows))


STEP = 'kernel = "%s.kernel_%d", args = ["a", "n"], grid = ["n"], block = [1]'


def launches(steps):
    """A launch function for each step."""
    return "".join('[[function]]\nname = "f%d"\nparams = ["a: in float32[n]"]\nsteps = [{ %s }]\n' % (i, STEP % step)
                   for i, step in enumerate(steps))


def manifest(*parts):
    return ('[package]\nname = "many"\nabi = "ffi"\n' + "".join(parts)).encode()


def function_of_steps(count):
    """Steps, parameters and temporaries of one launch function."""
    return '[[function]]\nname = "f"\nparams = ["a: in float32[n]", %s]\ntemps = [%s]\nsteps = [\n%s]\n' % (
        ", ".join('"p%d: float32[n%d]"' % (i, i) for i in range(count)),
        ", ".join('"t%d: float32[n]"' % i for i in range(count)),
        "".join("{ %s },\n" % (STEP % ("k", i)) for i in range(count)))


MANIFESTS = {
    "many.ptx": lambda: ptx(some_names(8000)),
    "many.cl": lambda: opencl_text(some_names(16000)),
    "functions.toml": lambda: manifest(code_module("k", "cuda", "many.ptx"), launches(("k", i) for i in range(8000))),
    "modules.toml": lambda: manifest(*[code_module("m%d" % i, "cuda", "one.ptx") for i in range(3000)],
                                     launches(("m%d" % i, 0) for i in range(3000))),
    "one.ptx": lambda: ptx(some_names(1)),
    "steps.toml": lambda: manifest(code_module("k", "cuda", "many.ptx"), function_of_steps(8000)),
    "meant.toml": lambda: manifest(*[code_module("module%d" % i, "cuda", "one.ptx", ["kernel_0"]) for i in range(5000)],
                                   launches(("modula%d" % i, 0) for i in range(5000))),
    "pieces.toml": lambda: manifest(code_module("k", "opencl", "many.cl",
                                                ["kernel_%d" % (15999 - i) for i in range(16000)])),
    "standalone.toml": lambda: manifest("standalone = true\n", code_module("k", "opencl", "some.cl"),
                                        launches(("k", i) for i in range(4000))),
    "some.cl": lambda: opencl_text(some_names(4000)),
    "many.spv": lambda: spirv(10000),
    "rows.toml": lambda: manifest('[[module]]\nid = "k"\nkind = "vulkan"\n', *[
        '[[module.function]]\nname = "f%d"\nargs = ["handle"]\nlaunch = ["threadIdx.x"]\ndata = "many.spv"\n' % i
        for i in range(10000)]),
}

UNKNOWN, SMALL = (b"my_kind", b"x"), (b"cuda", kernels(b"cuda", [], b""))
MADE = {
    "chain.blob": lambda: chain(100000, UNKNOWN),
    "chain-cuda.blob": lambda: chain(100000, SMALL),
    "flat.blob": lambda: flat(100000, UNKNOWN),
    "flat-cuda.blob": lambda: flat(100000, SMALL),
    "lattice.blob": lambda: lattice(100000),
    "same.blob": lambda: flat(20000, (b"cuda", kernels(b"ptx", [b"kernel"], ptx([b"kernel"])))),
    "kinds.blob": lambda: blob([(b"kind_%d" % i, b"x") for i in range(100000)],
                               [list(range(1, 100000))] + [[]] * 99999),
    "broken.blob": lambda: flat(100000, (b"cuda", b"x")),
    "kernels.blob": lambda: some_kernels(10000),
    "table.blob": lambda: one_module(kernels(b"cuda", [b"kernel_%d" % i for i in range(1000000)], b"")),
    "cubin.blob": lambda: one_module(kernels(b"cubin", [b"k%d" % i for i in range(30000)], cubin(30000))),
    "cl-hashes.blob": lambda: hashes(60000),
    "cl-missing.blob": lambda: opencl(some_names(4000, b"x"), opencl_text(some_names(4000))),
    "cl-same.blob": lambda: opencl([b"kernel"] * 4000, opencl_text([b"kernel"]) + b"int x;\n" * 4000),
    "cl-same-programs.blob": lambda: opencl([b"kernel"] * 4000, opencl_text([b"other"] + [b"kernel"] * 4000)),
    "cl-constant.blob": lambda: opencl(some_names(8000), b"#define W 64\n" + opencl_text(
        some_names(8000), b"__attribute__((reqd_work_group_size(W,1,1))) ")),
    "cl-typed.blob": lambda: opencl(some_names(12000), b"#define Q float\n" + opencl_text(
        some_names(12000), params=b"__global T* a, int n")),
    "cl-params.blob": lambda: opencl([b"kernel"], opencl_text(
        [b"kernel"], params=b", ".join(b"int a%d" % i for i in range(20000)))),
    "cu-missing.blob": lambda: one_module(kernels(b"cuda", some_names(4000, b"x"), cuda_text(some_names(4000)))),
    "cu-symbols.blob": lambda: one_module(kernels(b"cuda", [b"_Z%d%sPfi" % (len(n), n) for n in some_names(2000)],
                                                  cuda_text(some_names(2000), b"__global__"))),
    "metal.blob": lambda: own_texts(b"metal", METAL, b"metal"),
    "wgsl.blob": lambda: own_texts(b"webgpu", WGSL),
    "modules.so": lambda: library(8000, content=flat(8000, (b"_lib", b""))),
    "cxx.blob": lambda: cxx_kernels(6000),
    "infos.blob": lambda: one_module(kernels(b"cubin", [b"k"], infos(4000))),
    "modes.blob": lambda: one_module(kernels(b"spirv", [b"e000000"], spirv(40000)), b"opencl"),
    "functions.so": lambda: library(100000),
    "sections.so": lambda: library(1, sections=60000),
    "many.a": lambda: archive(10000),
    "parentheses.so": lambda: lengths(b"(", b"(" * 60000 + b")\0"),
    "lengths.so": lambda: lengths(b"a", (b"a" * 999 + b"()\0") * 6000),
    "pairs.so": lambda: asserts(b"Argument f.a.shape[0] has an unsatisfied constraint: %sx == y%s" % (b"(" * 80000,
                                                                                                   b")" * 80000)),
    "dots.so": lambda: asserts(b"a." * 100000 + b"a.dtype is expected to be float32"),
    "getters.so": lambda: getters(1600),
    "begins.so": lambda: pieces(b'{"type_schema":', 10000),
    "pieces.so": lambda: pieces(b'{"type_schema":["' + b"x" * 10000 + b'",', 400),
    "tails.so": lambda: tails(10000),
    "images.so": lambda: images(40000),
    "again.so": lambda: telling(ONE, PROTOTYPES + b"g(" * 150000, again=5000),
    "away.so": lambda: getters(2000, away=1 << 28, again=60000),
    "needed.so": lambda: needed(100000),
    "needed-tails.so": lambda: needed_tails(20000),
    "run-path.so": lambda: run_path(20000),
    "versions.so": lambda: versions(1, 60000, b"".join(b"V_%d\0" % i for i in range(60000))),
    "version-tails.so": lambda: versions(1, 65000, b"G" * 2000000 + b"\0"),
    "version-loop.so": lambda: versions(20000, 65535, b"GLIBC_2.2.5\0", step=0),
    "slots.so": lambda: slots(8000),
    "slots-sections.so": lambda: slots(4000, sections=30000),
    "slots-again.so": lambda: slots(16000, again=True),
    "relocations.so": lambda: relocations(30000),
    "relocations-again.so": lambda: relocations(2000, again=4000),
    "code-sections.o": lambda: sections_of_code(20000),
    "functions-same.so": lambda: functions_at(60000, 16),
    "functions-endless.so": lambda: functions_at(60000, 0),
    "functions-overlap.so": lambda: functions_at(20000, None),
    "references.so": lambda: references(160000, 64),
    "references-moved.so": lambda: references(160000, 640),
    "fatbin.blob": lambda: fatbin_of(some_names(16000)),
    "bundle.blob": lambda: hip(some_names(3000), bundle([amdgpu([n]) for n in some_names(3000)])),
    "amdgpu.blob": lambda: hip(some_names(10000), amdgpu(some_names(10000))),
    "amdgpu-tables.blob": lambda: hip([b"kernel_0"], amdgpu(some_names(8000), tables=8000)),
    "amdgpu-notes.blob": lambda: hip([b"kernel_0"], amdgpu(some_names(1), notes=30000)),
    "amdgpu-lists.blob": lambda: hip([b"kernel_0"], amdgpu(some_names(1), metadata=lists(1200))),
    "amdgpu-tails.blob": lambda: hip([b"kernel_0"], amdgpu(some_names(1), tails=40000)),
    "kernels.cu": lambda: cuda_kernels(20000),
    "arrays.cu": lambda: cuda_kernels(10000, arrays=10000),
    "arrays.ptx": lambda: ptx_arrays(16000),
    "mangled.cc": lambda: mangled(40000),
    **MODELS,
    **MANIFESTS,
}


def main(out, *names):
    for name in names or MADE:
        with open(os.path.join(out, name), "wb") as f:
            f.write(MADE[name]())


if __name__ == "__main__":
    main(*sys.argv[1:])
