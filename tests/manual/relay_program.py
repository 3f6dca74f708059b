# SPDX-License-Identifier: Apache-2.0
"""Executables of the Relay VM (TVM 0.18), written from tvm-blob(5) alone: the payload of a VMExecutable."""
import struct

MASK = (1 << 64) - 1
(MOVE, RET, INVOKE, INVOKE_CLOSURE, INVOKE_PACKED, ALLOC_TENSOR, ALLOC_TENSOR_REG, ALLOC_ADT,
 ALLOC_CLOSURE, GET_FIELD, IF, LOAD_CONST, GOTO, GET_TAG, LOAD_CONSTI, FATAL, ALLOC_STORAGE,
 SHAPE_OF, RESHAPE_TENSOR, DEVICE_COPY, KILL_REGISTER) = range(21)
FLOAT32, INT64, INT32 = (2, 32, 1), (0, 64, 1), (0, 32, 1)


def u64(value):
    return struct.pack("<Q", value & MASK)


def text(s):
    return u64(len(s)) + s.encode()


def texts(list_):
    return u64(len(list_)) + b"".join(map(text, list_))


def words(values):
    return u64(len(values)) + b"".join(map(u64, values))


def instr(op, *fields):
    """Begins with a hash of the opcode and the fields."""
    h = op
    for f in fields:
        h = (h ^ (f + 0x9e3779b9 + (h << 6) + (h >> 2))) & MASK
    return words([h, op, *fields])


def storage(device, dtype, shape, dst, size_register=0):
    """Of a shape; without one as many bytes as a register says."""
    return instr(ALLOC_STORAGE, size_register, 64, *dtype, device, len(shape), dst, *shape)


def tensor(device, dtype, shape, dst, scratch):
    """A tensor in a storage of its own, which the register `scratch` had."""
    return [storage(device, dtype, shape or (1,), scratch), instr(LOAD_CONSTI, 0, dst),
            instr(ALLOC_TENSOR, scratch, dst, *dtype, len(shape), dst, *shape),
            instr(KILL_REGISTER, scratch)]


def packed(primitive, inputs, output):
    return instr(INVOKE_PACKED, primitive, len(inputs) + 1, 1, *inputs, output)


def function(name, registers, params, devices, *code):
    return (texts([name, str(registers), str(len(code))]) + texts(params) + words(devices)
            + b"".join(code))


def float_constant(shape, values):
    """A tensor as parameter files have them."""
    data = struct.pack(f"<{len(values)}f", *values)
    return (struct.pack("<I", 0) + u64(0xDD5E40F096B4A13F) + u64(0)
            + struct.pack("<iiiBBH", 1, 0, len(shape), *FLOAT32)
            + b"".join(map(u64, shape)) + u64(len(data)) + data)


def late_constant(name):
    return struct.pack("<I", 1) + text(name)


def executable(names, functions, primitives, devices=(1,), host=0, constants=(), on=()):
    """devices: types of the virtual devices; on: the device of each constant."""
    body = (u64(0xD225DE2F4214151D) + text("0.18.0") + u64(len(devices))
            + b"".join(struct.pack("<ii", d, 0) + text("") for d in devices)
            + struct.pack("<i", host) + texts(names) + u64(len(constants)) + b"".join(constants)
            + words(list(on)) + texts(primitives) + u64(0) + u64(len(functions))
            + b"".join(functions))
    return u64(len(body)) + body
