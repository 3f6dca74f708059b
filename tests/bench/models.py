# SPDX-License-Identifier: Apache-2.0
"""Models: a step, loading and a cold run here and in TVM, both called from C in one harness.

The interpreter's overhead is what a step takes beyond its kernels, which are called bare, with the
step's own arguments, in the same run. A step is the median of many in one process; rounds take
turns with TVM's.
"""
import os
import pathlib
import statistics
import subprocess

MIB = 1 << 20
FIGURES = ("load", "load_kib", "first", "step", "bare", "kib")
# what, library, extents of the input, steps, lengths, goal as a ratio of whole steps; none where
# the kernels alone take longer than any goal
STEPS = (
    ("MLP", "mlp", "4 32", 20000, 1, 0.5),
    ("attention, width 32, length 7", "attention", "1 7 32", 10000, 1, 0.7),
    ("attention, width 64, length 7", "wide", "1 7 64", 3000, 1, None),
    ("CNN", "cnn", "1 3 16 16", 5000, 1, 0.92),
    ("MLP, width 8, batches of 1 to 100 in turn", "narrow", "n 8", 20000, 100, 0.6),
    ("attention, width 32, 16 lengths in turn", "attention", "1 n 32", 10000, 16, None),
    ("attention, width 32, 100 lengths in turn", "attention", "1 n 32", 10000, 100, None),
    ("MLP, compiled", "mlp-compiled", "4 32", 20000, 1, 0.8),
    ("attention, width 32, length 7, compiled", "attention-compiled", "1 7 32", 10000, 1, 0.9),
    ("CNN, compiled", "cnn-compiled", "1 3 16 16", 5000, 1, 1.0),
)


class Models:
    """The libraries, and the two programs that load and call them."""

    def __init__(self, b, root):
        native = b.bin.parent / "tests" / "bench" / "native"
        python = os.environ.get("INTEROP_PYTHON") or str(root / "out/venv/bin/python")
        self.b, self.python, self.missing = b, python, None
        self.ours = [native / "model_step"]
        where = "import tvm_ffi.libinfo as f, tvm, pathlib; print(f.find_libtvm_ffi()); " \
                "print(next(pathlib.Path(tvm.__file__).parent.rglob('libtvm_runtime.so')))"
        if not os.access(python, os.X_OK):
            self.missing = "no virtual environment with TVM; run make interop once"
            return
        self.missing = self.run([python, pathlib.Path(__file__).with_name("make_models.py"),
                                 b.folder, str(b.size)])[1]
        told, why = self.run([python, "-c", where])
        self.missing = self.missing or why
        self.theirs = [native / "tvm_step", *(told or "").split()]

    @staticmethod
    def run(command):
        """(what it printed, None) or (None, why not)"""
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout, None
        return None, (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]

    def step(self, program, name, extents, steps, lengths):
        told, why = self.run([*program, self.b.path(f"{name}.so"), "forward", str(steps),
                              str(lengths), *extents.split()])
        if told is None:
            raise RuntimeError(f"{name}: {why}")
        return dict(zip(FIGURES, map(float, told.split())))

    def both(self, name, extents, steps, lengths, rounds):
        """Medians of each figure over rounds, ours and TVM's."""
        got = [[self.step(program, name, extents, steps, lengths)
                for program in (self.ours, self.theirs)] for _ in range(rounds)]
        return [{key: statistics.median(r[side][key] for r in got) for key in FIGURES}
                for side in (0, 1)]


def show(b, what, ours, theirs, scale, unit, goal, met, note=""):
    """One line and one row; ours and theirs in seconds or bytes."""
    row = {"group": "models", "what": what, "ours": ours, "reference": theirs, "unit": unit,
           "goal": goal}
    ratio = ""
    if theirs:
        row["ratio"] = ours / theirs
        ratio = f"{row['ratio']:.2f}x"
    if met is not None:
        row["met"] = met
        goal = f"{'met' if met else 'MISSED'}: {goal}"
    b.rows.append(row)
    reference = f"{theirs * scale:>10.2f} {unit}" if theirs else ""
    print(f"{what:<46} {ours * scale:>10.2f} {unit} {reference} {ratio:>7}  {goal} {note}", flush=True)


def ratio_goal(limit):
    return f"{limit}x of TVM's" if limit else ""


def steps(b, m):
    for what, name, extents, count, lengths, limit in STEPS:
        ours, theirs = m.both(name, extents, count, lengths, b.runs)
        show(b, f"step, {what} | TVM", ours["step"], theirs["step"], 1e-3, "us", ratio_goal(limit),
             limit and ours["step"] <= limit * theirs["step"])
        if lengths > 1:
            show(b, "  resident after it", ours["kib"], theirs["kib"], 1 / 1024, "MiB", "", None)
        if not ours["bare"]: # kernels of compiled functions are not called one by one
            continue
        mine, its = ours["step"] - ours["bare"], theirs["step"] - ours["bare"]
        limit = 0.15 if name == "mlp" else None
        show(b, "  beyond its kernels", mine, its, 1e-3, "us", ratio_goal(limit),
             limit and mine <= limit * its, f"(kernels bare {ours['bare'] / 1e3:.2f} us)")


def large(b, m):
    """Loading a library of b.size constants, and the first call of it."""
    label = f"{b.size / MIB:.0f} MiB of constants"
    ours, theirs = m.both("large", "1024", 2, 1, 3)
    show(b, f"load, {label} | TVM", ours["load"], theirs["load"], 1e-6, "ms", "20 ms",
         ours["load"] <= 20e6)
    show(b, "  resident then", ours["load_kib"], theirs["load_kib"], 1 / 1024, "MiB", "64 MiB",
         ours["load_kib"] <= 64 * 1024)
    show(b, "  resident after its first call", ours["kib"], theirs["kib"], 1 / 1024, "MiB", "1.05x of the constants",
         ours["kib"] * 1024 <= 1.05 * b.size)
    command = ["cp", "--sparse=never", "--reflink=never", b.path("large.so"), b.path("copy.so")]
    copied, why = b.measure([command], [b.path("copy.so")])
    if why:
        raise RuntimeError(why)
    show(b, "  its first call beyond its kernels | cp of it", max(ours["first"] - ours["bare"], 0),
         copied[0][0] * 1e9, 1e-6, "ms", "1x", ours["first"] - ours["bare"] <= copied[0][0] * 1e9,
         f"(first {ours['first'] / 1e6:.0f} ms, TVM's {theirs['first'] / 1e6:.0f} ms)")


COLD_TVM = """
import sys, numpy, tvm
from tvm import relax
vm = relax.VirtualMachine(tvm.runtime.load_module(sys.argv[1]), tvm.cpu())
print(vm["forward"](tvm.runtime.tensor(numpy.zeros((4, 32), "float32"))).numpy().sum())
"""


def models(b, root):
    m = Models(b, root)
    if m.missing:
        row = {"group": "models", "what": "models", "missing": "TVM: " + m.missing}
        b.rows.append(row)
        b.show(row)
        return
    steps(b, m)
    large(b, m)
    b.row("models", "cold minspect --run forward | Python and TVM",
          ["minspect", "--run", "forward", b.path("mlp.so"), "--input", "4x32xf32=0"],
          [m.python, "-c", COLD_TVM, b.path("mlp.so")], "15 ms", ("wall", 0.015))
