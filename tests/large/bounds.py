#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bounds - does every action and command keep to the bounds of SECURITY.md, whatever the file?

  bounds.py --bin DIR [--long | --guard] [--figures] [--jobs N] [--only TEXT,...]

Two things are asked of each command line of COMMANDS, and every action of minspect and command of mpack has to have one:
the names come from the programs' own tables.

- Bombs (bombs.py: files of at most a megabyte that unpack to hundreds). No command takes more than 3 s of processor
  time and 320 MiB; it ends with a status of the manual, not by a signal, and prints no line of an error twice; what it
  wrote is no larger than 64 times the file.
- Families of files of n, 2n and 4n parts. What a command does grows no faster than n log n. Where the kernel counts
  instructions (perf_event_open), these are compared; else processor time, least of three, where it is long enough.

--guard is for a machine that does other work and may be slow: 12 s, and growth where instructions are counted alone.
Without --long: the first command line of each action, n and 4n, and each action meets a fourth of the files, in turn;
with --only all files whose names have one of the texts. The last line is "N passed, N failed, N skipped".
"""
import argparse
import collections
import concurrent.futures
import ctypes
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.normpath(os.path.join(HERE, "..", "data"))
TIME_S, GUARD_S, MEMORY_MIB, OUTPUT_TIMES, OUTPUT_BASE = 3.0, 12.0, 320, 64, 64 << 20
STATUSES = set(range(0, 10))
SAMPLE = 4  # without --long each action meets each fourth file

# FILE is the file, OTHER a small library, COPY a copy of FILE with one byte more, DIR a folder with FILE in it,
# OUT a path that is not there, MANIFEST.K manifests that name FILE.
COMMANDS = {
    "minspect": {
        "": ["FILE", "-v FILE", "--all FILE", "DIR"],
        "functions": ["functions FILE", "functions --all FILE", "functions --json FILE", "functions --spills FILE"],
        "size": ["size FILE", "size --all --json FILE", "size --csv FILE", "size --markdown FILE"],
        "diff": ["diff OTHER FILE", "diff COPY FILE", "diff --json COPY FILE", "diff FILE OTHER",
                 "diff --ignore=noise COPY FILE"],
        "extract": ["extract OUT FILE", "extract OUT --digest none FILE"],
        "show": ["show / -o OUT FILE", "show nothing FILE", "show /1#nothing FILE"],
        "disasm": ["disasm FILE", "disasm nothing FILE"],
        "verify": ["verify FILE", "verify --all -v FILE", "verify --json FILE", "verify DIR"],
        "check": ["check --device-arch sm_90,gfx1100 FILE", "check FILE", "check --tvm 0.27 --json FILE",
                  "check --abi manylinux_2_28,abi3 FILE"],
        "html": ["html OUT.html FILE", "html OUT.html COPY FILE"],
        "run": ["run nothing --timeout 2 FILE"],
        "cases": ["cases OUT.cases FILE --timeout 2"],
        "json": ["json FILE", "--json=lines DIR"],
        "header": ["header OUT.h FILE"],
        "baseline": ["baseline OUT.json --update-baseline FILE"],
        "svg": ["svg -o OUT.svg FILE"],
        "code-digest": ["code-digest FILE", "code-digest --json FILE"],
        "occupancy": ["occupancy FILE", "occupancy --all --json FILE"],
        "memory": ["memory FILE", "memory --json FILE"],
        "stats": ["stats FILE", "stats --json FILE"],
        "dot": ["dot tree FILE", "dot model FILE"],
        "sbom": ["sbom FILE", "--sbom=spdx FILE"],
        "attestation": ["attestation --builder urn:x FILE"],
        "devices": [],  # takes no file
        "explain": [],  # the same
    },
    "mpack": {
        "build": ["build MANIFEST.fatbin -o OUT.blob", "build MANIFEST.hip -o OUT.blob", "build FILE -o OUT.o",
                  "build MANIFEST.params -o OUT.blob", "build MANIFEST.base -o OUT.so"],
        "check": ["check MANIFEST.fatbin", "check MANIFEST.hip", "check FILE", "check MANIFEST.params",
                  "check MANIFEST.any"],
        "edit": ["edit FILE -o OUT --replace /0=OTHER", "edit FILE -o OUT --replace .nv_fatbin:0=OTHER",
                 "edit FILE -o OUT --replace .hip_fatbin:0#gfx90a=OTHER"],
        "init": ["init FILE"],
        "sign": ["sign FILE -o OUT --key KEY"],
        "thin": ["thin FILE -o OUT --keep compute_90,sm_90,gfx1100 --allow-missing", "thin FILE -o OUT --device-arch sm_90",
                 "thin FILE -o OUT --drop-debug", "thin FILE -o OUT --drop-relocatable --compress --keep sm_90"],
        "unpack": ["unpack FILE -o OUT"],
    },
}

MANIFESTS = {
    "fatbin": 'kind = "cuda"\nformat = "fatbin"\ndata = "%s"\n[[module.function]]\nname = "k"\nargs = ["handle"]\n'
              'launch = ["threadIdx.x"]\n',
    "hip": 'kind = "hip"\ndata = "%s"\n[[module.function]]\nname = "k"\nargs = ["handle"]\nlaunch = ["threadIdx.x"]\n',
    "params": 'kind = "GraphExecutorFactory"\nname = "default"\ngraph = "%s"\nparams = "%s"\n',
    "any": 'kind = "my_runtime"\npayload = "%s"\n',
}


def counter():
    """The number of instructions in user mode of this thread and of what it started; None: the kernel does not count."""
    if os.uname().machine != "x86_64":
        return None
    attr = bytearray(128)
    struct.pack_into("<IIQ", attr, 0, 0, 128, 1)                      # hardware, size, instructions
    struct.pack_into("<Q", attr, 40, 1 << 1 | 1 << 5 | 1 << 6)        # inherit, without kernel and hypervisor
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(298, (ctypes.c_char * 128).from_buffer(attr), 0, -1, -1, 0)
    return None if fd < 0 else fd


THREAD = threading.local()


def instructions():
    if not hasattr(THREAD, "fd"):
        THREAD.fd = counter()
    return struct.unpack("<Q", os.read(THREAD.fd, 8))[0] if THREAD.fd is not None else 0


class Took:
    """What a command took: status (negative: a signal), seconds of processor time, MiB, instructions, its stderr."""

    def __init__(self, words, folder):
        self.said = os.path.join(folder, "stderr")
        before = instructions()
        null = os.open(os.devnull, os.O_WRONLY)
        said = os.open(self.said, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        # a command that never ends is a find, and no reason to wait
        words = ["sh", "-c", 'ulimit -t 15; ulimit -c 0; exec "$@"', "sh", *words]
        pid = os.posix_spawnp("sh", words, os.environ, file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, null, 1),
            (os.POSIX_SPAWN_DUP2, said, 2)])
        os.close(null)
        os.close(said)
        _, status, usage = os.wait4(pid, 0)
        self.instructions = instructions() - before
        self.status = os.waitstatus_to_exitcode(status)
        # the time of the system depends on the file system: it counts for the bound, and says nothing of growth
        self.seconds, self.user_s = usage.ru_utime + usage.ru_stime, usage.ru_utime
        self.mib = usage.ru_maxrss / 1024
        with open(self.said, errors="replace") as f:
            self.lines = f.read().splitlines()


def size_of(path):
    if os.path.isdir(path) and not os.path.islink(path):
        return sum(size_of(os.path.join(path, name)) for name in os.listdir(path))
    return os.lstat(path).st_blocks * 512 if os.path.lexists(path) else 0


class Subject:
    """A file in a folder of its own, with what the command lines name beside it."""

    def __init__(self, work, path):
        self.name = os.path.basename(path)
        self.folder = tempfile.mkdtemp(dir=work)
        self.bytes = os.path.getsize(path)
        os.mkdir(os.path.join(self.folder, "dir"))
        os.link(path, os.path.join(self.folder, "dir", self.name))
        os.link(path, os.path.join(self.folder, self.name))
        for name in ("k.ptx",):
            if os.path.exists(os.path.join(os.path.dirname(path), name)) and self.name != name:
                os.link(os.path.join(os.path.dirname(path), name), os.path.join(self.folder, name))
        copy = os.path.join(self.folder, "copy-" + self.name)
        shutil.copyfile(path, copy)
        with open(copy, "ab") as f:
            f.write(b"\0")
        for kind, text in MANIFESTS.items():
            with open(os.path.join(self.folder, kind + ".toml"), "w") as f:
                f.write('[package]\nname = "p"\n[[module]]\nid = "k"\n' + text.replace("%s", self.name))
        with open(os.path.join(self.folder, "base.toml"), "w") as f:
            f.write('[package]\nname = "p"\nbase = "%s"\n[[module]]\nid = "k"\nkind = "my_runtime"\npayload = "%s"\n' %
                    (self.name, self.name))
        with open(os.path.join(self.folder, "out.cases"), "w") as f:
            f.write('[[case]]\nname = "a"\nrun = "nothing"\n')

    def words(self, bin_folder, program, line, out, key):
        at = lambda name: os.path.join(self.folder, name)  # noqa: E731
        named = {"FILE": at(self.name), "COPY": at("copy-" + self.name), "DIR": at("dir"), "KEY": key,
                 "OUT.cases": at("out.cases"), "OTHER": os.path.join(DATA, "formats", "01_opencl_scale.so")}
        words = []
        for word in line.split():
            head, eq, tail = word.rpartition("=")
            if word.startswith("MANIFEST."):
                word = at(word[9:] + ".toml")
            elif word in named:
                word = named[word]
            elif eq and tail in named:
                word = head + eq + named[tail]
            elif word.startswith("OUT"):
                word = os.path.join(out, "out" + word[3:])
            words.append(word)
        return [os.path.join(bin_folder, program), *words]


def names_of(bin_folder):
    """Actions and commands, as the programs' tables have them."""
    def table(*words):
        return subprocess.run([os.path.join(bin_folder, words[0]), *words[1:]], stdout=subprocess.PIPE, text=True,
                              check=True).stdout.splitlines()

    actions = {row.split("\t")[1] for row in table("minspect", "--help=table") if row.split("\t")[5]}
    commands, lines = set(), table("mpack", "--help")
    for line in lines[:lines.index("examples:")]:
        if line.startswith("  ") and line[2] != " ":
            commands.add(line.split()[0])
    return {"minspect": actions - {"help", "version"} | {""}, "mpack": commands}


def missing(bin_folder):
    """Actions and commands that no command line here is for, and such that are no more."""
    names = names_of(bin_folder)
    return ["%s %s has no command line in tests/large/bounds.py" % (p, n) for p in COMMANDS
            for n in names[p] - set(COMMANDS[p])] + \
        ["there is no %s %s" % (p, n) for p in COMMANDS for n in set(COMMANDS[p]) - names[p]]


def lines_of(is_long):
    for program, rows in COMMANDS.items():
        for lines in rows.values():
            for line in lines if is_long else lines[:1]:
                yield program, line


class Bounds:
    def __init__(self, options, work):
        self.o, self.work = options, work
        self.key = os.path.join(work, "key.pem")
        if subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", self.key],
                          stderr=subprocess.DEVNULL).returncode:
            open(self.key, "w").close()

    def run(self, subject, program, line):
        folder = tempfile.mkdtemp(dir=self.work)
        words = subject.words(self.o.bin, program, line, folder, self.key)
        took = Took(words, folder)
        took.written = sum(size_of(os.path.join(folder, n)) for n in os.listdir(folder) if n != "stderr")
        shutil.rmtree(folder)
        return took

    def wrong_with(self, subject, took):
        wrong = []
        if took.status not in STATUSES:
            wrong.append("status %d: %s" % (took.status, " ".join(took.lines)[:200]))
        if took.seconds > (GUARD_S if self.o.guard else TIME_S):
            wrong.append("%.1f s" % took.seconds)
        if took.mib > max(MEMORY_MIB, 64 + 4 * subject.bytes / (1 << 20)):
            wrong.append("%.0f MiB" % took.mib)
        if took.written > OUTPUT_BASE + OUTPUT_TIMES * subject.bytes:
            wrong.append("wrote %.0f MiB" % (took.written / (1 << 20)))
        errors = [line for line in took.lines if ": error: " in line]
        twice = {line for line in errors if errors.count(line) > 1}
        if twice:
            wrong.append("says twice: " + sorted(twice)[0][:160])
        return wrong

    def bomb(self, subject, program, line):
        took = self.run(subject, program, line)
        return ("%s %s" % (program, line.replace("FILE", subject.name)), self.wrong_with(subject, took),
                "%.2f s, %.0f MiB, %d" % (took.seconds, took.mib, took.status))

    def growth(self, subjects, counts, program, line):
        """subjects: of one part, then of counts of parts."""
        label = "%s %s (%s)" % (program, line, subjects[-1].name)
        work = []
        wrong = []
        for subject in subjects:
            took = self.run(subject, program, line)
            wrong += self.wrong_with(subject, took)
            work.append(took.instructions or took.user_s)
            counted = took.instructions > 0
        if not counted and self.o.guard:
            return label, wrong, "not counted"
        if not counted and work[-1] - work[0] > 0.15:
            for _ in range(2):
                again = [self.run(s, program, line).user_s for s in subjects]
                work = [min(pair) for pair in zip(work, again)]
        least = 20e6 if counted else 0.15
        grown = [w - work[0] for w in work[1:]]
        figures = " ".join("%.3g" % w for w in work)
        for i in range(1, len(grown)):
            times = counts[i] / counts[0]
            allowed = times * math.log(counts[i]) / math.log(counts[0])
            # the smallest one may hide behind what starting costs
            base = max(grown[0], least / times / 2)
            if grown[i] > least and grown[i] > (1.35 if counted else 1.8) * allowed * base:
                wrong.append("%s for %s parts: grows faster than n log n" % (figures, [1, *counts]))
                break
        return label, wrong, figures


def make(work, name, *arguments):
    """By a process of its own: a large one counts as what it starts."""
    folder = os.path.join(work, name)
    os.makedirs(folder)
    done = subprocess.run([sys.executable, os.path.join(HERE, "bombs.py"), folder, *arguments], check=True,
                          stdout=subprocess.PIPE, text=True)
    return folder, done.stdout.strip()


def families():
    done = subprocess.run([sys.executable, "-c", "import sys; sys.path.insert(0, %r); import bombs\n"
                           "for n, row in bombs.FAMILIES.items(): print(n, row[1])" % HERE], check=True,
                          stdout=subprocess.PIPE, text=True)
    return [(line.split()[0], int(line.split()[1])) for line in done.stdout.splitlines()]


def tasks(bounds, is_long, only):
    folder, _ = make(bounds.work, "bombs")
    for i, name in enumerate(sorted(os.listdir(folder))):
        if only and not any(word in name for word in only.split(",")):
            continue
        subject = Subject(bounds.work, os.path.join(folder, name))
        for j, (program, line) in enumerate(lines_of(is_long)):
            if is_long or only or (i + j) % SAMPLE == 0:
                yield bounds.bomb, (subject, program, line)
    for i, (family, count) in enumerate(families()):
        if only and not any(word in family for word in only.split(",")):
            continue
        counts = [count, 2 * count, 4 * count] if is_long else [count, 4 * count]
        subjects = []
        for n in [1, *counts]:
            folder, name = make(bounds.work, "%s-%d" % (family, n), family, str(n))
            if family.startswith("manifest"):
                make_ptx(folder)
            subjects.append(Subject(bounds.work, os.path.join(folder, name)))
        for j, (program, line) in enumerate(lines_of(is_long)):
            if is_long or only or (i + j) % SAMPLE == 0:
                yield bounds.growth, (subjects, counts, program, line)


def make_ptx(folder):
    text = "".join(".visible .entry kernel_%d(.param .u64 p0, .param .u32 p1)\n{\n\tret;\n}\n" % i for i in range(1000))
    with open(os.path.join(folder, "k.ptx"), "w") as f:
        f.write(".version 8.0\n.target sm_80\n.address_size 64\n" + text)


def in_order(pool, jobs, made):
    """Results of tasks in their order; no file is made before it is needed."""
    waiting = collections.deque()
    for function, arguments in made:
        waiting.append(pool.submit(function, *arguments))
        while len(waiting) > 2 * jobs:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--guard", action="store_true")
    parser.add_argument("--figures", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only")
    o = parser.parse_args()
    o.bin = os.path.abspath(o.bin)
    passed = failed = 0
    for text in missing(o.bin):
        print("FAIL", text)
        failed += 1
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        bounds = Bounds(o, work)
        for label, wrong, figures in in_order(pool, o.jobs, tasks(bounds, o.long, o.only)):
            if wrong:
                failed += 1
                print("FAIL %s: %s" % (label, "; ".join(dict.fromkeys(wrong))), flush=True)
            else:
                passed += 1
                if o.figures:
                    print("ok   %s: %s" % (label, figures), flush=True)
    if o.figures:
        print("%.0f s" % (time.monotonic() - begun))
    print("%d passed, %d failed, 0 skipped" % (passed, failed))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
