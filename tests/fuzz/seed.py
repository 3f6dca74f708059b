#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""seed.py OUT DATA - inputs for every fuzzer to start from, in OUT/<target>

Each file of DATA goes to the targets that read its format; blobs are cut into payloads; small ELF files are made.
"""
import io
import os
import struct
import subprocess
import sys
import zipfile

import seed_elf
import seed_text

HERE = os.path.dirname(os.path.abspath(__file__))
LIMITS = {}  # bytes of an input, by target


def limits():
    with open(os.path.join(HERE, "targets"), encoding="ascii") as table:
        for line in table:
            if line.strip() and not line.startswith("#"):
                name, longest = line.split()[:2]
                LIMITS[name] = int(longest)


class Seeds:
    def __init__(self, out):
        self.out = out
        for target in LIMITS:
            os.makedirs(os.path.join(out, target), exist_ok=True)

    def put(self, target, name, data):
        """What is longer than the target's inputs would be cut, and is of no use then."""
        if len(data) <= LIMITS[target]:
            with open(os.path.join(self.out, target, name), "wb") as f:
                f.write(data)


# --- files of tests/data ---------------------------------------------------------------------------

BY_SUFFIX = {
    "a": ["ar"], "tar": ["tar"], "cubin": ["cubin"], "fatbin": ["fatbin"], "ptx": ["ptx"], "spv": ["spirv"],
    "c": ["csource"], "hsaco": ["amdgpu"], "bundle": ["offload"], "npy": ["npy"], "npz": ["npz", "zip"],
    "dylib": ["macho"], "dll": ["coff"], "obj": ["coff"], "params": ["params", "weights"], "json": ["weights"],
    "safetensors": ["weights"], "gguf": ["weights"],
    "so": ["elfdyn", "compiled"], "bc": ["bitcode"], "tileirbc": ["tileir"], "ltoir": ["tileir"],
}
DEVICE = {"cubin", "fatbin", "ptx", "spv", "cu", "cl", "hip", "hsaco", "bundle", "bc", "tileirbc", "ltoir"}
SOURCES = {"cl": 0, "hip": 3, "cu": 3}  # languages of fuzz_sourcecode
INIT = {"cl": 0, "cu": 1, "ptx": 2, "cubin": 3, "fatbin": 4, "spv": 5, "c": 8}  # names of fuzz_init


def put_file(seeds, name, suffix, data):
    for reader in BY_SUFFIX.get(suffix, []):
        seeds.put("fuzz_" + reader, name, data)
    if data[:4] == b"\0asm":
        seeds.put("fuzz_wasm", name, data)
    elif suffix == "o" and data[:4] != b"\x7fELF":
        seeds.put("fuzz_macho", name, data)
    if suffix in DEVICE:
        seeds.put("fuzz_code", name, data)
        seeds.put("fuzz_canon", name, data)
    if suffix in DEVICE - {"cu", "cl", "hip"}:
        put_library(seeds, name, data)
        seeds.put("fuzz_show", name + "-file", b"file:0\0" + data)
    if suffix in ("so", "cubin", "o", "a") and len(data) < 52000:
        for how in (1, 2, 15, 29, 32, 96):  # what is kept, and what else is done
            seeds.put("fuzz_thin", f"{name}-{how}", bytes([how]) + data)
    if suffix == "ttir":
        seeds.put("fuzz_triton", name, b"\0" + data.replace(b"@" + name[:-5].encode(), b"@k"))
    if suffix == "json" and b"num_warps" in data:
        seeds.put("fuzz_triton", name, b"\1" + data)
    if suffix == "gz":
        seeds.put("fuzz_deflate", name, b"\1" + data)
        seeds.put("fuzz_deflate", name + "-raw", b"\0" + data[10:])
    if suffix == "c":
        seeds.put("fuzz_cfunction", name, b"\0" + data)
        seeds.put("fuzz_cfunction", name + "-cxx", b"\1" + data)
    if suffix in SOURCES:
        seeds.put("fuzz_sourcecode", name, bytes([SOURCES[suffix]]) + data)
    if suffix in INIT:
        seeds.put("fuzz_init", name, bytes([INIT[suffix]]) + data)
    if suffix in ("so", "o", "a", "tar", "gz", "blob", "c", "obj", "dylib", "dll"):
        put_library(seeds, name, data)
    if suffix == "blob":
        put_blob(seeds, name, data)


def put_library(seeds, name, data):
    for target in ("fuzz_image", "fuzz_open", "fuzz_page"):
        seeds.put(target, name, data)
    seeds.put("fuzz_show", name, b"/0\0" + data)
    seeds.put("fuzz_edit", name, b"\0\1" + data)
    seeds.put("fuzz_edit", name + "-same", b"\1\1" + data)
    if data[:4] == b"\x7fELF":
        seeds.put("fuzz_seal", name, data)
    changed = bytearray(data)
    changed[len(data) * 3 // 4] ^= 1
    if len(data) < 1 << 16:
        seeds.put("fuzz_diff", name, struct.pack("<H", len(data)) + data + bytes(changed))


# --- blobs -----------------------------------------------------------------------------------------

def payloads(blob):
    """The payloads of a current blob, by a reader that knows nothing else."""
    at = 8
    (rows,) = struct.unpack_from("<Q", blob, at)
    at += 8 + 8 * rows
    (children,) = struct.unpack_from("<Q", blob, at)
    at += 8 + 8 * children
    for _ in range(rows - 1):
        (n,) = struct.unpack_from("<Q", blob, at)
        kind = blob[at + 8:at + 8 + n]
        at += 8 + n
        if kind == b"_lib":
            continue
        (n,) = struct.unpack_from("<Q", blob, at)
        yield kind, blob[at + 8:at + 8 + n]
        at += 8 + n


def put_blob(seeds, name, blob):
    for gen in range(3):
        seeds.put("fuzz_blob", f"{name}-{gen}", bytes([gen]) + blob)
        seeds.put("fuzz_unpack", f"{name}-{gen}", bytes([gen]) + blob)
    try:
        cut = list(payloads(blob))
    except (struct.error, OverflowError):  # of another generation
        return
    for i, (kind, payload) in enumerate(cut):
        for row in range(64):
            seeds.put("fuzz_payload", f"{name}-{i}-{row}", bytes([row, 2]) + payload)
        if kind == b"relax.VMExecutable":
            seeds.put("fuzz_relax_vm", f"{name}-{i}", payload)


def put_states(seeds):
    """A state of each kind as it was saved, cut, and with a byte of its head changed."""
    for kind in range(6):
        for name, changes in ("whole", b""), ("cut", b"\x28\0"), ("changed", b"\x20\0\x01"), ("empty", b"\0\0"):
            seeds.put("fuzz_state", f"{kind}-{name}", bytes([kind]) + changes)


def put_elf(seeds, blob):
    for name, data in seed_elf.ideas(blob):
        put_library(seeds, "elf-" + name, data)


# --- what has no files -------------------------------------------------------------------------------

def put_requests(seeds):
    def text(s):
        return struct.pack("<Q", 2**64 - 1) if s is None else struct.pack("<Q", len(s)) + s

    def numbers(*n):
        return struct.pack("<%dQ" % len(n), *n)

    for gen in range(3):
        facts = numbers(gen) + b"\1\0\1\1\1\0\0\1" + numbers(2) + text(b"p") + text(None) + text(b"main") + text(b"sub/")
        facts += text(None) * 3 + text(b"it saves little") + numbers(1) + text(b"p.toml") + numbers(0)
        opened = numbers(2) + b"\0\1" + text(b"gone.bin") + numbers(1, 2, 3, 4) if gen == 1 else numbers(1) + b"\0"
        sources = numbers(2) + text(b"sub/f.c") + b"\0" + text(b"launch.ll") + b"\1" + text(b"; IR")
        pieces = numbers(3, 0, 1, 8) + numbers(2**64 - 1, 4) + b"made" + numbers(0, 15, 1)
        seeds.put("fuzz_request", str(gen), b"sixteen bytes  \n" + facts + opened + sources + pieces)


def put_packages(seeds):
    """Packages of PyTorch, with names in both forms."""
    config = b'{"config": {"fc.weight": {"path_name": "weight_0"}, "fc.bias": {"path_name": "weight_1"}}}'
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        for root in ("", "m/"):
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w", method) as z:
                for name, content in (
                        ("archive_format", b"pt2"), ("archive_version", b"0"), ("data/weights/weight_0", bytes(64)),
                        ("data/weights/weight_1", bytes(4)), ("data/weights/m_weights_config.json", config),
                        ("data/constants/tensor_0", b"x"), ("data/constants/m_constants_config.json", b'{"c": "tensor_0"}'),
                        ("data/aotinductor/m/k.cubin", b"\x7fELF"), ("models/m.json", b"{}")):
                    z.writestr(zipfile.ZipInfo(root + name), content, method)
            seeds.put("fuzz_pt2", f"{method}{root[:-1]}", out.getvalue())


RECORDS = {
    "plain": b"app/x.so,sha256=AA,3\napp/__init__.py,sha256=b,4\napp-1.dist-info/RECORD,,\napp-1.dist-info/RECORD.jws,,\n",
    "quoted": b'"app/x.so","sha256=AA","3"\r\n"a ""b"", c\n.so",sha256=AA,3\r\nx\0y,,',
    "open": b'app/x.so,sha256=AA,3\n"app/y.so',
    "odd": b'"app"/x.so,sha256=AA,3,4\r,,\n\n"app/x.so"",\n"",\n',
}


def put_wheels(seeds, top):
    """Wheels of one library, whose RECORD is stored so that a changed byte of it is seen."""
    with open(os.path.join(top, "gpu/cuda.so"), "rb") as f:
        library = f.read()
    for name, record in RECORDS.items():
        seeds.put("fuzz_csv", name, record)
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w") as z:
                for path, content, how in (("app/x.so", library, zipfile.ZIP_DEFLATED), ('a "b", c\n.so', library, zipfile.ZIP_DEFLATED),
                                           ("app/__init__.py", b"", method), ("app-1.dist-info/RECORD", record, method),
                                           ("app-1.dist-info/RECORD.jws", b"{}", method)):
                    z.writestr(zipfile.ZipInfo(path), content, how)
            for how in (0, 3):
                seeds.put("fuzz_wheel", f"{name}-{method}-{how}", bytes([how]) + out.getvalue())


def put_made(seeds):
    put_requests(seeds)
    put_packages(seeds)
    for target, name, data in seed_text.ideas():
        seeds.put(target, name, data)
    seeds.put("fuzz_msgpack", "map", b"\x82\xa1a\x93\x01\xcd\x12\x34\xd9\x02ab\xa1b\x81\xc3\xcb" + bytes(8))
    for kind in range(16):
        head = struct.pack("<IIQQ", kind, 0x00012002, 1, 0x00012002)
        for what in (0, 1, 8, 16, 32):  # a result, with a profile, with outputs; an error; values
            seeds.put("fuzz_wire", "%d-%d" % (kind, what), bytes([what]) + head + struct.pack("<q", 2) + bytes(96))
    # a standalone model: 8 bytes of code, a blob of 120 with a tensor in it, 8 bytes of code
    model = b"MPKMODEL" + struct.pack("<2I9Q", 1, 2, 400, 224, 8, 232, 8, 120, 3, 128, 0)[:-8] + b"0.1.0".ljust(48, b"\0")
    model += struct.pack("<9Q", 20, 240, 0, 64, 320, 1, 36, 260, 0).ljust(96, b"\0") + bytes(range(176))
    seeds.put("fuzz_standalone", "model", model)
    # the same with what is before the tensor as a zstd frame of one raw block
    frame = b"\x28\xb5\x2f\xfd\x20" + bytes([20]) + struct.pack("<I", 20 << 3 | 1)[:3] + bytes(range(20))
    model = model[:104] + struct.pack("<I", 2) + model[108:128]
    model += struct.pack("<9Q", 20, 240, 2 | len(frame) << 8, 64, 320, 1, 36, 240 + len(frame), 0).ljust(96, b"\0")
    model += bytes(16) + frame + bytes(range(131))
    seeds.put("fuzz_standalone", "packed", model)
    # DWARF 4 and 5: a header, one file, two rows
    program = b"\0\x09\x02" + struct.pack("<Q", 0x1000) + b"\x03\x05\x01\x4b\x02\x10\0\x01\x01"
    four = b"\x01\x01\x01\xfb\x0e\x0d\0\x01\x01\x01\x01\0\0\0\x01\0\0\x01" + b"/src\0\0a.c\0\1\0\0\0"
    seeds.put("fuzz_dwarf", "four", unit(4, b"", four, program))
    five = (b"\x01\x01\x01\xfb\x0e\x0d\0\x01\x01\x01\x01\0\0\0\x01\0\0\x01" + b"\1\1\x08\1/src\0" + b"\2\1\x08\2\x0b\1a.c\0\0")
    seeds.put("fuzz_dwarf", "five", unit(5, b"\x08\0", five, program))


def unit(version, sizes, tables, program):
    body = struct.pack("<H", version) + sizes + struct.pack("<I", len(tables)) + tables + program
    return struct.pack("<I", len(body)) + body


def cut_graphs(seeds, folder):
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as f:
            data = f.read()
        seeds.put("fuzz_graph_json", name, data[8:8 + struct.unpack_from("<Q", data)[0]])


def main(out, top):
    limits()
    seeds = Seeds(out)
    for folder, dirs, names in os.walk(top):
        dirs.sort()
        for name in sorted(names):
            with open(os.path.join(folder, name), "rb") as f:
                put_file(seeds, name, name.rsplit(".", 1)[-1], f.read())
    with open(os.path.join(top, "formats/01_opencl_scale.blob"), "rb") as f:
        put_elf(seeds, f.read())
    put_states(seeds)
    put_made(seeds)
    put_wheels(seeds, top)
    for script in ("seed_graph.py", "seed_aot.py"):
        subprocess.run([sys.executable, os.path.join(HERE, script), out], check=True)
    subprocess.run([sys.executable, os.path.join(HERE, "seed_origin.py"), os.path.join(out, "fuzz_image"),
                    os.path.join(top, "formats/01_opencl_scale.so")], check=True)
    cut_graphs(seeds, os.path.join(out, "fuzz_graph_executor"))


main(*sys.argv[1:])
