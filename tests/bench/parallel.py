# SPDX-License-Identifier: Apache-2.0
"""Parallel loops: one thread, ours and TVM's, by threads 1, 2 and 4, for loops of 5 us to 5 ms, on the machine as it is and
beside two busy processes. A hundred runs of each, a process each, in turns (native/parallel_loop.c): median and worst.

What is to be met: on an idle machine with two cores or more, loops of 5 us and longer take at most as long as TVM's (a fiftieth
is noise), and less than one thread, in the median; beside busy processes at most a tenth more than one thread.
"""
import os
import subprocess
import sys

LENGTHS = ("5", "50", "500", "5000")  # microseconds
THREADS = (1, 2, 4)
MILLISECONDS = "25"
RUNS = 100


def libraries(root):
    """(libtvm_ffi.so, libtvm_runtime.so) of the environment of make interop, or ("-", "-")"""
    python = os.environ.get("INTEROP_PYTHON") or str(root / "out/venv/bin/python")
    where = "import tvm_ffi.libinfo as f, tvm, pathlib; print(f.find_libtvm_ffi()); " \
            "print(next(pathlib.Path(tvm.__file__).parent.rglob('libtvm_runtime.so')))"
    if os.access(python, os.X_OK):
        done = subprocess.run([python, "-c", where], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.split()
    print("SKIP: parallel: no virtual environment with TVM; run make interop once: without TVM", flush=True)
    return "-", "-"


def put(b, condition, threads, line):
    us, *figures = line.split()
    names = ("one", "one_worst", "ours", "ours_worst", "tvm", "tvm_worst")
    row = {name: float(f) * 1e-9 for name, f in zip(names, figures)}
    busy = condition != "idle"
    limit = 1.1 * row["one"]
    if not busy and threads > 1 and os.cpu_count() > 1:
        limit = min(row["one"], 1.02 * row.get("tvm", row["one"]))
    met = row["ours"] <= limit
    row.update(group="parallel", what=f"loops of {us} us, {threads} threads, {condition}", met=met, limit=limit)
    b.rows.append(row)
    cells = [f"{row[n] * 1e6:>9.1f}" if n in row else f"{'-':>9}" for n in names]
    print(f"{row['what']:<42}" + " ".join(cells) + f"  {'met' if met else 'MISSED'}", flush=True)


def parallel(b, root):
    program = b.bin.parent / "tests" / "bench" / "native" / "parallel_loop"
    tvm = libraries(root)
    runs = int(os.environ.get("BENCH_PARALLEL_RUNS", RUNS))
    print(f"{'us a loop, median and worst of ' + str(runs) + ' runs':<42}" +
          " ".join(f"{n:>9}" for n in ("1 thread", "worst", "ours", "worst", "TVM", "worst")))
    for condition, busy in (("idle", 0), ("beside 2 busy", 2)):
        others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
        try:
            for threads in THREADS:
                done = subprocess.run([program, str(threads), str(runs), MILLISECONDS, *tvm, *LENGTHS],
                                      capture_output=True, text=True)
                if done.returncode:
                    raise RuntimeError(f"parallel_loop: {done.stderr.strip()[-300:]}")
                for line in done.stdout.splitlines():
                    put(b, condition, threads, line)
        finally:
            for other in others:
                other.kill()
                other.wait()
