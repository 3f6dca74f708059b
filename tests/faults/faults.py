#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""faults - every call that can fail does, every moment is one to be killed in

  faults.py --bin DIR [--all | --limit N] [--seed S] [SCENARIO...]

A scenario is one command of mpack or minspect in a directory with an old output in it. It runs once to
count its calls of the C library (inject.c), then again and again, one of them failing each time: with each
error of ERRNO, and killed before it. Whatever fails,

- the exit status is one of the manual's, and 70 (a bug of ours) and signals are none of them;
- a failure is reported; status 0 means that the output is what it is without faults, every byte;
- the old output is there, or the whole new one;
- nothing else is left in the directory, nor among temporary files; after SIGKILL, when the same command
  has run again.

--all tries each call, else N of each scenario are tried, by default 150, drawn by seed. The last line
is "N passed, N failed, N skipped".
"""
import argparse
import errno
import hashlib
import json
import mmap
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "data")
FUNCTIONS, ENTRY, NAME = 96, 32, 24
KILL, SHORT = -1, 0
LIMIT_S, PATIENCE_S = 60, 60

# Status that a fault may lead to; 1 and 2 would blame the data or the user.
ALLOWED = {0, 3, 4, 6, 8}

ERRNO = {
    "read": (errno.EIO, errno.EINTR, SHORT), "pread": (errno.EIO, errno.EINTR, SHORT),
    "__read_chk": (errno.EIO, SHORT), "__pread_chk": (errno.EIO, SHORT),
    "write": (errno.ENOSPC, errno.EIO, errno.EINTR, SHORT), "pwrite": (errno.ENOSPC, errno.EINTR, SHORT),
    "writev": (errno.ENOSPC, errno.EINTR),
    "copy_file_range": (errno.ENOSPC, errno.EIO, errno.EXDEV, errno.ENOSYS, errno.EINTR, SHORT),
    "open": (errno.EMFILE, errno.EACCES, errno.EINTR), "openat": (errno.EMFILE, errno.EACCES),
    "mmap": (errno.ENOMEM,), "mprotect": (errno.ENOMEM,), "malloc": (errno.ENOMEM,),
    "strdup": (errno.ENOMEM,), "strndup": (errno.ENOMEM,), "realpath": (errno.EACCES,),
    "fallocate": (errno.ENOSPC, errno.EOPNOTSUPP, errno.EINTR), "fsync": (errno.EIO,),
    "rename": (errno.EACCES, errno.ENOSPC), "linkat": (errno.EACCES, errno.ENOSPC, errno.ENOENT),
    "mkdir": (errno.ENOSPC, errno.EACCES), "mkdtemp": (errno.ENOSPC,),
    "fork": (errno.EAGAIN, errno.ENOMEM), "execvp": (errno.ENOENT, errno.ENOMEM),
    "poll": (errno.EINTR, errno.ENOMEM), "pthread_create": (errno.EAGAIN,),
    "flock": (errno.ENOLCK, errno.EINTR), "close": (errno.EIO, errno.EINTR),
    "fchmod": (errno.EPERM,), "fchown": (errno.EPERM,), "memfd_create": (errno.ENOMEM,),
}
# What a fault in these leaves behind is left by the fault.
REMOVES = {"unlink", "rmdir"}


class Scenario:
    """A command, the files it starts from (name: content or path in data/), and what it writes."""

    def __init__(self, command, files, output=None, old=b"the old output\n", status=0, end=None, least=None):
        self.command, self.files, self.output, self.old, self.status = command, files, output, old, status
        self.end = end  # of a report that tells of the fault itself: whole when it ends so
        self.least, self.wanted = least, None  # what an output holds that tells itself what it lacks, else None


def page_without_code(content):
    """The page of --html but for machine code, where it says why that is missing: helpers that fail are no error."""
    found = re.search(rb'<script id="data" type="application/json">(.*?)</script>', content, re.S)
    data = json.loads(found[1])
    for file in data["files"]:
        if not file["code_problems"]:
            return None
        keys = list(file)
        for key in keys[keys.index("code"):]:  # what follows numbers its texts after those of the code
            del file[key]
    del data["strings"]
    return content[:found.start()], json.dumps(data), content[found.end():]


def text_without_code(text):
    """What --diff prints but for instructions, where it says how many of them are not shown, and why."""
    if not re.search(rb"^\(instructions of \d+ not shown: .+\)$", text, re.M):
        return None
    return re.sub(rb"; \d+ instructions? (removed|added)(, \d+ (removed|added))?|^  .*\n|^\(instructions of .*\n", b"", text, flags=re.M)


HOST = b"__attribute__((visibility(\"default\")))\nint __tvm_ffi_one(void *s, const void *a, int n, void *r)" \
       b"\n{\n\treturn 0;\n}\n"
KERNEL = b"__kernel void scale_kernel(__global float *b, __global float *a, float s, int n) {}\n"
MANIFEST = b"""[package]
name = "deploy"
root = "host"
[[module]]
id = "host"
kind = "host"
sources = ["host.c"]
imports = ["k"]
[[module]]
id = "k"
kind = "opencl"
data = "k.cl"
  [[module.function]]
  name = "scale_kernel"
  args = ["handle", "handle", "float32", "int32"]
  launch = ["blockIdx.x"]
"""
CASES = b"""[[case]]
run = "add"
args = [{ input = "16xf32=1" }, { input = "16xf32=2" }, { out = "16xf32" }]
expect = ["16xf32=3"]
"""
BLOB, LIBRARY = "formats/08_const_loader.blob", "formats/01_opencl_scale.so"
RUNS = "formats/14_llvm_noblob.so"

SCENARIOS = {
    "build": Scenario(["mpack", "build", "mpack.toml", "-o", "out.so"],
                      {"mpack.toml": MANIFEST, "host.c": HOST, "k.cl": KERNEL}, "out.so"),
    "build-object": Scenario(["mpack", "build", "in.blob", "-o", "out.o"], {"in.blob": BLOB}, "out.o"),
    "build-c": Scenario(["mpack", "build", "in.blob", "--via", "c", "-o", "out.so"], {"in.blob": BLOB},
                        "out.so"),
    "build-blob": Scenario(["mpack", "build", "mpack.toml", "--emit", "blob", "--fsync", "-o", "out.blob"],
                           {"mpack.toml": MANIFEST, "host.c": HOST, "k.cl": KERNEL}, "out.blob"),
    "check": Scenario(["mpack", "check", "mpack.toml"],
                      {"mpack.toml": MANIFEST, "host.c": HOST, "k.cl": KERNEL}),
    "init": Scenario(["mpack", "init", "k.cl"], {"k.cl": KERNEL}),
    "init-host": Scenario(["mpack", "init", "host.c"], {"host.c": HOST}),
    "init-cache": Scenario(["mpack", "init", "cache"], {"cache/one/kernel.cubin": "tilelang/kernel.cubin",
                                                        "cache/two/device_kernel.cu": "tilelang/device_kernel.cu"}),
    "edit": Scenario(["mpack", "edit", "in.so", "-o", "out.so", "--replace", "/0=k.cl"],
                     {"in.so": LIBRARY, "k.cl": KERNEL}, "out.so"),
    "edit-in-place": Scenario(["mpack", "edit", "out.so", "-o", "out.so", "--replace", "/0=k.cl"],
                              {"k.cl": KERNEL}, "out.so", LIBRARY),
    "build-fatbin": Scenario(["mpack", "build", "a.cubin", "b.cubin", "-o", "out.fatbin"],
                             {"a.cubin": "device/two.sm_75.cubin", "b.cubin": "device/two.sm_90.cubin"}, "out.fatbin"),
    "edit-image": Scenario(["mpack", "edit", "in.fatbin", "-o", "out.fatbin", "--replace", "file:0#sm_90=new.cubin"],
                           {"in.fatbin": "device/tiny.none.fatbin", "new.cubin": "device/two.sm_90.cubin"}, "out.fatbin"),
    "thin": Scenario(["mpack", "thin", "in.so", "-o", "out.so", "--keep", "sm_90"], {"in.so": "gpu/cuda.so"}, "out.so"),
    "thin-sycl": Scenario(["mpack", "thin", "in.so", "-o", "out.so", "--device-arch", "spir64_gen"],
                          {"in.so": "gpu/sycl.so"}, "out.so"),
    "unpack": Scenario(["mpack", "unpack", "in.so", "-o", "out"], {"in.so": LIBRARY}, "out", None),
    "list": Scenario(["minspect", "in.so"], {"in.so": LIBRARY}),
    "list-json": Scenario(["minspect", "--json", "in.so"], {"in.so": "formats/07_relax_opencl.so"}),
    "verify": Scenario(["minspect", "--verify", "in.so"], {"in.so": LIBRARY}),
    "functions": Scenario(["minspect", "--functions", "in.so"], {"in.so": RUNS}),
    "diff": Scenario(["minspect", "--diff", "a.so", "b.so"], {"a.so": LIBRARY, "b.so": RUNS}, status=1,
                     least=text_without_code),
    "extract": Scenario(["minspect", "--extract", "out", "in.so"], {"in.so": LIBRARY}, "out", None),
    "show": Scenario(["minspect", "--show", "/0", "--output", "out.cl", "in.so"], {"in.so": LIBRARY}, "out.cl"),
    "disasm": Scenario(["minspect", "--disasm=add", "in.so"], {"in.so": RUNS}),
    "html": Scenario(["minspect", "--html", "out.html", "in.so"], {"in.so": LIBRARY}, "out.html",
                     least=page_without_code),
    "sbom": Scenario(["minspect", "--sbom", "in.so"], {"in.so": LIBRARY}),
    # readers that try: a failure amid them is no answer
    "model": Scenario(["minspect", "in.so"], {"in.so": "formats/23_legacy_graph.so"}),
    "model-verify": Scenario(["minspect", "--verify", "in.so"], {"in.so": "formats/23_legacy_graph.so"}),
    "model-html": Scenario(["minspect", "--html", "out.html", "in.so"], {"in.so": "relax/gelu_opencl.so"}, "out.html",
                           least=page_without_code),
    "model-unpack": Scenario(["mpack", "unpack", "in.so", "-o", "out"], {"in.so": "formats/23_legacy_graph.so"}, "out",
                             None),
    "gpu-verify": Scenario(["minspect", "--verify", "in.so"], {"in.so": "gpu/cuda.so"}),
    "embedded": Scenario(["minspect", "--functions", "in.so"], {"in.so": "embedded/embedded.so"}),
    "baseline": Scenario(["minspect", "--baseline", "out.json", "--update-baseline", "in.so"],
                         {"in.so": "cuda/cubin/vadd_cuda.so"}, "out.json", "cuda/baseline.json"),
    "gpu-code": Scenario(["minspect", "--extract", "out", "in.so"], {"in.so": "gpu/hip-packed.so"}, "out", None),
    "cases": Scenario(["minspect", "--cases", "c.toml", "in.so", "--junit", "out.xml"],
                      {"c.toml": CASES, "in.so": RUNS}, "out.xml", end=b"</testsuites>\n"),
    "run": Scenario(["minspect", "--run", "add", "in.so", "--input", "16xf32=1", "--input", "16xf32=2",
                     "--out", "16xf32", "--expect", "16xf32=3", "--output", "@out.npy"], {"in.so": RUNS},
                    "out.npy"),
}


def content(source):
    if isinstance(source, bytes):
        return source
    with open(os.path.join(DATA, source), "rb") as file:
        return file.read()


def read(path):
    """The bytes of a file, without how long something took."""
    with open(path, "rb") as file:
        return re.sub(rb'(time|timestamp)="[^"]*"', b"", file.read()) if path.endswith(".xml") else file.read()


def digest(path):
    """What lies at a path: None, or a digest of a file or of a whole directory."""
    if not os.path.lexists(path):
        return None
    seen = hashlib.sha256()
    if os.path.isdir(path):
        for folder, dirs, names in os.walk(path):
            dirs.sort()
            for name in sorted(names):
                with open(os.path.join(folder, name), "rb") as file:
                    seen.update(os.path.relpath(os.path.join(folder, name), path).encode() + b"\0")
                    seen.update(hashlib.sha256(file.read()).digest())
    else:
        seen.update(read(path))
    return seen.hexdigest()


class Place:
    """A directory in which one command runs, with a directory for temporary files beside it."""

    def __init__(self, scenario, options):
        self.scenario, self.options = scenario, options
        self.root = tempfile.mkdtemp(prefix="faults-")
        self.work, self.temporary = os.path.join(self.root, "work"), os.path.join(self.root, "tmp")
        os.mkdir(self.work)
        os.mkdir(self.temporary)
        for name, source in scenario.files.items():
            os.makedirs(os.path.dirname(os.path.join(self.work, name)), exist_ok=True)
            with open(os.path.join(self.work, name), "wb") as file:
                file.write(content(source))
        if scenario.output and scenario.old is not None:
            with open(self.output(), "wb") as file:
                file.write(content(scenario.old))

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        shutil.rmtree(self.root, ignore_errors=True)

    def output(self):
        return os.path.join(self.work, self.scenario.output)

    def left_over(self):
        known = {name.split("/")[0] for name in self.scenario.files} | {self.scenario.output}
        return sorted(set(os.listdir(self.work)) - known) + os.listdir(self.temporary)

    def run(self, fault=None):
        """Returns status (negative: signal), standard output, standard error, the counts."""
        fd = os.memfd_create("faults", 0)
        os.ftruncate(fd, FUNCTIONS * ENTRY)
        os.set_inheritable(fd, True)
        env = dict(os.environ, LD_PRELOAD=self.options.inject, FAULT_FD=str(fd), TMPDIR=self.temporary,
                   LC_ALL="C.UTF-8")
        if fault:
            env["FAULT"] = "%s:%d:%d" % fault
        command = [os.path.join(self.options.bin, self.scenario.command[0])] + self.scenario.command[1:]
        try:
            done = subprocess.run(command, cwd=self.work, env=env, stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=LIMIT_S, pass_fds=[fd], check=False)
            status, out, err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            status, out, err = "no end within %d s" % LIMIT_S, b"", b""
        counts = {}
        with mmap.mmap(fd, FUNCTIONS * ENTRY) as page:
            for i in range(FUNCTIONS):
                name, calls = struct.unpack_from("24sQ", page, i * ENTRY)
                if name[0]:
                    counts[name.split(b"\0")[0].decode()] = calls
        os.close(fd)
        return status, out, err, counts


def why_wrong(scenario, place, fault, expected, got):
    """What is wrong about one run with a fault; None: nothing."""
    status, out, err = got
    want_out, want_digest, old_digest = expected
    killed = fault[2] == KILL and status == -signal.SIGKILL
    now = digest(place.output()) if scenario.output else None
    if scenario.least and not scenario.output and out != want_out and scenario.least(out) == scenario.wanted:
        out = want_out
    if scenario.least and scenario.output and status == 0 and now not in (old_digest, want_digest):
        if scenario.least(read(place.output())) == scenario.wanted:
            now = want_digest
    if not killed and status not in ALLOWED | {scenario.status}:
        return "exit status %s" % status
    tells = scenario.end and status not in (0, -signal.SIGKILL) and now != old_digest
    if tells and not read(place.output()).endswith(scenario.end):
        return "the report has no end"
    if scenario.output and now not in (old_digest, want_digest) and not tells:
        return "the output is neither the old one nor the new one"
    if killed and not (scenario.old is None and now == want_digest):  # a directory is not written twice
        status, out, err, _ = place.run()
        if status != scenario.status:
            return "the run after the killed one exits with %s: %s" % (status, err.decode(errors="replace"))
        if scenario.output and digest(place.output()) != want_digest:
            return "the run after the killed one writes something else"
    elif not killed and status == scenario.status:
        if scenario.output and now != want_digest:
            return "exit status %d, but the output is not what it should be" % status
        if out != want_out:
            return "exit status %d, but other text on standard output" % status
    elif not killed and not err.strip() and not tells:
        return "exit status %s without a word" % status
    left = place.left_over()
    # a process of its own removes what one that was killed, or refused the removal, had among temporary files
    patience = time.monotonic() + PATIENCE_S
    while left and time.monotonic() < patience:
        time.sleep(0.02)
        left = place.left_over()
    if left and fault[0] not in REMOVES:
        return "left behind: " + " ".join(left)
    return None


def try_fault(options, name, fault, expected):
    scenario = SCENARIOS[name]
    with Place(scenario, options) as place:
        status, out, err, _ = place.run(fault)
        wrong = why_wrong(scenario, place, fault, expected, (status, out, err))
        if wrong:
            return "%s: %s call %d, errno %d: %s\n      %s" % (
                name, fault[0], fault[1], fault[2], wrong, err.decode(errors="replace")[-300:].strip())
    return None


def faults_of(options, name, counts):
    every = [(function, n + 1, number) for function, calls in counts.items() if function != "any"
             for n in range(calls) for number in ERRNO.get(function, (errno.EIO,))]
    kills = [("any", n + 1, KILL) for n in range(counts["any"])]
    if options.all:
        return every + kills
    rng = random.Random("%s %s" % (options.seed, name))
    # functions that are called a thousand times are not to crowd out those that are called once
    by_function = {}
    for fault in every:
        by_function.setdefault(fault[0], []).append(fault)
    share = max(1, options.limit // (len(by_function) + 1))
    chosen = []
    for faults in by_function.values():
        chosen += rng.sample(faults, min(share, len(faults)))
    return chosen + rng.sample(kills, min(options.limit // 4, len(kills)))


def expect(options, name):
    scenario = SCENARIOS[name]
    with Place(scenario, options) as place:
        old = digest(place.output()) if scenario.output else None
        status, out, err, counts = place.run()
        if status != scenario.status or place.left_over():
            sys.exit("faults: %s does not work without faults: %s %s %s" %
                     (name, status, err.decode(), place.left_over()))
        if not counts.get("any"):
            sys.exit("faults: no call was counted: is the library loaded?")
        if scenario.least and scenario.output:
            scenario.wanted = scenario.least(read(place.output()).replace(b'"code_problems":[]', b'"code_problems":[""]'))
        elif scenario.least:
            scenario.wanted = scenario.least(out + b"(instructions of 1 not shown: a fault)\n")
        return (out, digest(place.output()) if scenario.output else None, old), counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--inject", required=True, help="inject.c, compiled")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--limit", type=int, default=150)
    parser.add_argument("--seed", default="1")
    parser.add_argument("scenario", nargs="*", choices=[[], *SCENARIOS], default=[])
    options = parser.parse_args()
    options.bin, options.inject = os.path.abspath(options.bin), os.path.abspath(options.inject)
    passed, failed = 0, 0
    for name in options.scenario or SCENARIOS:
        expected, counts = expect(options, name)
        faults = faults_of(options, name, counts)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            wrong = [w for w in pool.map(lambda f, n=name, e=expected: try_fault(options, n, f, e), faults) if w]
        for line in wrong:
            print("FAIL", line)
        print("%s %s: %d calls, %d faults, %d wrong" % (
            "FAIL" if wrong else "ok  ", name, counts["any"], len(faults), len(wrong)), flush=True)
        passed += len(faults) - len(wrong)
        failed += len(wrong)
    print("%d passed, %d failed, 0 skipped" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
