# Names from every place that has names: symbols, sections, kinds of modules, kernels, members of each kind of archive,
# tensors, needed libraries, notes, parameters, paths. Every command of both programs escapes each character that
# reorders or parts lines, or that nobody sees, in all that it prints and in every text that it writes.
cat >try.py <<'PY'
import io, os, shutil, struct, subprocess, sys, tarfile

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests", "large"))
import bombs, bounds, make
from seed_elf import PROGBITS, Elf

# names-invisible.sh has the ranges and their source
RANGES = """80-9f ad 34f 61c 115f-1160 17b4-17b5 180b-180f 200b-200f 2028-202e 2060-206f 3164 fe00-fe0f feff ffa0 fff0-fff8
1bca0-1bca3 1d173-1d17a e0000-e0fff"""
POINTS = {chr(cp) for r in RANGES.split() for a, _, b in [r.partition("-")] for cp in range(int(a, 16), int(b or a, 16) + 1)}
EACH = [chr(int(end, 16)) for r in RANGES.split() for end in r.split("-")]
# a name of an archive's member is cut at 16 bytes, so each place has short names, too
NAMES = ["a%sb" % "".join(EACH[i:i + 4]) for i in range(0, len(EACH), 4)]
BYTES = [n.encode() for n in NAMES]


def elf():
    e = Elf()
    names, rows = bytearray(b"\0"), [bytes(24)]
    code = e.add(".text", PROGBITS, b"\x31\xc0\xc3\x90" * len(BYTES), flags=6, align=16)
    for i, name in enumerate(BYTES):
        for prefix in (b"__tvm_ffi_", b""):
            rows.append(e.symbol(len(names), code + 4 * i, 4, 1, info=0x12))
            names += prefix + name + b"\0"
    content = make.flat(len(BYTES), (b"cuda", make.kernels(b"ptx", BYTES, make.ptx([b"k"]))))
    at = e.add(".rodata", PROGBITS, content, align=16)
    rows.append(e.symbol(len(names), at, len(content), 2, info=0x11))
    names += b"__tvm_ffi__library_bin\0"
    tags = []
    for name in BYTES:
        tags += [(1, len(names)), (29, len(names))]
        names += name + b"\0"
    dynstr = e.add(".dynstr", 3, bytes(names), align=1)
    dynsym = e.add(".dynsym", 11, b"".join(rows), link=3, info=1, entsize=24)
    tags += [(5, dynstr), (6, dynsym), (10, len(names)), (11, 24), (0, 0)]
    made = b"".join(e.pack("QQ", "II", *t) for t in tags)
    dynamic = e.add(".dynamic", 6, made, flags=3, link=3, entsize=16)
    for name in NAMES:
        e.add(".data." + name, PROGBITS, bytes(64), align=8)
        e.add(".nv_fatbin" + name, PROGBITS, bombs.fatbin([bombs.entry(1, bombs.ptx(80), 80)]), align=8)
    end = len(e.data)
    return e.finish([(1, 5, 0, end, 4096), (2, 6, dynamic, len(made), 8)])


def cubin():
    e = Elf(machine=190, kind=2)
    names, rows = bytearray(b"\0"), [bytes(24)]
    for i, name in enumerate(NAMES):
        e.add(".text." + name, PROGBITS, bytes(16), flags=6, align=1)
        row = bytearray(e.symbol(len(names), 0, 16, i + 1, info=0x12))
        row[5] = 0x10  # an entry point
        rows.append(bytes(row))
        names += name.encode() + b"\0"
    e.add(".strtab", 3, bytes(names), flags=0, align=1)
    e.add(".symtab", 2, b"".join(rows), flags=0, link=len(NAMES) + 1, info=1, entsize=24)
    return e.finish([])


def tar(form):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as t:
        for name in NAMES:
            info, data = tarfile.TarInfo(name + ".o"), bombs.cuda_library()
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    return out.getvalue()


def gguf():
    def text(b):
        return struct.pack("<Q", len(b)) + b
    head = struct.pack("<IIQQ", 0x46554747, 3, len(BYTES), len(BYTES))
    head += b"".join(text(n) + struct.pack("<I", 8) + text(n) for n in BYTES)
    head += b"".join(text(n) + struct.pack("<IQIQ", 1, 1, 0, 32 * i) for i, n in enumerate(BYTES))
    return head + bytes(-len(head) % 32 + 32 * len(BYTES))


def manifest():
    return ("[package]\nname = \"p\"\n" + "".join(
        '[[module]]\nid = "%s"\nkind = "%s"\nimports = ["%s"]\ndata = "%s"\n"%s" = 1\n[[module.function]]\nname = "%s"\nargs = ["%s"]\n' %
        ((n,) * 7) for n in NAMES[:4])).encode()


FILES = {
    "symbols.so": elf(), "kernels.cubin": cubin(), "members.a": bombs.arred([(b[:15], bombs.cuda_library()) for b in BYTES]),
    "ustar.tar": tar(tarfile.USTAR_FORMAT), "pax.tar": tar(tarfile.PAX_FORMAT), "gnu.tar": tar(tarfile.GNU_FORMAT),
    "arrays.npz": bombs.zipped([(n + ".npy", bombs.npy_head(16) + bytes(16)) for n in NAMES]),
    "tensors.gguf": gguf(), "tensors.safetensors": bombs.safetensors(NAMES), "kinds.blob": make.flat(3, (BYTES[0] + BYTES[2], b"x")),
    "constants.blob": make.one_module(make.u64(len(BYTES)) + b"".join(map(make.text, BYTES)) + make.u64(len(BYTES)) +
                                      make.ELEMENT * len(BYTES) + make.u64(0, 0), b"const_loader"),
    "record.whl": bombs.zipped([(n + ".so", bombs.cuda_library()) for n in NAMES] + [
        ("a-1.dist-info/RECORD", "".join("%s.so,sha256=AA,1\n" % n for n in NAMES).encode()),
        ("a-1.dist-info/METADATA", b"Name: " + BYTES[1] + b"\nVersion: " + BYTES[3] + b"\n")]),
    "kernels.cl": b"".join(b"__kernel void k%s(__global float* %s) {}\n" % (n, n) for n in BYTES),
    "kernels.ptx": make.ptx(BYTES), "manifest.toml": manifest(), "fatbin.fatbin": bombs.fatbin(
        [bombs.entry(1, make.ptx(BYTES), 80), bombs.entry(2, cubin(), 90)]),
}
bad = set()
os.makedirs("work")


def texts(folder):
    for base, folders, files in os.walk(folder):
        for name in files:
            path = os.path.join(base, name)
            if name.startswith(("out", "index")) and name.endswith((".html", ".svg", ".json", ".h", ".pyi", ".toml")):
                yield name, open(path, "rb").read()
        for name in files + folders:
            if base.startswith(os.path.join(folder, "out")):  # names that extract and unpack make
                yield "a name", name.encode("utf-8", "surrogateescape")


for name, data in FILES.items():
    with open(name, "wb") as f:
        f.write(data)
    subject, shown = bounds.Subject("work", name), False
    for program, rows in bounds.COMMANDS.items():
        for line in [line for lines in rows.values() for line in lines]:
            out = os.path.join("work", "o")
            os.mkdir(out)
            done = subprocess.run(subject.words(os.environ["BIN"], program, line, out, "nokey"), stdin=subprocess.DEVNULL,
                                  capture_output=True)
            # bytes of a payload or a source are shown as they are
            parts = [("standard error", done.stderr)] + list(texts(out))
            if not line.startswith(("show", "disasm")):
                parts.append(("standard output", done.stdout))
            shown |= b"\\u" in done.stdout
            for where, text in parts:
                found = POINTS & set(text.decode("utf-8", "replace"))
                if found or b"\x1b" in text or done.returncode not in range(10):
                    bad.add((program, line, name, where, done.returncode, ascii("".join(sorted(found)))[:60]))
            shutil.rmtree(out)
    os.unlink(name)
    # what is read of a file has to be shown somewhere, or nothing was tried
    print(name, "escaped" if shown else "not shown")
for row in sorted(bad):
    print(*row)
print(len(FILES), "files")
PY
python3 try.py
