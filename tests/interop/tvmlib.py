# SPDX-License-Identifier: Apache-2.0
"""Modules and libraries made by real TVM, and independent readers of what is in them."""
import _ctypes
import ctypes
import struct

import tvm
import tvm.s_tir
import tvm_ffi
from tvm import te

BLOB_SYMBOL = "__tvm_ffi__library_bin"
# Code for nvptx is linked with CUDA's libdevice, which these kernels need nothing of: do without,
# so that PTX is made on machines without CUDA too.
tvm_ffi.register_global_func("tvm_callback_libdevice_path", lambda *_: "", override=True)

DTYPES = {(3, 64, 1): "handle", (2, 32, 1): "float32", (0, 32, 1): "int32", (0, 64, 1): "int64"}


def vadd_ir(name, target, length=64):
    """C = A + B over float32 vectors, scheduled for target."""
    a, b = (te.placeholder((length,), name=n) for n in "AB")
    c = te.compute((length,), lambda i: a[i] + b[i], name="C")
    function = te.create_prim_func([a, b, c]).with_attr("global_symbol", name)
    schedule = tvm.s_tir.Schedule(tvm.IRModule({name: function}))
    schedule.work_on(name)
    (loop,) = schedule.get_loops(schedule.get_sblock("C"))
    if target != "llvm":
        block, thread = schedule.split(loop, [None, 32])
        schedule.bind(block, "blockIdx.x")
        schedule.bind(thread, "threadIdx.x")
    return schedule.mod


def vadd(name, target, length=64):
    """The same compiled for target; host code by LLVM."""
    return tvm.compile(vadd_ir(name, target, length),
                       target=tvm.target.Target(target, host="llvm"))


def device(name, target):
    """A new module with one kernel for target."""
    return vadd(name, target).mod.imports[0]


def blob_in(library):
    """The bytes of the blob symbol as the dynamic loader presents them."""
    loaded = ctypes.CDLL(str(library), mode=ctypes.RTLD_LOCAL | 1)
    length = ctypes.c_uint64.in_dll(loaded, BLOB_SYMBOL).value
    content = bytes((ctypes.c_ubyte * (length + 8)).in_dll(loaded, BLOB_SYMBOL))
    _ctypes.dlclose(loaded._handle)
    return content


class Reader:
    """The primitives of the format: little-endian, u64 counts."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        assert self.at + count <= len(self.data)
        self.at += count
        return self.data[self.at - count:self.at]

    def u64(self):
        return struct.unpack("<Q", self.take(8))[0]

    def bytes(self):
        return self.take(self.u64())

    def text(self):
        return self.bytes().decode()

    def list(self, item):
        return [item() for _ in range(self.u64())]


def read_blob(blob):
    """[(kind, payload or None, [child indices])] of a blob with its length field."""
    r = Reader(blob)
    assert r.u64() == len(blob) - 8
    starts, children = r.list(r.u64), r.list(r.u64)
    nodes = []
    for begin, end in zip(starts, starts[1:]):
        kind = r.text()
        nodes.append((kind, None if kind == "_lib" else r.bytes(), children[begin:end]))
    assert r.at == len(blob)
    return nodes


def read_device(payload):
    """(format, [(function, argument types, launch tags)], data) of a cuda or opencl payload."""
    r = Reader(payload)

    def dtype():
        return DTYPES[struct.unpack("<BBH", r.take(4))]

    def function():
        key, name = r.text(), r.text()
        assert name == key
        args, tags = r.list(dtype), r.list(r.text)
        assert r.list(lambda: r.take(4)) == [bytes(4)] * len(args)
        return key, args, tags

    form = r.text()
    functions = r.list(function)
    data = r.bytes()
    assert r.at == len(payload)
    return form, functions, data


def device_manifest(name, module, folder):
    """A [[module]] table for a device module: its data in a file, its functions as a table."""
    import graphs

    ((kind, payload, _),) = read_blob(graphs.blob_of(module))
    form, functions, data = read_device(payload)
    (folder / f"{name}.{form}").write_bytes(data)
    words = [f'[[module]]\nid = "{name}"\nkind = "{kind}"\nformat = "{form}"\n'
             f'data = "{name}.{form}"\n']
    for symbol, args, tags in functions:
        words.append(f'  [[module.function]]\n  name = "{symbol}"\n  args = {args}\n'
                     f'  launch = {tags}\n'.replace("'", '"'))
    return "".join(words)
