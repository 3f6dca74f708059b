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
from seed_elf import DYNSYM, PROGBITS, STRTAB, SYMTAB, Elf  # noqa: E402

HANDLE, INT = struct.pack("<BBH", 3, 64, 1), struct.pack("<BBH", 0, 32, 1)
EM_CUDA = 190


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


def one_function(count):
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
    "steps.toml": lambda: manifest(code_module("k", "cuda", "many.ptx"), one_function(8000)),
    "meant.toml": lambda: manifest(*[code_module("module%d" % i, "cuda", "one.ptx", ["kernel_0"]) for i in range(5000)],
                                   launches(("modula%d" % i, 0) for i in range(5000))),
    "pieces.toml": lambda: manifest(code_module("k", "opencl", "many.cl",
                                                ["kernel_%d" % (15999 - i) for i in range(16000)])),
    "standalone.toml": lambda: manifest("standalone = true\n", code_module("k", "opencl", "some.cl"),
                                        launches(("k", i) for i in range(4000))),
    "some.cl": lambda: opencl_text(some_names(4000)),
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
    **MODELS,
    **MANIFESTS,
}


def main(out, *names):
    for name in names or MADE:
        with open(os.path.join(out, name), "wb") as f:
            f.write(MADE[name]())


if __name__ == "__main__":
    main(*sys.argv[1:])
