#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""variants - damaged and hostile variants of real files through whole programs

  variants.py --bin DIR [--count N] [--seed S] [--seconds S] [--keep DIR] [ACTION...]

Each variant of a file of tests/data goes through one action of minspect or mpack, in a process of its
own. It may be refused; but

- no signal ends the program, and its status is one of the manual's, never 70;
- it takes no more than 2 s and no more memory than --max-memory promises: 64 MiB and four times the file,
  beside 24 MiB that programs and libraries themselves take;
- what mpack edit wrote is found whole by minspect --verify, when the file was before.

How a variant is made: bytes flipped, replaced by interesting numbers, cut, doubled, swapped, taken from
another file; for ELF, fields of headers, sections, segments, symbols and dynamic entries are set to
edges of the file, of each other, and of integers; for zip, gzip and archives their lengths. Variant I of
seed S is always the same. With --keep, what failed is written there. The last line is "N passed, N failed,
N skipped".
"""
import argparse
import multiprocessing
import os
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.normpath(os.path.join(HERE, "..", "data"))
SEED_MAX = 1 << 20
TIME_S, OWN_MEMORY, MEMORY = 2.0, 24 << 20, 64 << 20
STATUSES = set(range(0, 10))
EDGES = [0, 1, 2, 3, 4, 7, 8, 15, 16, 0x7f, 0x80, 0xff, 0x100, 0xfff, 0x1000, 0x7fff, 0x8000, 0xffff,
         0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000,
         0xfffffffffffffff8, 0xffffffffffffffff]

# FILE is the variant, ZIP an archive with it as its member m.so, OTHER an undamaged file, OUT a path that
# is not there yet.
ACTIONS = {
    "list": "minspect FILE", "verbose": "minspect -v FILE", "json": "minspect --json FILE",
    "functions": "minspect --functions FILE", "functions-json": "minspect --functions --json FILE",
    "size": "minspect --size FILE", "size-json": "minspect --size --json FILE",
    "verify": "minspect --verify FILE", "verify-json": "minspect --verify --json FILE",
    "check": "minspect --check --tvm 0.27 FILE", "header": "minspect --header OUT.h FILE",
    "diff": "minspect --diff OTHER FILE", "diff-back": "minspect --diff FILE OTHER",
    "extract": "minspect --extract OUT FILE", "unpack": "mpack unpack FILE -o OUT",
    "edit": "mpack edit FILE -o OUT.so --replace /0=PAYLOAD",
    "show": "minspect --show / --output OUT FILE", "show-raw": "minspect --show / --raw --output OUT FILE",
    "show-name": "minspect --show #scale_kernel --output OUT FILE", "disasm": "minspect --disasm FILE",
    "html": "minspect --html OUT.html FILE", "html-two": "minspect --html OUT.html FILE OTHER",
    "dot": "minspect --dot tree FILE", "dot-model": "minspect --dot model FILE",
    "csv": "minspect --size --csv FILE", "markdown": "minspect --diff OTHER --markdown FILE",
    "filter": "minspect --functions --filter *a* FILE",
    "baseline": "minspect --baseline OUT.json --update-baseline FILE",
    "sbom": "minspect --sbom FILE", "spdx": "minspect --sbom=spdx FILE",
    "attestation": "minspect --attestation --builder urn:x FILE", "gpu": "minspect --check --device-arch sm_90 FILE",
    "zip": "minspect ZIP", "member": "minspect --verify ZIP!/m.so", "member-extract": "minspect --extract OUT ZIP!/m.so",
    "build": "mpack build FILE -o OUT.o --emit obj", "init": "mpack init FILE",
}


# --- variants -----------------------------------------------------------------------------------

def put(data, at, size, value, big=False):
    if 0 <= at <= len(data) - size:
        data[at:at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "big" if big else "little")


def some_number(rng, data):
    near = rng.choice([0, 1, -1, 8, -8, 64])
    return rng.choice([rng.choice(EDGES), len(data) + near, rng.randrange(len(data) + 1),
                       rng.getrandbits(64), rng.choice(EDGES) + near])


def elf_fields(data):
    """(offset, size) of each number in the headers and tables of an ELF file that can be followed."""
    wide, big = data[4:5] == b"\2", data[5:6] == b"\2"
    order = ">" if big else "<"
    fields = [(16, 2), (18, 2), (20, 4)]
    try:
        if wide:
            phoff, shoff = struct.unpack_from(order + "QQ", data, 32)
            phsize, phnum, shsize, shnum, _ = struct.unpack_from(order + "HHHHH", data, 54)
            fields += [(24, 8), (32, 8), (40, 8)] + [(at, 2) for at in range(52, 64, 2)]
            parts, section = [(0, 4), (4, 4)] + [(i, 8) for i in range(8, 56, 8)], \
                [(0, 4), (4, 4), (8, 8), (16, 8), (24, 8), (32, 8), (40, 4), (44, 4), (48, 8), (56, 8)]
        else:
            phoff, shoff = struct.unpack_from(order + "II", data, 28)
            phsize, phnum, shsize, shnum, _ = struct.unpack_from(order + "HHHHH", data, 42)
            fields += [(24, 4), (28, 4), (32, 4)] + [(at, 2) for at in range(40, 52, 2)]
            parts = section = [(i, 4) for i in range(0, 40, 4)]
    except struct.error:
        return fields, big
    for i in range(min(phnum, 64)):
        fields += [(phoff + i * phsize + at, size) for at, size in parts]
    for i in range(min(shnum, 128)):
        head = shoff + i * shsize
        fields += [(head + at, size) for at, size in section]
        if wide and head + 64 <= len(data):
            kind, _, _, off, size = struct.unpack_from(order + "IQQQQ", data, head + 4)
            # symbols, relocations, dynamic entries, notes
            step = {2: 24, 11: 24, 4: 24, 6: 16, 7: 12}.get(kind)
            for k in range(min(size // step, 40) if step and off < len(data) else 0):
                fields += [(off + k * step + at, 8) for at in range(0, step - 7, 8)] + [(off + k * step, 4)]
    return fields, big


def elf_variant(rng, data):
    fields, big = elf_fields(data)
    known = [int.from_bytes(data[at:at + size], "big" if big else "little") for at, size in fields]
    for _ in range(rng.choice([1, 1, 2, 3, 6])):
        at, size = rng.choice(fields)
        put(data, at, size, rng.choice([some_number(rng, data), rng.choice(known)]), big)


def plain_variant(rng, data, other):
    for _ in range(rng.choice([1, 1, 2, 4, 16])):
        at, size = rng.randrange(len(data)), rng.choice([1, 2, 4, 8])
        how = rng.randrange(7)
        if how == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            put(data, at, size, some_number(rng, data), rng.random() < 0.2)
        elif how == 2:
            del data[at:at + rng.choice([1, 4, 64, 4096])]
        elif how == 3:
            data[at:at] = data[at:at + rng.choice([1, 8, 256, 8192])]
        elif how == 4:
            begin = rng.randrange(len(other))
            piece = other[begin:begin + rng.choice([4, 64, 1024])]
            data[at:at + len(piece)] = piece
        elif how == 5:
            data[at:at + size] = bytes(rng.choice([0, 0x0a, 0x1b, 0x22, 0x2f, 0x3c, 0x80, 0xff])
                                       for _ in range(size))
        else:
            # a length or an offset moves with what it counts: 8 bytes that are a small number
            at &= ~7
            put(data, at, 8, int.from_bytes(data[at:at + 8], "little") + rng.choice([-1, 1, 8, 1 << 32]))
        if not data:
            data += b"\0"


def make(seeds, seed, index):
    rng = random.Random("%s %d" % (seed, index))
    path = rng.choice(seeds)
    with open(path, "rb") as file:
        data = bytearray(file.read())
    with open(rng.choice(seeds), "rb") as file:
        other = file.read()
    how = rng.random()
    if how < 0.08:
        del data[rng.randrange(len(data)):]
    elif how < 0.55 and data[:4] == b"\x7fELF":
        elf_variant(rng, data)
    else:
        plain_variant(rng, data, other)
    return rng, path, bytes(data)


# --- runs ---------------------------------------------------------------------------------------

def run(command, folder, log):
    """Returns the wait status, seconds, and the peak resident memory in bytes."""
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.chdir(folder)
        for fd in (1, 2):
            os.dup2(log, fd)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
        os.environ["TMPDIR"] = folder
        os.execv(command[0], command)
    # a sandbox that is not there to stop an endless sleep
    signal.setitimer(signal.ITIMER_REAL, 60)
    try:
        _, status, usage = os.wait4(pid, 0)
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return status, time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def wrong_with(status, cpu, memory, size, limit_memory):
    if os.WIFSIGNALED(status):
        return "signal %d" % os.WTERMSIG(status)
    if os.WEXITSTATUS(status) not in STATUSES:
        return "status %d" % os.WEXITSTATUS(status)
    if cpu > TIME_S:
        return "%.1f s" % cpu
    if limit_memory and memory > OWN_MEMORY + MEMORY + 4 * size:
        return "%d MiB for %d bytes" % (memory >> 20, size)
    return None


def verify(options, folder, path, log):
    return os.WEXITSTATUS(run([os.path.join(options.bin, "minspect"), "--verify", path], folder, log)[0])


def one(options, seeds, index, folder):
    rng, source, data = make(seeds, options.seed, index)
    name = rng.choice(options.action or sorted(ACTIONS))
    suffix = os.path.splitext(source)[1] or ".so"
    if name == "build":
        suffix = ".blob"
    victim, out = os.path.join(folder, "file" + suffix), os.path.join(folder, "out")
    with open(victim, "wb") as file:
        file.write(data)
    archive = os.path.join(folder, "a.whl")
    if "ZIP" in ACTIONS[name]:
        with zipfile.ZipFile(archive, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as made:
            made.write(victim, "m.so")
    payload = os.path.join(DATA, rng.choice(["example/scale.cl", "example/vadd.ptx"]))
    words = {"FILE": victim, "OTHER": rng.choice(seeds), "PAYLOAD": payload, "OUT": out, "ZIP": archive}
    command = [os.path.join(options.bin, ACTIONS[name].split()[0])]
    for word in ACTIONS[name].split()[1:]:
        for key, value in words.items():
            word = word.replace(key, value)
        command.append(word)
    log = os.open(os.path.join(folder, "log"), os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    status, _, cpu, memory = run(command, folder, log)
    # two files are read, one in an archive counts again; compiler and disassembler are not ours
    more = SEED_MAX if "OTHER" in ACTIONS[name] else len(data) if "ZIP" in ACTIONS[name] else 0
    wrong = wrong_with(status, cpu, memory, len(data) + more,
                       options.memory and name not in ("build", "edit", "disasm"))
    if not wrong and name == "edit" and status == 0 and verify(options, folder, out + ".so", log) != 0 and \
            verify(options, folder, victim, log) == 0:
        wrong = "what edit wrote is not whole"
    if wrong:
        with open(os.path.join(folder, "log"), "rb") as file:
            said = file.read()[-2000:].decode(errors="replace")
        wrong = "variant %d of %s, %s: %s\n%s" % (index, os.path.relpath(source, DATA), name, wrong, said)
        if options.keep:
            os.makedirs(options.keep, exist_ok=True)
            with open(os.path.join(options.keep, "%s-%s-%d%s" % (options.seed, name, index, suffix)), "wb") as file:
                file.write(data)
    os.close(log)
    return wrong


def sweep(folder):
    for entry in os.listdir(folder):
        path = os.path.join(folder, entry)
        if os.path.isdir(path):
            for below, dirs, names in os.walk(path, topdown=False):
                for name in names:
                    os.unlink(os.path.join(below, name))
                for name in dirs:
                    os.rmdir(os.path.join(below, name))
            os.rmdir(path)
        else:
            os.unlink(path)


def work(task):
    options, seeds, first, step = task
    signal.signal(signal.SIGALRM, _late)
    done, found, end = 0, [], time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory(prefix="variants-") as folder:
        for index in range(first, options.count, step):
            if time.monotonic() > end:
                break
            wrong = one(options, seeds, index, folder)
            sweep(folder)
            done += 1
            if wrong:
                print("FAIL", wrong, flush=True)
                found.append(wrong)
    return done, len(found)


def _late(*_unused):
    raise TimeoutError


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--count", type=int, default=4000)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--keep")
    parser.add_argument("--no-memory", dest="memory", action="store_false", help="for a build with sanitizers")
    parser.add_argument("action", nargs="*", choices=[[], *ACTIONS], default=[])
    options = parser.parse_args()
    options.bin = os.path.abspath(options.bin)
    seeds = sorted(os.path.join(folder, name) for folder, _, names in os.walk(DATA) for name in names
                   if 0 < os.path.getsize(os.path.join(folder, name)) <= SEED_MAX)
    workers = os.cpu_count()
    with multiprocessing.Pool(workers) as pool:
        counts = pool.map(work, [(options, seeds, i, workers) for i in range(workers)], chunksize=1)
    done, failed = sum(c[0] for c in counts), sum(c[1] for c in counts)
    print("%d passed, %d failed, 0 skipped" % (done - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
