#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bombs.py - small files that unpack to very much, and files of n, 2n and 4n of one thing

  bombs.py DIR                  writes every bomb into DIR
  bombs.py DIR FAMILY N         writes FAMILY of N parts into DIR and prints its name

A bomb is at most a megabyte. Every container and packer that the programs read is in some of them, also one within the
other. Nothing in them is random: the same names give the same bytes.
"""
import io
import json
import os
import struct
import sys
import tarfile
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import make  # noqa: E402
from seed_elf import NOTE, PROGBITS, Elf  # noqa: E402

MIB = 1 << 20
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")


# PACKERS

def zstd(head, zeros=0, fill=b"\0"):
    """A zstd frame of head as it is and as many bytes of fill: blocks of one repeated byte, 128 KiB for four bytes."""
    blocks = [(len(head[i:i + 131072]), 0, head[i:i + 131072]) for i in range(0, len(head), 131072)]
    blocks += [(min(131072, zeros - i), 1, fill) for i in range(0, zeros, 131072)]
    out = bytearray(struct.pack("<IBQ", 0xfd2fb528, 0xe0, len(head) + zeros))
    for i, (size, kind, data) in enumerate(blocks):
        out += struct.pack("<I", size << 3 | kind << 1 | (i + 1 == len(blocks)))[:3] + data
    return bytes(out)


def lz4(head, zeros):
    """An lz4 block: head as literals, then one match that goes on and on."""
    def length(n):
        return b"\xff" * (n // 255) + bytes([n % 255])

    head += b"\0"
    match = zeros - 1 - 5 - 4
    return (b"\xff" + length(len(head) - 15) + head + b"\1\0" + length(match - 15) + b"\x50" + bytes(5))


def entry(kind, data, sm, plain=0, how=0):
    """An image of a fatbin; how: 0x8000 zstd, 0x2000 lz4."""
    packed = len(data) if how else 0
    data += bytes(-len(data) % 8)
    return struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, len(data), packed, 0, 7 if kind == 2 else 0,
                       1 if kind == 2 else 8, sm, 0, 0, 0x11 | how, 0, plain) + data


def fatbin(entries):
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xba55ed50, 1, 16, len(body)) + body


def images(kind, head, zeros, count, fill=b"\0", packer="zstd"):
    data = zstd(head, zeros, fill) if packer == "zstd" else lz4(head, zeros)
    how = 0x8000 if packer == "zstd" else 0x2000
    return fatbin([entry(kind, data, 90, len(head) + zeros, how)] * count)


def bundle(images_of):
    """An offload bundle of (target, bytes)."""
    at = 32 + sum(24 + len(t) for t, _ in images_of)
    at += -at % 16
    head, body = bytearray(b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(images_of))), bytearray()
    first = at
    for target, data in images_of:
        head += struct.pack("<QQQ", at, len(data), len(target)) + target
        data += bytes(-len(data) % 16)
        body += data
        at += len(data)
    return bytes(head + bytes(first - len(head)) + body)


def ccob(packed, plain, method=1):
    """Clang's compressed bundle: method 1 is zstd, 0 zlib."""
    return b"CCOB" + struct.pack("<HHIIQ", 2, method, len(packed) + 24, plain & 0xffffffff, 0) + packed


def of_target(name):
    return b"hipv4-amdgcn-amd-amdhsa--" + name


class Long:
    """head and then a repeated text up to a length: never in memory as a whole, and packed once."""
    made = {}

    def __init__(self, head, fill, count):
        self.head, self.fill, self.len = head, fill, len(head) + len(fill) * count

    def __len__(self):
        return self.len

    def deflated(self):
        """(raw deflate, CRC-32): a block of a mebibyte is packed once and stands again and again."""
        key = (self.head, self.fill, self.len)
        if key not in Long.made:
            each = max(1, MIB // len(self.fill))
            count = (self.len - len(self.head)) // len(self.fill)
            packer = zlib.compressobj(9, zlib.DEFLATED, -15)
            begin = packer.compress(self.head) + packer.flush(zlib.Z_FULL_FLUSH)
            block = self.fill * each
            once = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
            end = packer.compress(self.fill * (count % each)) + packer.flush()
            crc = zlib.crc32(self.head)
            for _ in range(count // each):
                crc = zlib.crc32(block, crc)
            crc = zlib.crc32(self.fill * (count % each), crc)
            Long.made[key] = begin + once * (count // each) + end, crc
        return Long.made[key]


def zipped(members, method=8):
    out, table = bytearray(), bytearray()
    for name, data in members:
        if isinstance(data, Long):
            packed, crc = data.deflated()
        else:
            packer = zlib.compressobj(6, zlib.DEFLATED, -15)
            packed, crc = (packer.compress(data) + packer.flush() if method else data), zlib.crc32(data)
        row = struct.pack("<HHHHHIIIHH", 20, 0, method, 0, 33, crc, len(packed), len(data), len(name.encode()), 0)
        table += b"PK\1\2" + struct.pack("<H", 20) + row + struct.pack("<HHHII", 0, 0, 0, 0, len(out)) + name.encode()
        out += b"PK\3\4" + row + name.encode() + packed
    return bytes(out + table) + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, len(members) & 0xffff, len(members) & 0xffff,
                                                         len(table), len(out), 0)


def tarred(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    return out.getvalue()


def arred(members):
    return b"!<arch>\n" + b"".join(b"%-16s%-12d%-6d%-6d%-8s%-10d`\n" % (n + b"/", 0, 0, 0, b"644", len(d)) + d +
                                   b"\n" * (len(d) % 2) for n, d in members)


def gzipped(data):
    data = data if isinstance(data, Long) else Long(data, b"\0", 0)
    packed, crc = data.deflated()
    return b"\x1f\x8b\x08" + bytes(5) + b"\2\3" + packed + struct.pack("<II", crc, len(data) & 0xffffffff)


def zlib_of(data):
    """Adler-32 is that of no data: who reads it stops before."""
    return b"\x78\xda" + data.deflated()[0] + struct.pack(">I", 1)


# CONTENTS

def ptx(sm=80, more=b""):
    return b".version 8.0\n.target sm_%d\n.address_size 64\n.visible .entry k(.param .u64 a){ret;}\n" % sm + more


def cubin():
    with open(os.path.join(DATA, "device", "sums.sm_90.cubin"), "rb") as f:
        return f.read()


def section(name, content, wrapped=False):
    """A library whose one section of data that is; wrapped: with the wrapper of HIP that leads to it."""
    e = Elf()
    e.add(".text", PROGBITS, b"\x31\xc0\xc3\x90" * 4, flags=6, align=16)
    at = e.add(name, PROGBITS, content, align=4096)
    if wrapped:
        e.add(".hipFatBinSegment", PROGBITS, struct.pack("<IIQQ", 0x48495046, 1, at, 0), flags=3, align=8)
    names = b"\0k\0"
    dynstr = e.add(".dynstr", 3, names, align=1)
    link = len(e.sections)
    dynsym = e.add(".dynsym", 11, bytes(24) + e.symbol(1, 0, 0, 1, info=0x12), link=link, info=1, entsize=24)
    tags = [(5, dynstr), (6, dynsym), (10, len(names)), (11, 24), (0, 0)]
    made = b"".join(e.pack("QQ", "II", *t) for t in tags)
    dynamic = e.add(".dynamic", 6, made, flags=3, link=link, entsize=16)
    return e.finish([(1, 5, 0, len(e.data), 4096), (2, 6, dynamic, len(made), 8)])


def cuda_library():
    return section(".nv_fatbin", fatbin([entry(1, ptx(s), s) for s in (70, 80, 90)]))


def safetensors(names, each=4):
    head = json.dumps({n: {"dtype": "F32", "shape": [each // 4], "data_offsets": [each * i, each * (i + 1)]}
                       for i, n in enumerate(names)}, separators=(",", ":")).encode()
    return struct.pack("<Q", len(head)) + head + bytes(each * len(names))


def npy_head(zeros):
    head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % (zeros // 4)
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head


def gguf(count):
    def name(i):
        text = b"blk.%d.w" % i
        return struct.pack("<Q", len(text)) + text

    head = struct.pack("<IIQQ", 0x46554747, 3, count, 0)
    head += b"".join(name(i) + struct.pack("<IQIQ", 1, 1, 0, 32 * i) for i in range(count))
    return head + bytes(-len(head) % 32 + 32 * count)


def with_record(members):
    """A wheel's members and their RECORD."""
    record = "".join("%s,sha256=%s,%d\n" % (n, "A" * 43, len(d)) for n, d in members) + "a-1.dist-info/RECORD,,\n"
    return members + [("a-1.dist-info/RECORD", record.encode())]


def metadata(name):
    return ("a-1.dist-info/" + name, b"Metadata-Version: 2.1\nName: a\nVersion: 1\n")


def packed_amd(zeros, method=1):
    plain = bundle([(of_target(b"gfx90a"), b"\x7fELF" + bytes(28)), (of_target(b"gfx1100"), b"\x7fELF" + bytes(28))])
    if method:
        return ccob(zstd(plain, zeros), len(plain) + zeros)
    return ccob(zlib_of(Long(plain, b"\0", zeros)), len(plain) + zeros, 0)


def bundle_names(count):
    """A bundle of as many targets without code, which packs to little."""
    plain = bundle([(of_target(b"gfx%x:xnack+" % (0x10000 + i)), b"") for i in range(count)])
    return ccob(zlib.compress(plain, 9), len(plain), 0)


def doubling(i, count):
    """A symbol of C++ of which each template argument is the one before, twice."""
    def number(n):
        digits = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        return (number(n // 36) if n > 35 else b"") + digits[n % 36:n % 36 + 1]

    name = b"f%d" % i
    return b"_Z%d%s1PIiiE1QIS0_S0_E" % (len(name), name) + b"".join(
        b"S1_IS%s_S%s_E" % (number(n + 1), number(n + 1)) for n in range(1, count))


def doubling_ptx(count):
    return ptx(80).replace(b".visible", b"".join(
        b".visible .entry %s(.param .u64 a){ret;}\n" % doubling(i, 22) for i in range(count)) + b".visible")


def same_member(count, method):
    """A wheel whose rows all lead to one member."""
    library = section(".nv_fatbin", fatbin([entry(1, ptx(80, b"//" + b"x" * 400000), 80)]))
    made = zipped([("%05d.so" % i, b"") for i in range(count)], 0)
    one = zipped([("00000.so", library)], method)
    head, table = one[:one.index(b"PK\1\2")], made[made.index(b"PK\1\2"):-22]
    fields = one[one.index(b"PK\1\2") + 6:][:22]
    each = 46 + len("00000.so")
    rows = b"".join(table[at:at + 6] + fields + table[at + 28:at + 42] + bytes(4) + table[at + 46:at + each]
                    for at in range(0, len(table), each))
    return head + rows + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, count, count, len(rows), len(head), 0)


def same_image(count):
    """A bundle whose entries all lead to one image."""
    image = make.amdgpu([b"k%d" % i for i in range(300)])
    made = bytearray(bundle([(of_target(b"gfx%x" % (0x900 + i)), b"") for i in range(count)]) + image)
    at, offset = 32, len(made) - len(image)
    for _ in range(count):
        length = struct.unpack_from("<Q", made, at + 16)[0]
        struct.pack_into("<QQ", made, at, offset, len(image))
        at += 24 + length
    return bytes(made)


def compressed_sections(zeros, names):
    """A library with compressed sections of ELF."""
    content = struct.pack("<IIQQ", 1, 0, zeros, 1) + zlib_of(Long(b"", b"\0", zeros))
    e = Elf()
    e.add(".text", PROGBITS, b"\x31\xc0\xc3\x90" * 4, flags=6, align=16)
    e.add(".nv_fatbin", PROGBITS, fatbin([entry(1, ptx(80), 80)]), align=8)
    for name in names:
        e.add(name, PROGBITS, content, flags=0x802 if name == ".nv_fatbin" else 0x800)
    return e.finish([(1, 5, 0, len(e.data), 4096)])


BOMBS = {
    # fatbins: packed texts and machine code, also in every place that a fatbin may be
    "ptx.so": lambda: section(".nv_fatbin", images(1, ptx(90), 28 * MIB, 22, b"{")),
    "ptx-spaces.so": lambda: section(".nv_fatbin", images(1, ptx(90), 12 * MIB, 60, b" ")),
    "ptx-lz4.so": lambda: section(".nv_fatbin", images(1, ptx(90), 12 * MIB, 10, packer="lz4")),
    "ptx-lines.so": lambda: section(".nv_fatbin", images(1, ptx(90), 28 * MIB, 22, b"\n")),
    "cubins.so": lambda: section(".nv_fatbin", images(2, cubin(), 100 * MIB, 12)),
    "cubins-lz4.so": lambda: section(".nv_fatbin", images(2, cubin(), 20 * MIB, 9, packer="lz4")),
    "one.fatbin": lambda: images(2, cubin(), 250 * MIB, 4),
    "many.fatbin": lambda: images(2, cubin(), 1 * MIB, 60),
    "rodata.so": lambda: section(".rodata", images(1, ptx(90), 28 * MIB, 22, b"{")),
    "kernels.blob": lambda: make.one_module(make.kernels(b"fatbin", [b"k"], images(1, ptx(90), 28 * MIB, 22, b"{"))),
    "modules.blob": lambda: make.flat(40, (b"cuda", make.kernels(b"fatbin", [b"k"], images(1, ptx(90), 28 * MIB, 2,
                                                                                             b"{")))),
    # bundles of HIP
    "bundle.so": lambda: section(".hip_fatbin", packed_amd(900 * MIB), True),
    "bundle-zlib.so": lambda: section(".hip_fatbin", packed_amd(300 * MIB, 0), True),
    "bundles.so": lambda: section(".hip_fatbin", b"".join(
        c + bytes(-len(c) % 4096) for c in [packed_amd(20 * MIB)] * 40), True),
    "names.so": lambda: section(".hip_fatbin", bundle_names(65535), True),
    "bundle.hipfb": lambda: packed_amd(600 * MIB),
    # archives
    "zeros.whl": lambda: zipped([("%d.so" % i, Long(cuda_library(), b"\0", 40 * MIB)) for i in range(20)]),
    "records.whl": lambda: zipped([("%d.so" % i, cuda_library()) for i in range(3)] +
                                  [("%d-1.dist-info/RECORD" % i, Long(b"", b"x,\n", 12 * MIB)) for i in range(6)]),
    "lines.whl": lambda: zipped([("%03d.so" % i, cuda_library()) for i in range(300)] +
                                [metadata("METADATA"), ("a-1.dist-info/RECORD", Long(b"", b"\n", 60 * MIB))]),
    "metadata.whl": lambda: zipped([("a.so", cuda_library()), ("a-1.dist-info/METADATA", Long(b"", b"Name: a\n", 12 * MIB)),
                                    ("a-1.dist-info/WHEEL", Long(b"", b"Tag: a\n", 12 * MIB))]),
    "quines.whl": lambda: zipped([("%d.whl" % i, zipped([("a.so", Long(cuda_library(), b"\0", 30 * MIB))]))
                                  for i in range(20)]),
    "bombs.whl": lambda: zipped([("%d.so" % i, section(".nv_fatbin", images(1, ptx(90), 28 * MIB, 6, b"{")))
                                 for i in range(8)]),
    "tar.whl": lambda: zipped([("a.tar", Long(tarred([("%d.so" % i, cuda_library()) for i in range(12)]), b"\0", 120 * MIB))]),
    "ar.whl": lambda: zipped([("a.a", Long(arred([(b"%d.o" % i, cuda_library()) for i in range(12)]), b"\n", 120 * MIB))]),
    "gz.whl": lambda: zipped([("a.so.gz", gzipped(Long(cuda_library(), b"\0", 100 * MIB)))], 0),
    "library.so.gz": lambda: gzipped(Long(cuda_library(), b"\0", 200 * MIB)),
    "twice.so.gz": lambda: gzipped(gzipped(Long(cuda_library(), b"\0", 200 * MIB))),
    "bombs.tar.gz": lambda: gzipped(tarred([("%d.fatbin" % i, images(1, ptx(90), 28 * MIB, 6, b"{")) for i in range(9)])),
    "bombs.tar": lambda: tarred([("%d.fatbin" % i, images(1, ptx(90), 28 * MIB, 6, b"{")) for i in range(9)]),
    "bombs.a": lambda: arred([(b"%d.o" % i, section(".nv_fatbin", images(1, ptx(90), 28 * MIB, 6, b"{")))
                              for i in range(9)]),
    # what stands there once and is named very often; compressed sections; names that unpack
    "same.whl": lambda: same_member(5000, 0),
    "same-packed.whl": lambda: same_member(5000, 8),
    "same.hipfb": lambda: same_image(6000),
    "debug.so": lambda: compressed_sections(150 * MIB, [".debug_info", ".debug_line", ".debug_str", ".nv_fatbin"]),
    "doubling.ptx": lambda: doubling_ptx(3000),
    # weights
    "zeros.npz": lambda: zipped([("%d.npy" % i, Long(npy_head(30 * MIB), b"\0", 30 * MIB)) for i in range(20)]),
    "tensors.safetensors": lambda: safetensors(["w%d" % i for i in range(8000)]),
    "names.safetensors": lambda: safetensors(["layers.%d.%s" % (i, "x" * 300) for i in range(2000)]),
    "weights.pt": lambda: zipped([("m/data.pkl", Long(b"\x80\2}", b"q\0", 20 * MIB)), ("m/data/0", Long(b"", b"\0", 30 * MIB)),
                                  ("m/version", b"3\n")]),
}


# GROWTH: each makes (name, bytes) of n parts, of which 4n are at most a few megabytes

def notes(count):
    e = Elf()
    e.add(".text", PROGBITS, b"\x31\xc0\xc3\x90" * 4, flags=6, align=16)
    e.add(".note", NOTE, b"".join(make.note(b"mpack\0\0\0", 1, b"%08d" % i) for i in range(count)), align=4)
    e.add(".nv_fatbin", PROGBITS, fatbin([entry(1, ptx(80), 80)]), align=8)
    return e.finish([(1, 5, 0, len(e.data), 4096)])


def chain(count):
    return section(".hip_fatbin", b"".join(c + bytes(-len(c) % 4096) for c in [packed_amd(0)] * count), True)


def broken_chain(count):
    """Of each bundle the reader has something to say: what it declares is not what it unpacks to."""
    plain = bundle([(of_target(b"gfx90a"), b"\x7fELF" + bytes(28))])
    return section(".hip_fatbin", b"".join(c + bytes(-len(c) % 4096) for c in
                                            [ccob(zstd(plain), len(plain) + 1 + i) for i in range(count)]), True)


def wheel(count):
    """Each tenth line of RECORD is of a library."""
    library = cuda_library()
    members = [("p/l%d.so" % i, library) for i in range(count // 10)]
    members += [("p/m%d.py" % i, b"x = %d\n" % i) for i in range(count - count // 10)]
    return zipped(with_record(members))


def record(count):
    members = [("p/l%d.so" % i, cuda_library()) for i in range(count // 50)]
    lines = "".join("q/%d,sha256=%s,1\n" % (i, "A" * 43) for i in range(count))
    made = with_record(members)
    return zipped(members + [("a-1.dist-info/RECORD", lines.encode() + made[-1][1])])


def embedded(count):
    """Fatbins among other data."""
    one = fatbin([entry(1, ptx(80), 80)])
    return section(".rodata", b"".join(b"text %08d\0\0\0" % i + bytes(16) + one for i in range(count)))


def weights_index(count):
    """A tensor cache as TVM writes it, whose shards are not there."""
    return json.dumps({"metadata": {}, "records": [
        {"dataPath": "params_shard_%d.bin" % i, "format": "raw-shard", "nbytes": 4, "records": [
            {"name": "w%d" % i, "shape": [1], "dtype": "float32", "format": "f32-to-bf16", "nbytes": 4,
             "byteOffset": 0}]} for i in range(count)]}).encode()



FAMILIES = {
    "modules": ("m.blob", 1000, lambda n: make.flat(n, (b"my_kind", b"x"))),
    "code-modules": ("m.so", 300, lambda n: make.library(1, content=make.flat(n, (b"cuda", make.kernels(
        b"ptx", [b"kernel"], make.ptx([b"kernel"])))))),
    "chained-modules": ("c.blob", 1000, lambda n: make.chain(n, (b"my_kind", b"x"))),
    "kernels": ("k.blob", 1000, lambda n: make.some_kernels(n)),
    "cubin-kernels": ("k.cubin", 400, lambda n: make.cubin(n)),
    "symbols": ("s.so", 4000, lambda n: make.library(n)),
    "sections": ("x.so", 2000, lambda n: make.library(1, sections=n)),
    "needed": ("n.so", 2000, lambda n: make.needed(n)),
    "notes": ("n2.so", 4000, notes),
    "fatbin-images": ("i.fatbin", 300, lambda n: fatbin([entry(1, ptx(50 + i % 70), 50 + i % 70) for i in range(n)])),
    "packed-images": ("p.so", 100, lambda n: section(".nv_fatbin", fatbin(
        [entry(1, zstd(ptx(50 + i % 70)), 50 + i % 70, len(ptx(50 + i % 70)), 0x8000) for i in range(n)]))),
    "fatbins": ("f.so", 200, lambda n: section(".nv_fatbin", b"".join(
        [fatbin([entry(1, ptx(80), 80)])] * n))),
    "embedded": ("e.so", 200, embedded),
    "bundle-images": ("b.hipfb", 100, lambda n: make.bundle([make.amdgpu([b"k%d" % i]) for i in range(n)])),
    "bundle-chain": ("c.so", 40, chain),
    "broken-chain": ("d.so", 40, broken_chain),
    "bundle-names": ("b.so", 4000, lambda n: section(".hip_fatbin", bundle_names(n), True)),
    "ar-members": ("a.a", 300, lambda n: make.archive(n)),
    "tar-members": ("t.tar", 300, lambda n: tarred([("%d.fatbin" % i, fatbin([entry(1, ptx(80), 80)]))
                                                    for i in range(n)])),
    "wheel-members": ("w.whl", 400, wheel),
    "record-lines": ("r.whl", 2500, record),
    "tensors": ("t.safetensors", 2000, lambda n: safetensors(["model.layers.%d.weight" % i for i in range(n)])),
    "gguf-tensors": ("t.gguf", 2000, gguf),
    "npz-arrays": ("t.npz", 500, lambda n: zipped([("w%d.npy" % i, npy_head(16) + bytes(16)) for i in range(n)])),
    "shards": ("tensor-cache.json", 500, weights_index),
    "entry-points": ("e.spv", 2000, lambda n: make.spirv(n)),
    "source-kernels": ("k.cl", 1000, lambda n: make.opencl_text(make.some_names(n))),
    "cuda-kernels": ("k.cu", 1000, lambda n: make.cuda_kernels(n)),
    "ptx-kernels": ("k.ptx", 1000, lambda n: make.ptx(make.some_names(n))),
    "manifest-modules": ("mpack.toml", 200, lambda n: make.manifest(*[
        make.code_module("m%d" % i, "cuda", "k.ptx", ["kernel_0"]) for i in range(n)])),
    "manifest-functions": ("f.toml", 200, lambda n: make.manifest(
        make.code_module("k", "cuda", "k.ptx"), make.launches([("k", i) for i in range(n)]))),
    "graph-nodes": ("g.blob", 1500, lambda n: make.graph(n)),
    "constants": ("w.blob", 2500, lambda n: make.one_module(
        make.weights(n) + make.u64(n) + make.ELEMENT * n + make.u64(0, 0), b"const_loader")),
}


def main(out, family=None, count=None):
    if family:
        name, _, made = FAMILIES[family]
        with open(os.path.join(out, name), "wb") as f:
            f.write(made(int(count)))
        print(name)
        return
    for name, made in BOMBS.items():
        data = made()
        assert len(data) <= MIB, "%s has %d bytes" % (name, len(data))
        with open(os.path.join(out, name), "wb") as f:
            f.write(data)


if __name__ == "__main__":
    main(*sys.argv[1:])
