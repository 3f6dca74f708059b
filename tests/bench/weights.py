# SPDX-License-Identifier: Apache-2.0
"""A model with weights of BENCH_SIZE (1 GiB): what it takes to load it, and whose memory they are.

y = W @ x with one constant W, compiled by TVM once; run standalone under plain tvm-ffi, by this project's package, by TVM's
own runtime, by ONNX Runtime and by IREE, each in processes of their own. All of W is read by a call. Memory that nobody shares is
RssAnon; for eight processes at a time it is the sum of their proportional sizes (Pss), in which a page of all eight counts
once.
"""
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess

import peers

MIB = 1 << 20
PROCESSES = 8

MAKE = """
import sys
import numpy as np
from tvm import relax
from tvm.relax import op
sys.path.insert(0, sys.argv[3])
import mpk.tvm
out, n = sys.argv[1], int(sys.argv[2])
w = np.random.default_rng(0).standard_normal((n, n), dtype="float32")
b = relax.BlockBuilder()
x = relax.Var("x", relax.TensorType((n, 1), "float32"))
with b.function("forward", [x]):
    with b.dataflow():
        y = b.emit_output(op.matmul(relax.const(w), x))
    b.emit_func_output(y)
e = relax.build(b.get(), target="llvm")
e.export_library(out + "/weights.so", fcompile=mpk.tvm.fcompile, fpack_imports=mpk.tvm.fpack_imports)
np.save(out + "/rows.npy", w[::n // 8])
w.tofile(out + "/weights.bin")
"""

CONVERT = """
import sys
import onnx
from onnx import TensorProto, helper
out, n = sys.argv[1], int(sys.argv[2])
w = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[n, n], data_location=TensorProto.EXTERNAL)
for key, value in (("location", "weights.bin"), ("offset", "0"), ("length", str(4 * n * n))):
    w.external_data.add(key=key, value=value)
graph = helper.make_graph([helper.make_node("MatMul", ["w", "x"], ["y"])], "weights",
                          [helper.make_tensor_value_info("x", TensorProto.FLOAT, (n, 1))],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, (n, 1))], [w])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), out + "/weights.onnx")
import iree.compiler
import iree.runtime
import numpy as np
iree.runtime.save_archive_file({"w": np.memmap(out + "/weights.bin", "float32", "r", shape=(n, n))}, out + "/weights.irpa")
text = f'''
util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<{n}x{n}xf32>
func.func @forward(%x: tensor<{n}x1xf32>) -> tensor<{n}x1xf32> {{
  %zero = arith.constant 0.0 : f32
  %w = util.global.load @w : tensor<{n}x{n}xf32>
  %e = tensor.empty() : tensor<{n}x1xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{n}x1xf32>) -> tensor<{n}x1xf32>
  %y = linalg.matmul ins(%w, %x : tensor<{n}x{n}xf32>, tensor<{n}x1xf32>) outs(%f : tensor<{n}x1xf32>) -> tensor<{n}x1xf32>
  return %y : tensor<{n}x1xf32>
}}'''
iree.compiler.compile_str(text, target_backends=["llvm-cpu"], extra_args=["--iree-llvmcpu-target-cpu=host"],
                          output_file=out + "/weights.vmfb")
"""

HARNESS = """
import json, sys, time
import numpy as np
out, n = sys.argv[1], int(sys.argv[2])
stem = out + "/weights"
x = np.random.default_rng(1).standard_normal((n, 1)).astype("float32")
def field(path, name):
    return 1024 * next(int(line.split()[1]) for line in open("/proc/self/" + path) if line.startswith(name + ":"))
def imported():
    global start, base
    base = field("status", "RssAnon")
    start = time.perf_counter()
%s
loaded = time.perf_counter() - start
start = time.perf_counter()
result = call()
first = time.perf_counter() - start
start = time.perf_counter()
result = call()
again = time.perf_counter() - start
rows = np.load(out + "/rows.npy")
assert np.allclose(array(result)[::n // 8], rows @ x, rtol=1e-2, atol=1e-2)
print(json.dumps([loaded, first, again, field("status", "RssAnon") - base]), flush=True)
sys.stdin.readline()
print(field("smaps_rollup", "Pss"), flush=True)
sys.stdin.readline()
"""


def available():
    """Bytes of memory that nobody has to give up."""
    return 1024 * next(int(line.split()[1]) for line in open("/proc/meminfo", encoding="ascii") if line.startswith("MemAvailable"))


def together(python, text, folder, n, count):
    """(figures of each of count processes, what all of them take at a time)"""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "TVM_NUM_THREADS": "1"}
    made = [subprocess.Popen([python, "-c", HARNESS % text, str(folder), str(n)], env=env, text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(count)]

    def answers():
        """One line of each, when all have gone on."""
        lines = [p.stdout.readline() for p in made]
        if not all(lines):
            raise RuntimeError("a process with the weights failed")
        for p in made:
            p.stdin.write("\n")
            p.stdin.flush()
        return [json.loads(line) for line in lines]

    try:
        figures = answers()
        return figures, sum(answers())
    finally:
        for p in made:
            p.communicate()


def weights(b, root):
    """Load, first call, a call; memory of one process and of eight."""
    tvm = os.environ.get("INTEROP_PYTHON") or str(root / "out/venv/bin/python")
    n = math.isqrt(b.size // 4)
    folder = pathlib.Path(b.path("weights"))
    folder.mkdir(exist_ok=True)
    other, missing = peers.environment(root)
    if not os.access(tvm, os.X_OK):
        missing = "no virtual environment with TVM; run make interop once"
    shutil.copytree(root / "lib/python/mpk", folder / "mpk", dirs_exist_ok=True)
    shutil.copy(pathlib.Path(b.bin).parent / "python/_core.abi3.so", folder / "mpk")
    (folder / "mpk/programs").symlink_to(pathlib.Path(b.bin).parent.resolve())
    for python, text in ((tvm, MAKE), (other, CONVERT)):
        if not missing:
            _, missing = peers.run(python, "-c", text, folder, n, folder)
    if not missing:
        _, missing = peers.run(pathlib.Path(b.bin) / "mpack", "build", folder / "weights.so", "--standalone", "-o", folder / "standalone.so")
    if missing:
        print(f"SKIP: weights: {missing}", flush=True)
        return
    print(f"{f'{b.size / MIB:.0f} MiB of weights':<30} {'load':>9} {'first':>9} {'a call':>9} {'own memory':>12} {'eight together':>16}")
    for what, text in peers.RUN.items():
        python = tvm if what.startswith("TVM") else other
        rounds = [together(python, text, folder, n, 1)[0][0] for _ in range(3)]
        row = dict(zip(("load", "first", "call", "anonymous"), map(statistics.median, zip(*rounds))))
        row.update(group="weights", what=what, together=None)
        # a copy in each, and one more while it is made
        if PROCESSES * 2 * row["anonymous"] < available():
            row["together"] = together(python, text, folder, n, PROCESSES)[1]
        b.rows.append(row)
        shared = f"{row['together'] / MIB:>12.1f} MiB" if row["together"] else "no room"
        print(f"{what:<30} {row['load'] * 1e3:>6.1f} ms {row['first'] * 1e3:>6.0f} ms {row['call'] * 1e3:>6.0f} ms "
              f"{row['anonymous'] / MIB:>8.1f} MiB {shared:>16}", flush=True)
