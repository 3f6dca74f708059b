# SPDX-License-Identifier: Apache-2.0
"""Reads a module blob from what tvm-blob(5) says and nothing else.

    reader.py FILE                 a library, an object, a .tar of objects
    reader.py GENERATION FILE      a bare blob: legacy, ffi-0.21 or ffi; or "none": without header

Prints one JSON document. It shares no code with the programs, so that the page can be judged by
comparing the two (compare.py).
"""
import json
import struct
import sys
import tarfile


class Bad(Exception):
    """The bytes are not what the page says."""


class Reader:
    """ENCODINGS"""

    def __init__(self, data, generation, at=0):
        self.data, self.generation, self.at = data, generation, at

    def raw(self, count):
        if count > len(self.data) - self.at:
            raise Bad(f"{count} bytes at {self.at:#x} reach beyond the end")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, form):
        return struct.unpack("<" + form, self.raw(struct.calcsize("<" + form)))[0]

    def u32(self):
        return self.number("I")

    def i32(self):
        return self.number("i")

    def u64(self):
        return self.number("Q")

    def i64(self):
        return self.number("q")

    def f64(self):
        return self.number("d")

    def bytes(self):
        return self.raw(self.u64())

    def text(self):
        try:
            return self.bytes().decode()
        except UnicodeDecodeError as error:
            raise Bad("a name is no text") from error

    def many(self, count, item):
        if count > len(self.data) - self.at:
            raise Bad(f"{count} elements do not fit")
        return [item() for _ in range(count)]

    def list(self, item):
        return self.many(self.u64(), item)

    def dict(self, key, value):
        return dict(self.list(lambda: (key(), value())))

    def texts(self):
        return self.list(self.text)

    def need(self, condition, what):
        if not condition:
            raise Bad(f"{what} at {self.at:#x}")

    # Element types
    def dtype(self):
        code, bits, lanes = struct.unpack("<BBh", self.raw(4))
        if code == 3:
            return "handle" if bits else "void"
        name = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}.get(code)
        small = ["float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
                 "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn",
                 "float4_e2m1fn"]
        if name:
            name += str(bits)
        elif code == 6:
            name = "bool"
        else:
            name = small[code - 7] if code < 18 else f"custom[{code}]{bits}"
        return name + (f"x{lanes}" if lanes > 1 else f"xvscalex{-lanes}" if lanes < 0 else "")

    # TENSORS
    def tensor(self):
        self.need(self.u64() == 0xDD5E40F096B4A13F, "no tensor")
        self.need(self.u64() == 0, "a tensor's second word")
        self.need(self.i32() == 1, "a tensor that is not on the CPU")
        self.i32()
        rank = self.i32()
        self.need(rank >= 0, "a negative rank")
        bits = self.data[self.at + 1]
        dtype = self.dtype()
        shape = self.many(rank, self.i64)
        count = 1
        for extent in shape:
            count *= extent
        size = self.i64()
        self.need(size == count * ((bits + 7) // 8), "a tensor's size")
        self.raw(size)
        return {"dtype": dtype, "shape": shape, "bytes": size}

    def named_tensors(self):
        names = self.texts()
        self.need(self.u64() == len(names), "a count")
        return dict(zip(names, self.many(len(names), self.tensor)))


# Device code

def kernel(r):
    entry = {"name": r.text(), "arguments": r.list(r.dtype), "launch": r.texts()}
    entry["extra_tags"] = r.list(r.i32) if r.generation != "legacy" else []
    return entry


def table(r):
    entries = r.dict(r.text, lambda: kernel(r))
    for key, entry in entries.items():
        entry["name"] = key
    return list(entries.values())


def shader(r):
    return {"flags": r.u32(), "words": len(r.list(r.u32))}


def plain(r):
    return {"format": r.text(), "kernels": table(r), "code": len(r.bytes())}


def webgpu(r):
    return {"kernels": table(r), "code": {k: len(v) for k, v in r.dict(r.text, r.bytes).items()}}


def metal_013(r):
    r.need(r.text() == "0.1.0", "another version")
    code = r.dict(r.text, r.bytes)
    return {"kernels": table(r), "code": {k: len(v) for k, v in code.items()}, "format": r.text()}


def by_kernel(r):
    return {"format": r.text(), **webgpu(r)}


def vulkan(r):
    return {"format": r.text(), "kernels": table(r), "code": r.dict(r.text, lambda: shader(r))}


def vulkan_024(r):
    def one():
        size = r.u64()
        start = r.at
        got = shader(r)
        r.need(r.at == start + size, "a shader's size")
        return got
    return {"format": r.text(), "kernels": table(r), "code": r.dict(r.text, one)}


def opencl_spirv(r):
    return {"kernels": table(r), "code": r.dict(r.text, lambda: shader(r))}


# Executables

def inner(r, read):
    """One text that holds the content."""
    content = Reader(r.bytes(), r.generation)
    got = read(content)
    content.need(content.at == len(content.data), "surplus bytes")
    return got


def relax_constant(r, tags):
    tag = r.i32()
    r.need(tag in tags, "an unknown tag")
    return tags[tag]()


def relax_content(r):
    magic = r.u64()
    r.need(magic in (0xD225DE2F4214151D, 0xD225DE2F4214151E), "no executable")
    r.need(r.text() == "0.14", "another byte code")
    functions = r.list(lambda: {
        "kind": r.i32(), "name": r.text(), "first": r.i64(), "end": r.i64(), "arguments": r.i64(),
        "registers": r.i64(), "parameters": r.texts()})
    if magic & 0xFF == 0x1E:
        r.list(lambda: (r.i64(), r.text()))
    column = {"legacy": (0, 1, 2, 3, 4, 5), "ffi-0.21": (72, 5, 71, 65, 1, 3)}.get(r.generation, (70, 5, 69, 65, 1, 3))
    values = (r.tensor, r.dtype, lambda: r.list(r.i64), r.text, r.i64, r.f64)
    constants = r.list(lambda: relax_constant(r, dict(zip(column, values))))
    offsets, words = r.list(r.i64), r.list(r.i64)
    for at, end in zip(offsets, offsets[1:] + [len(words)]):
        length = {1: lambda: 4 + words[at + 3], 2: lambda: 2, 3: lambda: 2, 4: lambda: 3}
        r.need(words[at] in length and end - at == length[words[at]](), "an instruction's length")
    return {"functions": [f["name"] for f in functions if f["kind"] != 0], "constants": len(constants),
            "instructions": len(offsets)}


def relax(r):
    return relax_content(r) if r.generation == "ffi" else inner(r, relax_content)




def relay_instruction(r, release):
    words = r.list(r.i64)
    check, (opcode, *fields) = words[0] % 2**64, words[1:]
    r.need(0 <= opcode <= 20, "an unknown opcode")
    value = opcode
    for field in fields:
        value = (value ^ (field + 0x9E3779B9 + (value << 6) + (value >> 2))) % 2**64
    r.need(value == check, "an instruction's check")
    fixed = {0: 2, 1: 1, 2: 3, 3: 3, 4: 3, 5: 7, 6: 7, 7: 3, 8: 3, 9: 3, 10: 4, 11: 2, 12: 1, 13: 2, 14: 2, 15: 0,
             16: 7, 17: 2, 18: 3, 19: 4, 20: 1}[opcode] + (opcode in (11, 16) and release >= 14)
    more = {2: 1, 3: 1, 4: 1, 5: 5, 7: 1, 8: 1}.get(opcode, 6 if opcode == 16 and release >= 14 else None)
    r.need(len(fields) == fixed + (fields[more] if more is not None else 0), "an instruction's length")


def relay_function(r, release):
    name, _, instructions = r.texts()
    r.texts()
    r.list(r.i64)
    for _ in range(int(instructions)):
        relay_instruction(r, release)
    return name, int(instructions)


def relay_content(r):
    r.need(r.u64() == 0xD225DE2F4214151D, "no executable")
    release = int(r.text().split(".")[1])
    if release >= 9:
        r.list(lambda: (r.i32(), r.i32(), r.text() if release >= 14 else ""))
        r.i32()
    r.texts()
    constant = (lambda: r.text() if r.u32() else r.tensor()) if release >= 9 else r.tensor
    constants = r.list(constant)
    r.list(r.i64)
    r.texts()
    r.dict(r.u64, lambda: r.dict(r.text, r.text))
    functions = r.list(lambda: relay_function(r, release))
    return {"functions": [f[0] for f in functions], "constants": len(constants),
            "instructions": sum(f[1] for f in functions)}


# Executor factories, constants

def parameters(r):
    count = r.u64()
    names = r.texts()
    r.need(len(names) == count, "a count")
    return dict(zip(names, r.many(count, r.tensor)))


def graph(r):
    return {"graph": len(json.loads(r.text())["nodes"]), "parameters": parameters(r), "model": r.text()}


def aot(r):
    return {"parameters": parameters(r), "model": r.text()}


def constants_of(r):
    got = {"parameters": r.named_tensors()}
    symbols = r.texts()
    r.need(r.u64() == len(symbols), "a count")
    got["symbols"] = dict(zip(symbols, r.many(len(symbols), r.texts)))
    return got


# Records

def record(*fields):
    return lambda r: dict((name, getattr(r, kind)()) for name, kind in (f.split(":") for f in fields))


JSON_RUNTIME = record("symbol:text", "graph:text", "constants:texts")
MRVL = ("symbol:text", "nodes:text", "code:bytes")


def ethos_n(sized):
    def order(r):
        count = r.u64()
        r.many(count * (2 if sized else 1), r.u32)
    return lambda r: {"networks": r.list(lambda: (r.text(), len(r.bytes()), order(r), order(r)))}


def nothing(_):
    return {}


# KINDS: the layouts of each, in the order in which to try them
LAYOUTS = {
    "_lib": [nothing], "metadata_module": [nothing],
    "opencl": [plain, opencl_spirv], "webgpu": [webgpu], "metal": [metal_013, by_kernel, plain],
    "vulkan": [vulkan_024, vulkan],
    "relax.VMExecutable": [relax], "relax.Executable": [relax],
    "VMExecutable": [lambda r: inner(r, relay_content)],
    "GraphExecutorFactory": [graph], "GraphRuntimeFactory": [graph], "AotExecutorFactory": [aot],
    "const_loader": [constants_of], "metadata": [constants_of],
    "examplejson": [record("graph:text")], "coreml": [record("symbol:text", "model:bytes")],
    "torch": [record("symbol:text", "module:bytes")],
    "VitisAIRuntime": [record("module:bytes", "path:text", "symbol:text", "constants:texts")],
    "mrvl_sim": [record(*MRVL)], "mrvl_hw": [record(*MRVL, "inputs:i32", "outputs:i32", "batches:i32")],
    "c": [record("source:text", "format:text", "functions:texts", "constants:texts")],
    "static_library": [record("object:bytes", "functions:texts")],
    "ethos-n": [ethos_n(True), ethos_n(False)],
}
LAYOUTS.update((k, [plain]) for k in
               "cuda hip hsaco rocm hexagon hex nki aocl sdaccel opengl".split())
LAYOUTS.update((k, [JSON_RUNTIME]) for k in
               "dnnl_json arm_compute_lib bnns_json tensorrt msc_tensorrt clml cublas_json cudnn_json hipblas_json "
               "nnapi example_npu_json".split())


# CONTAINERS

def place_children(modules, rows, children):
    if len(rows) != len(modules) + 1 or rows[0] != 0 or rows != sorted(rows) or rows[-1] != len(children):
        raise Bad("the import tree's rows")
    if any(c >= len(modules) for c in children):
        raise Bad("a child without a module")
    for i, module in enumerate(modules):
        module["children"] = children[rows[i] : rows[i + 1]]
    return modules


def whole_payload(kind, data, generation):
    """A payload whose length is known: the layout after which it ends."""
    for layout in LAYOUTS.get(kind, []):
        r = Reader(data, generation)
        try:
            got = layout(r)
        except (Bad, ValueError, IndexError):
            continue
        if r.at == len(data):
            return got
    raise Bad(f"no layout fits a module of kind {kind}")


def tree_first(r):
    rows, children = r.list(r.u64), r.list(r.u64)
    modules = []
    for _ in range(len(rows) - 1):
        kind = r.text()
        size = 0 if kind == "_lib" else r.u64()
        module = {"kind": kind, "offset": r.at, "bytes": size}
        module["content"] = whole_payload(kind, r.raw(size), r.generation)
        modules.append(module)
    return place_children(modules, rows, children)


def items_from(r, count, modules, tree):
    """The rest of an item list, or Bad; payloads of two layouts are tried in turn."""
    if count == 0:
        r.need(r.at == len(r.data), "surplus bytes")
        return modules, tree
    key = r.text()
    if key == "_import_tree":
        tree = (r.list(r.u64), r.list(r.u64))
        return items_from(r, count - 1, modules, tree)
    start, problem = r.at, Bad(f"unknown kind {key}")
    for layout in LAYOUTS.get(key, []):
        r.at = start
        try:
            module = {"kind": key, "offset": start, "content": layout(r)}
            module["bytes"] = r.at - start
            return items_from(r, count - 1, modules + [module], tree)
        except (Bad, ValueError, IndexError) as error:
            problem = error
    raise problem


def item_list(r):
    modules, tree = items_from(r, r.u64(), [], None)
    if tree:
        return place_children(modules, *tree)
    for module in modules:
        module["children"] = []
    root = {"kind": "_lib", "offset": 0, "bytes": 0, "content": {}, "children": list(range(1, len(modules) + 1))}
    return [root] + modules


def read_blob(data, generation):
    if generation == "none":
        return tree_first(Reader(data, "ffi"))
    size = Reader(data, generation).u64()
    if size > len(data) - 8:
        raise Bad("the blob is cut off")
    r = Reader(data[: size + 8], generation, 8)
    return tree_first(r) if generation == "ffi" else item_list(r)


# SYMBOLS

GENERATIONS = {"__tvm_ffi__library_bin": "ffi", "__tvm_ffi_library_bin": "ffi-0.21", "__tvm_dev_mblob": "legacy",
               "__mpk_standalone_bin": "ffi", "__mpk_standalone_bin_021": "ffi-0.21",
               "__mpk_standalone_bin_legacy": "legacy"}


def elf_symbols(data):
    """(name, size, file offset) of the symbols of a 64-bit little-endian ELF file"""
    kind, = struct.unpack_from("<H", data, 16)
    phoff, shoff = struct.unpack_from("<QQ", data, 32)
    phnum, = struct.unpack_from("<H", data, 56)
    shnum, = struct.unpack_from("<H", data, 60)
    segments = [struct.unpack_from("<IIQQQQ", data, phoff + 56 * i) for i in range(phnum)]
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + 64 * i) for i in range(shnum)]

    def offset_of(value, section):
        if kind == 1:  # an object: relative to its section
            return sections[section][4] + value
        return next((p[2] + value - p[3] for p in segments if p[0] == 1 and p[3] <= value < p[3] + p[5]), None)

    for s in sections:
        if s[1] not in (2, 11):
            continue
        names = sections[s[6]][4]
        for at in range(s[4], s[4] + s[5], 24):
            name, _, _, section, value, size = struct.unpack_from("<IBBHQQ", data, at)
            if 0 < section < 0xFF00:
                end = data.index(b"\0", names + name)
                yield data[names + name : end].decode(), size, offset_of(value, section)


def find_blob(data):
    for name, size, offset in elf_symbols(data):
        for symbol, generation in GENERATIONS.items():
            if name.endswith(symbol):
                return data[offset : offset + size], generation
    return None, None


def find_blob_in_tar(path):
    with tarfile.open(path) as archive:
        for member in archive:
            blob, generation = find_blob(archive.extractfile(member).read())
            if blob:
                return blob, generation
    return None, None


def read_file(path, generation=None):
    """The modules of a file; None when it has no blob."""
    if generation:
        with open(path, "rb") as file:
            return read_blob(file.read(), generation), generation
    if path.endswith(".tar"):
        blob, generation = find_blob_in_tar(path)
    else:
        with open(path, "rb") as file:
            blob, generation = find_blob(file.read())
    return (read_blob(blob, generation), generation) if blob else (None, None)


def read_parameters(data):
    """Parameter dictionaries"""
    r = Reader(data, "ffi")
    r.need(r.u64() == 0xF7E58D4F05049CB7 and r.u64() == 0, "no parameter dictionary")
    got = r.named_tensors()
    r.need(r.at == len(data), "surplus bytes")
    return got


def main(arguments):
    modules, generation = read_file(arguments[-1], *arguments[:-1])
    json.dump({"generation": generation, "modules": modules}, sys.stdout, indent=1,
              default=lambda b: b.decode(errors="replace"))
    print()


if __name__ == "__main__":
    main(sys.argv[1:])
