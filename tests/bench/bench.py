#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ratios against cp, cc and peers, measured side by side in one run.

    tests/bench/bench.py [--bin DIR] [--json FILE] [--runs N] [GROUP...]

Wall time is the median of N runs (5) of the whole process tree, taken in turns with the reference,
so that a noisy machine disturbs both alike; peers that take many seconds run once. Beside it stands
the CPU time (user and system) of the tree, which other work on the machine disturbs less: a goal
missed by the clock and kept by CPU time is "met in CPU time". Outputs are removed before each run,
outside of its time, since replacing a large file costs as much as writing one. Memory is the
largest resident size of any process of the tree. BENCH_SIZE (1G) is the size of the large payload;
the others follow it. Groups: start functions small large huge text
many cubins calls models parallel library peers weights. A goal that is missed is
marked, not an error; a program under test that fails is one.
"""
import argparse
import ctypes
import json
import os
import pathlib
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import time

import functions
import library
import models
import packed
import parallel
import peers
import weights

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
MIB = 1 << 20


def size_of(text):
    return int(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else int(text)


def spawn(command, folder):
    """Run to the end, without a shell; returns (seconds, CPU seconds, exit status, what it said
    last)."""
    log = folder / "bench.log"
    with open(log, "wb") as out:
        actions = [(os.POSIX_SPAWN_DUP2, out.fileno(), 1), (os.POSIX_SPAWN_DUP2, out.fileno(), 2)]
        start = time.perf_counter()
        child = os.posix_spawnp(command[0], command, os.environ, file_actions=actions,
                                setsigdef=[signal.SIGPIPE])
        _, status, used = os.wait4(child, 0)
        seconds = time.perf_counter() - start
    said = log.read_bytes()[-400:].decode(errors="replace").strip().splitlines()
    return (seconds, used.ru_utime + used.ru_stime, os.waitstatus_to_exitcode(status),
            said[-1] if said else "")


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.unlink(path)


def peak_of(command, folder):
    """Largest resident size of any process of the tree in bytes, or None without GNU time."""
    if not os.access("/usr/bin/time", os.X_OK):
        return None
    report = folder / "bench.peak"
    subprocess.run(["/usr/bin/time", "-o", report, "-f", "%M", *command],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return int(report.read_text().split()[-1]) * 1024


class Bench:
    def __init__(self, options):
        self.bin = pathlib.Path(options.bin).resolve()
        self.runs = options.runs
        self.size = size_of(os.environ.get("BENCH_SIZE", "1G"))
        self.folder = ROOT / "out" / "bench"
        self.rows, self.failed = [], 0
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        os.environ["PATH"] = f"{self.bin}:{os.environ['PATH']}"

    def path(self, name):
        return str(self.folder / name)

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def noise(self, name, size):
        """A file of bytes that do not compress and are not sparse."""
        path = self.folder / name
        with open(path, "wb") as out:
            for at in range(0, size, MIB):
                out.write(os.urandom(min(MIB, size - at)))
        return str(path)

    def measure(self, commands, fresh=()):
        """Median (seconds, CPU seconds) of each command, in turns; the first round warms the
        caches. fresh: what is removed before each run."""
        times = [[] for _ in commands]
        for turn in range(self.runs + 1):
            for i, command in enumerate(commands):
                for path in fresh:
                    if path in command:
                        remove(path)
                *taken, status, said = spawn(command, self.folder)
                if status != 0:
                    return None, f"{' '.join(command)[:120]}: exit status {status}: {said}"
                if turn > 0:
                    times[i].append(taken)
        return [[statistics.median(column) for column in zip(*t)] for t in times], None

    @staticmethod
    def keeps(limit, ours, reference):
        kind, most = limit
        value = {"ratio": ours / reference if reference else 0, "wall": ours,
                 "plus": ours - (reference or 0)}[kind]
        return value <= most

    def row(self, group, what, ours, reference, goal, limit=None, peak_limit=None, extra=None,
            fresh=()):
        """One figure of ours beside its reference. limit: how far the goal allows, one of
        ("ratio", x), ("plus", seconds) or ("wall", seconds)."""
        commands = [ours] + ([reference] if reference else [])
        row = {"group": group, "what": what, "goal": goal,
               "command": " ".join(ours).replace(str(ROOT) + "/", "")}
        self.rows.append(row)
        medians, error = self.measure(commands, fresh)
        if error:
            row["error"] = error
            self.failed += 1
            self.show(row)
            return
        for path in fresh:
            remove(path)
        row["seconds"], row["cpu_seconds"] = medians[0]
        row["peak_bytes"] = peak_of(ours, self.folder)
        base = [None, None]
        if reference:
            base = medians[1]
            row["reference"] = " ".join(reference).replace(str(ROOT) + "/", "")
            row["reference_seconds"], row["reference_cpu_seconds"] = base
            row["reference_peak_bytes"] = peak_of(reference, self.folder)
            row["ratio"] = medians[0][0] / base[0]
            row["cpu_ratio"] = medians[0][1] / base[1]
        fits = not peak_limit or not row["peak_bytes"] or row["peak_bytes"] <= peak_limit
        row["met"] = fits and (not limit or self.keeps(limit, medians[0][0], base[0]))
        row["met_in_cpu_time"] = fits and (not limit or self.keeps(limit, medians[0][1], base[1]))
        row.update(extra or {})
        self.show(row)

    def peer(self, group, what, command, needs, seconds_from_output=False):
        """Somebody else's way to the same result, once; says why when it is missing."""
        row = {"group": group, "what": what, "peer": True}
        missing = [need for need in needs if not shutil.which(need)]
        if missing:
            row["missing"] = f"{missing[0]} is not installed"
        else:
            seconds, cpu, status, said = spawn(command, self.folder)
            if status != 0:
                row["missing"] = f"exit status {status}: {said[:90]}"
            else:
                row["seconds"] = float(said) if seconds_from_output else seconds
                if not seconds_from_output:
                    row["cpu_seconds"] = cpu
                row["peak_bytes"] = peak_of(command, self.folder)
        self.rows.append(row)
        self.show(row)

    def show(self, row):
        def seconds(value):
            return "" if value is None else f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.2f} s"

        def mib(value):
            return "" if value is None else f"{value / MIB:.1f} MiB"

        note = row.get("goal") or ""
        if "error" in row:
            note = "FAILED: " + row["error"]
        elif "missing" in row:
            note = "missing: " + row["missing"]
        elif "met" in row and note:
            note = ("met: " if row["met"] else
                    "met in CPU time: " if row["met_in_cpu_time"] else "MISSED: ") + note
        ratio = f"{row['ratio']:.2f}x" if "ratio" in row else ""
        cpu_ratio = f"{row['cpu_ratio']:.2f}x" if "cpu_ratio" in row else ""
        print(f"{row['what']:<46} {seconds(row.get('seconds')):>9} {seconds(row.get('cpu_seconds')):>9} "
              f"{mib(row.get('peak_bytes')):>10} {seconds(row.get('reference_seconds')):>9} "
              f"{seconds(row.get('reference_cpu_seconds')):>9} {ratio:>7} {cpu_ratio:>7}  {note}",
              flush=True)


def start(b):
    """How long a look at a small library takes."""
    library = str(ROOT / "tests/data/formats/03_cuda_ptx.so")
    llvm = "libLLVM" in subprocess.run(["ldd", b.bin / "minspect"], capture_output=True,
                                       text=True).stdout
    b.row("start", "minspect, 24 KB library | readelf -a",
          ["minspect", library], ["readelf", "-aW", library],
          "5 ms, 10 MiB, no libLLVM", ("wall", 0.005), 10 * MIB, {"links_llvm": llvm})


def small(b):
    """Two kernels and one host object: what mpack adds to cc."""
    example = ROOT / "tests/data/example"
    for name in ("scale.cl", "vadd.ptx"):
        shutil.copy(example / name, b.folder)
    subprocess.run(["cc", "-O2", "-fPIC", "-c", example / "host.c", "-o", b.path("host.o")], check=True)
    text = (example / "mpack.toml").read_text().replace("host.c", "host.o")
    manifest = b.write("small.toml", text)
    for via in ("llvm", "c"):
        b.row("small", f"mpack build --via {via}, 2 kernels | cc -shared",
              ["mpack", "build", manifest, "--via", via, "-o", b.path("small.so")],
              ["cc", "-shared", b.path("host.o"), "-o", b.path("cc.so")],
              "cc + 30 ms" if via == "llvm" else "", ("plus", 0.030) if via == "llvm" else None)


def weights_manifest(b, name, payloads):
    """A package of one small host object and payloads of a kind that mpack does not know."""
    text = '[package]\nname = "big"\nroot = "host"\n[[module]]\nid = "host"\nkind = "host"\n' \
           'sources = ["one.o"]\nimports = [' + ", ".join(f'"m{i}"' for i in range(len(payloads))) + "]\n"
    for i, payload in enumerate(payloads):
        text += f'[[module]]\nid = "m{i}"\nkind = "weights"\npayload = "{payload}"\n'
    source = b.write("one.c", "int __tvm_ffi_one(void) { return 0; }\n")
    subprocess.run(["cc", "-fPIC", "-c", source, "-o", b.path("one.o")], check=True)
    return b.write(name, text)


def tree_of(library):
    """Its modules."""
    return told_of(library)["tree"]


def told_of(library):
    """What minspect says of a file."""
    told = subprocess.run(["minspect", "--json", library], capture_output=True, check=True).stdout
    return json.loads(told)["files"][0]


TVM_EXPORT = """
import sys, time, numpy, tvm
from tvm import relax
size, out = int(sys.argv[1]), sys.argv[2]
x = relax.Var("x", relax.TensorType((size // 4,), "float32"))
builder = relax.BlockBuilder()
with builder.function("main", [x]):
    value = numpy.random.default_rng(1).random(size // 4, dtype="float32")
    builder.emit_func_output(builder.emit(relax.op.add(x, relax.const(value))))
executable = tvm.compile(builder.get(), target="llvm")
start = time.perf_counter()
executable.export_library(out)
print(time.perf_counter() - start)
"""


def large(b):
    """One payload of BENCH_SIZE: packing and looking at the speed of cp."""
    payload = b.noise("payload.bin", b.size)
    label = f"{b.size / MIB:.0f} MiB"
    library, edited, copied = b.path("large.so"), b.path("edited.so"), b.path("copy.bin")
    manifest = weights_manifest(b, "large.toml", ["payload.bin", "kernel.bin"])
    for name in ("kernel.bin", "kernel2.bin"):
        b.noise(name, 1024)
    copy = ["cp", "--sparse=never", "--reflink=never", payload, copied]
    b.row("large", f"mpack build, {label} payload | cp", ["mpack", "build", manifest, "-o", library],
          copy, "1.3x, 64 MiB", ("ratio", 1.3), 64 * MIB, fresh=[library, copied])
    if os.path.exists(library):
        small_library = str(ROOT / "tests/data/formats/03_cuda_ptx.so")
        small_peak = peak_of(["minspect", small_library], b.folder) or 0
        b.row("large", f"minspect, {label} | minspect, 24 KB", ["minspect", library],
              ["minspect", small_library], "24 KB + 5 ms, + 8 MiB", ("plus", 0.005),
              small_peak + 8 * MIB)
        b.row("large", f"minspect --verify, {label} | cp", ["minspect", "--verify", library], copy,
              "1.5x", ("ratio", 1.5), fresh=[copied])
        extracted = b.path("extracted")
        b.row("large", f"minspect --extract, {label} | cp",
              ["minspect", "--extract", extracted, library], copy, "1.5x", ("ratio", 1.5),
              fresh=[extracted, copied])
        b.row("large", "minspect --extract --digest sha256 | cp",
              ["minspect", "--extract", extracted, "--digest", "sha256", library], copy, "",
              fresh=[extracted, copied])
        path = min((node for node in tree_of(library) if node["kind"] == "weights"),
                   key=lambda node: node["bytes"])["path"]
        replace = ["--replace", f"{path}=" + b.path("kernel2.bin")]
        b.row("large", f"mpack edit, 1 KiB beside {label} | cp",
              ["mpack", "edit", library, "-o", edited, *replace], copy, "1.3x", ("ratio", 1.3),
              fresh=[edited, copied])
        if os.path.exists(edited):
            b.row("large", "mpack edit, onto the same file | cp",
                  ["mpack", "edit", edited, "-o", edited, *replace], copy, "1.3x", ("ratio", 1.3))
        remove(edited)
    noun = b.path("peer")
    declare = b.write("incbin.s", '.section .rodata\n.globl blob\nblob: .incbin "payload.bin"\n'
                                  '.size blob, . - blob\n.section .note.GNU-stack,"",@progbits\n')
    shell = {
        "ld -r -b binary, cc -shared":
            f"cd {b.folder} && ld -r -b binary payload.bin -o {noun}.o && cc -shared {noun}.o -o {noun}.so",
        "objcopy -I binary, cc -shared":
            f"cd {b.folder} && objcopy -I binary -O elf64-x86-64 payload.bin {noun}.o && "
            f"cc -shared {noun}.o -o {noun}.so",
        ".incbin, cc -shared": f"cd {b.folder} && cc -shared {declare} -o {noun}.so",
    }
    for what, command in shell.items():
        b.peer("large", f"  peer: {what}", ["sh", "-c", command], [what.split()[0].strip(".")]
               if what[0] != "." else ["cc"])
    python = os.environ.get("INTEROP_PYTHON") or str(ROOT / "out/venv/bin/python")
    script = b.write("export.py", TVM_EXPORT)
    if os.access(python, os.X_OK):
        b.peer("large", "  peer: TVM 0.27 export_library",
               [python, script, str(b.size), f"{noun}.so"], [], seconds_from_output=True)
    else:
        b.rows.append({"group": "large", "what": "  peer: TVM 0.27 export_library", "peer": True,
                       "missing": "no virtual environment with TVM; run make interop once"})
        b.show(b.rows[-1])
    for name in ("large.so", "copy.bin", "payload.bin", "peer.o", "peer.so"):
        (b.folder / name).unlink(missing_ok=True)


MARKS = 3


def marked(b, name, size):
    """A payload of noise with a number of its own at its start, middle and end."""
    block = os.urandom(min(size, 16 * MIB))
    with open(b.path(name), "wb") as out:
        for at in range(0, size, len(block)):
            out.write(block[:size - at])
        for at in range(MARKS):
            out.seek((size - 8) * at // (MARKS - 1))
            out.write(f"{name[:5]:<5}{at:03}".encode())
    return name


def check_marks(b, library, names, size):
    """Load the library and look at the marks where minspect says the payloads are."""
    told = told_of(library)
    nodes = [node for node in told["tree"] if node["kind"] == "weights"]
    loaded = ctypes.CDLL(library)
    base = ctypes.addressof(ctypes.c_char.in_dll(loaded, told["blob"]["symbol"]))
    left, wrong = {f"{name[:5]:<5}".encode() for name in names}, 0
    for node in nodes:
        start = base + node["offset"] + node["bytes"] - size
        name = ctypes.string_at(start, 5)  # TVM's order of modules is not the manifest's
        wrong += MARKS if name not in left else sum(
            ctypes.string_at(start + (size - 8) * at // (MARKS - 1), 8) != b"%s%03d" % (name, at)
            for at in range(MARKS))
        left.discard(name)
    wrong += MARKS * len(left)
    return {"marks_checked": MARKS * len(names), "marks_wrong": wrong,
            "page_aligned": base % 4096 == 0, "last_offset": nodes[-1]["offset"]}


def huge(b):
    """Past 4 GiB in one payload and in a tree of ten; the result is loaded, and bytes past 2
    and 4 GiB are looked at. Takes 40 GiB of disk; where memory cannot hold input and output,
    both sides wait for the disk, too."""
    for names, size in ((["huge0"], 4 * b.size + 12288), ([f"part{i}" for i in range(10)], b.size)):
        for name in names:
            marked(b, name, size)
        # The loader knows a library by its name: each has its own.
        out, copied = b.path(f"huge{len(names)}.so"), b.path("copies")
        manifest = weights_manifest(b, "huge.toml", names)
        label = f"{len(names)} x {size / MIB:.0f} MiB"
        copy = ["sh", "-c", f"mkdir {copied} && cp --sparse=never --reflink=never "
                            f"{' '.join(b.path(n) for n in names)} {copied}", copied]
        runs, b.runs = b.runs, min(b.runs, 3)
        b.row("huge", f"mpack build, {label} payload | cp", ["mpack", "build", manifest, "-o", out],
              copy, "1.3x, 64 MiB", ("ratio", 1.3), 64 * MIB, fresh=[out, copied])
        b.runs = runs
        if os.path.exists(out):
            found = check_marks(b, out, names, size)
            b.rows[-1].update(found)
            b.failed += found["marks_wrong"] > 0
            print(f"  loaded: {found['marks_checked'] - found['marks_wrong']} of "
                  f"{found['marks_checked']} marks, the last payload at "
                  f"{found['last_offset'] / (1 << 30):.2f} GiB", flush=True)
        for path in (out, copied, *(b.path(n) for n in names)):
            remove(path)


def text(b):
    """Through C source: as an array it costs a compiler half a minute."""
    size = max(b.size // 64, 64 << 10)
    b.noise("text.bin", size)
    label = f"{size / MIB:.3g} MiB"
    manifest = weights_manifest(b, "text.toml", ["text.bin"])
    b.row("text", f"mpack build --via c, {label}",
          ["mpack", "build", manifest, "--via", "c", "-o", b.path("text.so")], None, "1 s",
          ("wall", 1.0))
    b.peer("text", "  peer: xxd -i, cc -shared",
           ["sh", "-c", f"cd {b.folder} && xxd -i text.bin array.c && cc -shared -fPIC array.c -o array.so"],
           ["xxd", "cc"])


def many(b):
    """Many small things: 10,000 modules, 100 host objects."""
    (b.folder / "many").mkdir()
    names = []
    for i in range(10000):
        names.append(f"many/{i}.bin")
        b.write(names[-1], (f"{i} " * 256).encode()[:1024])
    manifest = weights_manifest(b, "many.toml", names)
    link = ["cc", "-shared", b.path("one.o"), "-o", b.path("cc.so")]
    b.row("many", "mpack build, 10,000 modules | cc -shared",
          ["mpack", "build", manifest, "-o", b.path("many.so")], link, "cc + 0.3 s", ("plus", 0.3))
    if (b.folder / "many.so").exists():
        b.row("many", "minspect --json, 10,000 modules", ["minspect", "--json", b.path("many.so")],
              None, "0.2 s", ("wall", 0.2))
    objects = []
    for i in range(100):
        b.write(f"object{i}.s", f'.globl __tvm_ffi_f{i}\n__tvm_ffi_f{i}: ret\n.data\n.fill {MIB // 8}, 8, {i}\n'
                                '.section .note.GNU-stack,"",@progbits\n')
        subprocess.run(["cc", "-c", b.path(f"object{i}.s"), "-o", b.path(f"object{i}.o")], check=True)
        objects.append(f"object{i}.o")
    manifest = b.write("objects.toml", '[package]\nname = "objects"\n[[module]]\nid = "host"\n'
                       'kind = "host"\nsources = ' + json.dumps(objects) + "\n")
    b.row("many", "mpack build, 100 host objects of 1 MiB | cc",
          ["mpack", "build", manifest, "-o", b.path("objects.so")],
          ["cc", "-shared", *(b.path(o) for o in objects), "-o", b.path("cc.so")], "1.1x", ("ratio", 1.1))


def cubins(b):
    """661 cubins of a compiler's cache, as in a thread of PyTorch: a library whose functions check and launch, beside the
    three programs that its AOTInductor ran for each cubin to have its bytes alone in an object."""
    cache = b.folder / "cache"
    names = []
    for i in range(661):
        folder = cache / f"k{i}"
        folder.mkdir(parents=True)
        for end in ("cubin", "json", "ttir"):
            shutil.copy(ROOT / "tests/data/triton" / f"scaled_add.{end}", folder)
        names.append(f"cache/k{i}/scaled_add.cubin")
    (b.folder / "cubins.txt").write_text("\n".join(names) + "\n")
    embed = f'cd {b.folder}; ' 'while read -r c; do ld -r -b binary -z noexecstack -o "$c.o" "$c"; done < cubins.txt'
    whole = (f'cd {b.folder}; ' 'i=0; while read -r c; do i=$((i+1)); ld -r -b binary -z noexecstack -o "$c.o" "$c"; '
             'objcopy --rename-section .data=.rodata,alloc,load,readonly,data,contents "$c.o"; '
             's=_binary_cache_k$((i-1))_scaled_add_cubin; objcopy --redefine-sym ${s}_start=__k${i}_start '
             '--redefine-sym ${s}_size=__k${i}_size --redefine-sym ${s}_end=__k${i}_end "$c.o"; done < cubins.txt')
    build = ["mpack", "build", str(cache), "-o", b.path("cubins.so")]
    b.row("cubins", "mpack build, 661 kernels | ld, 2 objcopy each", build, ["sh", "-ec", whole], "0.2x",
          ("ratio", 0.2))
    b.row("cubins", "mpack build, 661 kernels | ld -r -b binary", build, ["sh", "-ec", embed], "0.2x",
          ("ratio", 0.2))


def figure(command, read):
    """What a program says a call costs, in seconds; None and why when it cannot."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return None, (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    return read(done.stdout), None


def calls(b):
    """What a call costs: the host part of a launch function, a kernel beside the OpenCL API.
    Here the programs measure themselves: processor time and the median of 5000 calls. A call of
    a kernel waits for threads of the driver to wake up, which takes as long as the machine likes:
    the fastest calls, which found them awake, stand beside the medians, and keep the goal where
    only the clock misses it."""
    native = b.bin.parent / "tests" / "bench" / "native"
    manifest = str(ROOT / "tests/data/launch/opencl.toml")
    for via in ("llvm", "c"):
        library = b.path(f"launch-{via}.so")
        subprocess.run(["mpack", "build", manifest, "--via", via, "-o", library], check=True)
        got = [figure([native / "launch_call", library], lambda said: float(said) * 1e-9)
               for _ in range(b.runs)]
        seconds = statistics.median(value for value, _ in got if value is not None)
        row = {"group": "calls", "what": f"launch function, host part, --via {via}",
               "goal": "300 ns a call", "cpu_seconds": seconds, "met": seconds <= 300e-9,
               "met_in_cpu_time": seconds <= 300e-9}
        b.rows.append(row)
        print(f"{row['what']:<46} {seconds * 1e9:>6.1f} ns  "
              f"{'met' if row['met'] else 'MISSED'}: {row['goal']}", flush=True)
    ours = ["minspect", "--json", "--run", "vadd_kernel", str(ROOT / "tests/data/cuda/vadd_opencl.so"),
            "--grid", "8", "--block", "128", "--input", "1024xf32=1", "--input", "1024xf32=1",
            "--out", "1024xf32", "--warmup", "200", "--repeat", "5000"]
    row = {"group": "calls", "what": "minspect --run KERNEL, warmed | OpenCL API", "goal": "1.1x"}
    b.rows.append(row)
    rounds = []
    for _ in range(b.runs):
        mine, why = figure(ours, lambda said: [json.loads(said)["seconds"][k] for k in ("median", "min")])
        api, why_not = figure([native / "opencl_call"], lambda said: [float(n) * 1e-6 for n in said.split()])
        if mine is None or api is None:
            row["missing"] = why or why_not
            b.show(row)
            return
        rounds.append(mine + api)
    row["seconds"], row["fastest_seconds"], row["reference_seconds"], row["reference_fastest_seconds"] = (
        statistics.median(column) for column in zip(*rounds))
    row["ratio"] = row["seconds"] / row["reference_seconds"]
    row["fastest_ratio"] = row["fastest_seconds"] / row["reference_fastest_seconds"]
    row["met"], row["met_in_cpu_time"] = row["ratio"] <= 1.1, row["fastest_ratio"] <= 1.1
    print(f"{row['what']:<46} {row['seconds'] * 1e6:>6.1f} us  {row['reference_seconds'] * 1e6:.1f} us  "
          f"{row['ratio']:.2f}x, fastest {row['fastest_seconds'] * 1e6:.1f} us  "
          f"{row['reference_fastest_seconds'] * 1e6:.1f} us  {row['fastest_ratio']:.2f}x  "
          f"{'met' if row['met'] else 'met by the fastest' if row['met_in_cpu_time'] else 'MISSED'}: "
          f"{row['goal']}", flush=True)


def run_models(b):
    """A step of a model, loading it, a cold run."""
    models.models(b, ROOT)


GROUPS = {"start": start, "functions": lambda b: functions.functions(b, ROOT), "small": small,
          "large": large, "huge": huge, "text": text, "many": many, "cubins": cubins, "calls": calls,
          "models": run_models, "parallel": lambda b: parallel.parallel(b, ROOT), "library": lambda b: library.library(b, ROOT),
          "packed": lambda b: packed.packed(b, ROOT),
          "peers": lambda b: peers.peers(b, ROOT), "weights": lambda b: weights.weights(b, ROOT)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=ROOT / "out/release/bin")
    parser.add_argument("--json", default=ROOT / "out/bench.json")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=" ".join(GROUPS))
    options = parser.parse_args()
    wrong = [name for name in options.groups if name not in GROUPS]
    if wrong:
        parser.error(f"no group {wrong[0]!r}: {' '.join(GROUPS)}")
    b = Bench(options)
    need = 0 if options.groups == ["parallel"] else (21 if "huge" in (options.groups or GROUPS) else 5) * b.size
    free = shutil.disk_usage(b.folder).free
    if free < need:
        sys.exit(f"bench: {free / MIB:.0f} MiB free, {need / MIB:.0f} MiB wanted; set BENCH_SIZE lower")
    print(f"{'ours | reference':<46} {'median':>9} {'cpu':>9} {'peak':>10} {'reference':>9} "
          f"{'cpu':>9} {'ratio':>7} {'cpu':>7}   goal")
    for name in options.groups or GROUPS:
        GROUPS[name](b)
    report = {"schema_version": 1, "machine": platform.machine(), "cpus": os.cpu_count(),
              "load": os.getloadavg()[0],
              "runs": b.runs, "payload_bytes": b.size, "rows": b.rows}
    pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n")
    shutil.rmtree(b.folder, ignore_errors=True)
    print(f"{options.json} has the figures", file=sys.stderr)
    return 1 if b.failed else 0


if __name__ == "__main__":
    sys.exit(main())
