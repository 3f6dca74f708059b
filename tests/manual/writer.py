# SPDX-License-Identifier: Apache-2.0
"""Writes a blob of every payload layout that tvm-blob(5) describes, from the page alone.

    writer.py DIR

No release of TVM that still runs writes most of these. Files are DIR/GENERATION-LAYOUT.blob.
"""
import os
import struct
import sys


# ENCODINGS

def u32(value):
    return struct.pack("<I", value)


def u64(value):
    return struct.pack("<Q", value)


def i32(*values):
    return struct.pack(f"<{len(values)}i", *values)


def i64(*values):
    return struct.pack(f"<{len(values)}q", *values)


def text(value):
    value = value.encode() if isinstance(value, str) else value
    return u64(len(value)) + value


def many(*items):
    return u64(len(items)) + b"".join(items)


def texts(*items):
    return many(*map(text, items))


def pairs(**items):
    return many(*(text(key) + value for key, value in items.items()))


def dtype(code, bits, lanes=1):
    return struct.pack("<BBH", code, bits, lanes)


def tensor(shape, data, kind):
    return u64(0xDD5E40F096B4A13F) + u64(0) + i32(1, 0, len(shape)) + kind + i64(*shape) + i64(len(data)) + data


HANDLE, FLOAT, INT = dtype(3, 64), dtype(2, 32), dtype(0, 32)
WEIGHTS = tensor((2, 2), struct.pack("<4f", 1, 2, 3, 4), FLOAT)
SCALAR = tensor((), b"\1\0\0\0", INT)
NAMES, TENSORS = texts("w", "s"), WEIGHTS + SCALAR


# Device code

def kernel(generation, name=""):
    tags = texts("blockIdx.x", "threadIdx.x", "tir.use_dyn_shared_memory")
    entry = text(name) + many(HANDLE, FLOAT, INT) + tags
    return entry if generation == "legacy" else entry + many(i32(0), i32(0))


def table(generation):
    return pairs(one=kernel(generation), another=kernel(generation, "another"))


def shaders(wrap=lambda s: s):
    words = many(u32(0x07230203), u32(0x10000), u32(0))
    return pairs(one=wrap(u32(1) + words), another=wrap(u32(0) + words))


def sources():
    return pairs(one=text("kernel one"), another=text("kernel another"))


def device(g):
    plain = {kind: text(fmt) + table(g) + text("\x7fcode of " + kind) for kind, fmt in
             {"cuda": "ptx", "opencl": "aocx", "hip": "hsaco", "hsaco": "hsaco", "rocm": "hsaco", "hexagon": "so",
              "hex": "so", "nki": "nki", "aocl": "aocx", "sdaccel": "xclbin", "opengl": "gl", "metal": "metal"}.items()}
    yield from ((kind + "-plain", kind, payload) for kind, payload in plain.items())
    yield "metal-013", "metal", text("0.1.0") + sources() + table(g) + text("metal")
    yield "webgpu", "webgpu", table(g) + sources()
    yield "vulkan", "vulkan", text("vulkan") + table(g) + shaders()
    yield "opencl-spirv", "opencl", table(g) + shaders()
    if g == "ffi":
        yield "metal-024", "metal", text("metal") + table(g) + sources()
        yield "vulkan-024", "vulkan", text("vulkan") + table(g) + shaders(text)


# Executables

def relax(g, magic):
    function = i32(1) + text("main") + i64(0, 4, 1, 3) + texts("x")
    packed = i32(0) + text("vm.builtin.shape_of") + i64(0, 0, -2, 0) + many()
    tags = {"legacy": range(6), "ffi-0.21": (72, 5, 71, 65, 1, 3)}.get(g, (70, 5, 69, 65, 1, 3))
    values = (WEIGHTS, FLOAT, many(i64(2), i64(3)), text("global"), i64(-7), struct.pack("<d", 0.5))
    constants = many(*(i32(tag) + value for tag, value in zip(tags, values)))
    immediate, constant = 1 << 56, 2 << 56
    code = [[1, 2, 1, 3, 0, immediate | 5, constant | 1], [4, 2, 2], [3, 1], [2, 2]]
    offsets = [sum(map(len, code[:i])) for i in range(len(code))]
    content = u64(magic) + text("0.14") + many(function, packed)
    if magic & 0xFF == 0x1E:
        content += many(i64(0) + text("global"))
    content += constants + many(*map(i64, offsets)) + many(*(i64(w) for words in code for w in words))
    return content if g == "ffi" else text(content)


def relay_instruction(opcode, *fields):
    check = opcode
    for field in fields:
        check = (check ^ (field + 0x9E3779B9 + (check << 6) + (check >> 2))) % 2**64
    signed = check - 2**64 if check >= 2**63 else check
    return many(*map(i64, (signed, opcode, *fields)))


def relay(release):
    new = release >= 14
    code = [(11, 0, 0, 1) if new else (11, 0, 1), (14, 8, 2), (16, 2, 64, 2, 32, 1, 0, *((0,) if new else ()), 3),
            (5, 3, 2, 2, 32, 1, 2, 4, 2, 2), (4, 0, 3, 1, 0, 1, 4), (10, 2, 2, 1, 2), (7, 0, 2, 5, 0, 1), (9, 5, 0, 6),
            (0, 6, 7), (1, 7)]
    function = texts("main", "8", str(len(code))) + texts("x") + many(i64(0))
    function += b"".join(relay_instruction(*c) for c in code)
    content = u64(0xD225DE2F4214151D) + text(f"0.{release}.0")
    if release >= 9:
        content += many(i32(1, 0) + (text("global") if new else b"")) + i32(0)
    content += texts("main")
    content += many(WEIGHTS) if release < 9 else many(u32(0) + WEIGHTS, u32(1) + text("late"))
    content += many(*(i64(0) for _ in range(1 if release < 9 else 2)))
    content += texts("fused_add") + many(u64(0) + pairs(hash=text("abc"))) + many(function)
    return text(content)


def executors(g):
    magics = (0x1D,) if g != "ffi" else (0x1D, 0x1E)
    for low in magics:
        yield f"relax-{low:x}", "relax.VMExecutable", relax(g, 0xD225DE2F42141500 | low)
    if g != "legacy":
        return
    yield "relax-old", "relax.Executable", relax(g, 0xD225DE2F4214151D)
    for release in (8, 9, 14):
        yield f"relay-{release}", "VMExecutable", relay(release)
    graph = ('{"nodes":[{"op":"null","name":"x","inputs":[]},{"op":"tvm_op","name":"y","attrs":{"func_name":"f",'
             '"num_inputs":"1","num_outputs":"1","flatten_data":"0"},"inputs":[[0,0,0]]}],"arg_nodes":[0],'
             '"heads":[[1,0,0]],"node_row_ptr":[0,1,2],"attrs":{"dltype":["list_str",["float32","float32"]],'
             '"shape":["list_shape",[[2,2],[2,2]]],"storage_id":["list_int",[0,1]]}}')
    for kind in ("GraphExecutorFactory", "GraphRuntimeFactory"):
        yield kind, kind, text(graph) + u64(2) + NAMES + TENSORS + text("default")
    yield "aot", "AotExecutorFactory", u64(2) + NAMES + TENSORS + text("default")
    yield "metadata_module", "metadata_module", b""


# Constants, records, Ethos-N

def others(g):
    needs = texts("f") + u64(1) + texts("w", "s")
    yield "const_loader", "const_loader", NAMES + u64(2) + TENSORS + needs
    for kind in ("dnnl_json arm_compute_lib bnns_json tensorrt msc_tensorrt clml cublas_json cudnn_json hipblas_json "
                 "nnapi example_npu_json").split():
        yield kind, kind, text("f") + text('{"nodes":[],"arg_nodes":[],"heads":[],"node_row_ptr":[0]}') + texts("w")
    yield "coreml", "coreml", text("f") + text(b"\0packed\0")
    yield "c", "c", text("int f;") + text("c") + texts("f") + texts("w")
    yield "static_library", "static_library", text(b"!<arch>\n") + texts("f")
    if g != "legacy":
        return
    yield "metadata", "metadata", NAMES + u64(2) + TENSORS + needs
    yield "examplejson", "examplejson", text("{}")
    yield "torch", "torch", text("f") + text(b"PK\3\4")
    yield "vitis", "VitisAIRuntime", text("module") + text("path") + text("f") + texts("w")
    yield "mrvl_sim", "mrvl_sim", text("f") + text("{}") + text(b"\1\2")
    yield "mrvl_hw", "mrvl_hw", text("f") + text("{}") + text(b"\1\2") + i32(1, 2, 3)
    order = u64(2) + u32(0) + u32(1)
    yield "ethos-n", "ethos-n", many(text("f") + text("net") + order + order)
    yield "ethos-n-sizes", "ethos-n", many(text("f") + text("net") + 2 * (order + u32(16) + u32(32)))


# CONTAINERS: the library imports the module, which imports another of known layout

def container(generation, kind, payload):
    last = "const_loader", texts() + u64(0) + texts() + u64(0)
    modules = [("_lib", b""), (kind, payload), last]
    tree = many(*map(u64, (0, 1, 2, 2))) + many(u64(1), u64(2))
    if generation == "ffi":
        body = tree + b"".join(text(k) + (text(p) if k != "_lib" else b"") for k, p in modules)
    else:
        body = u64(len(modules) + 1) + b"".join(text(k) + p for k, p in modules) + text("_import_tree") + tree
    return u64(len(body)) + body


def main(folder):
    for generation in ("legacy", "ffi-0.21", "ffi"):
        for source in (device, executors, others):
            for name, kind, payload in source(generation):
                path = os.path.join(folder, f"{generation}-{name}.blob")
                with open(path, "wb") as file:
                    file.write(container(generation, kind, payload))
                print(f"{generation}:{path}")


if __name__ == "__main__":
    main(sys.argv[1])
