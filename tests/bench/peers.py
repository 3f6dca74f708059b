# SPDX-License-Identifier: Apache-2.0
"""One network, by whoever runs networks from Python: what is shipped, import, load, first call, a call, memory.

An MLP (32, 64, 10, batch of 4) with the same weights: standalone by mpack under plain tvm-ffi, in this project's package,
under TVM, under ONNX Runtime, and under IREE. Every row is the median of five processes of its own. Beside TVM's environment
(make interop) it takes out/venv-peers, which the package index fills: tvm-ffi, ONNX Runtime, IREE, their compilers.
"""
import json
import os
import pathlib
import shutil
import statistics
import subprocess

MIB = 1 << 20
WHEELS = ["numpy", "apache-tvm-ffi==0.1.15.post2", "onnxruntime", "onnx", "iree-base-runtime", "iree-base-compiler"]
FIGURES = ("import", "load", "first", "call", "resident")

MAKE = """
import sys
import numpy as np
from tvm import relax
from tvm.relax import op
out = sys.argv[1]
r = np.random.default_rng(0)
w = [(r.standard_normal(s) * 0.1).astype("float32") for s in ((32, 64), (64,), (64, 10), (10,))]
np.savez(out + "/weights.npz", *w)
b = relax.BlockBuilder()
x = relax.Var("x", relax.TensorType((4, 32), "float32"))
c = [relax.const(a) for a in w]
with b.function("forward", [x]):
    with b.dataflow():
        h = b.emit(op.nn.relu(b.emit(op.add(b.emit(op.matmul(x, c[0])), c[1]))))
        y = b.emit_output(op.add(b.emit(op.matmul(h, c[2])), c[3]))
    b.emit_func_output(y)
e = relax.build(b.get(), target="llvm")
e.export_library(out + "/mlp.so")
e.export_library(out + "/mlp.tar")
"""

CONVERT = """
import sys
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
out = sys.argv[1]
w = [a for _, a in np.load(out + "/weights.npz").items()]
names = ["w1", "b1", "w2", "b2"]
steps = [("MatMul", ["x", "w1"], "m1"), ("Add", ["m1", "b1"], "a1"), ("Relu", ["a1"], "r1"), ("MatMul", ["r1", "w2"], "m2"),
         ("Add", ["m2", "b2"], "y")]
graph = helper.make_graph([helper.make_node(o, i, [n]) for o, i, n in steps], "mlp",
                          [helper.make_tensor_value_info("x", TensorProto.FLOAT, (4, 32))],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, (4, 10))],
                          [numpy_helper.from_array(a, n) for a, n in zip(w, names)])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), out + "/mlp.onnx")
import iree.compiler
def dense(a):
    return f'dense<"0x{a.tobytes().hex().upper()}"> : tensor<{"x".join(map(str, a.shape))}xf32>'
def layer(i, x, rows, a, b, relu):
    n, m = a.shape
    act = "%q = arith.maximumf %p, %zero : f32\\n    linalg.yield %q : f32" if relu else "linalg.yield %p : f32"
    return f'''
  %w{i} = arith.constant {dense(a)}
  %b{i} = arith.constant {dense(b)}
  %e{i} = tensor.empty() : tensor<{rows}x{m}xf32>
  %f{i} = linalg.fill ins(%zero : f32) outs(%e{i} : tensor<{rows}x{m}xf32>) -> tensor<{rows}x{m}xf32>
  %m{i} = linalg.matmul ins({x}, %w{i} : tensor<{rows}x{n}xf32>, tensor<{n}x{m}xf32>) outs(%f{i} : tensor<{rows}x{m}xf32>) -> tensor<{rows}x{m}xf32>
  %r{i} = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
    ins(%m{i}, %b{i} : tensor<{rows}x{m}xf32>, tensor<{m}xf32>) outs(%e{i} : tensor<{rows}x{m}xf32>) {{
    ^bb0(%s: f32, %t: f32, %o: f32):
    %p = arith.addf %s, %t : f32
    {act}
    }} -> tensor<{rows}x{m}xf32>'''
text = "func.func @forward(%x: tensor<4x32xf32>) -> tensor<4x10xf32> {\\n  %zero = arith.constant 0.0 : f32" \\
    + layer(0, "%x", 4, w[0], w[1], True) + layer(1, "%r0", 4, w[2], w[3], False) + "\\n  return %r1 : tensor<4x10xf32>\\n}"
iree.compiler.compile_str(text, target_backends=["llvm-cpu"], extra_args=["--iree-llvmcpu-target-cpu=host"],
                          output_file=out + "/mlp.vmfb")
"""

# Each gives call(), whose result array() makes one of NumPy. The model is in files that begin with stem; imported() comes
# between what is loaded of the peer and what of the model.
RUN = {
    "mpack --standalone, tvm-ffi": """
import tvm_ffi
imported()
f = tvm_ffi.load_module(out + "/standalone.so")["forward"]
t = tvm_ffi.from_dlpack(x)
call = lambda: f(t)
array = np.from_dlpack
""",
    "mpk, this project's package": """
sys.path.insert(0, out)
import mpk
imported()
f = mpk.open(stem + ".so").forward
call = lambda: f(x)
array = lambda r: r
""",
    "TVM 0.27": """
import tvm
from tvm import relax
imported()
f = relax.VirtualMachine(tvm.runtime.load_module(stem + ".so"), tvm.cpu())["forward"]
t = tvm.runtime.tensor(x)
call = lambda: f(t)
array = lambda r: r.numpy()
""",
    "ONNX Runtime": """
import onnxruntime
imported()
s = onnxruntime.InferenceSession(stem + ".onnx", providers=["CPUExecutionProvider"])
call = lambda: s.run(None, {"x": x})
array = lambda r: r[0]
""",
    "IREE": """
import os.path
import iree.runtime as rt
imported()
c = rt.SystemContext(config=rt.Config("local-sync"))
if os.path.exists(stem + ".irpa"):
    weights = rt.ParameterIndex()
    weights.load(stem + ".irpa")
    c.add_vm_module(rt.create_io_parameters_module(c.instance, weights.create_provider(scope="model")))
c.add_vm_module(rt.VmModule.mmap(c.instance, stem + ".vmfb"))
f = c.modules.module["forward"]
call = lambda: f(x)
array = lambda r: r.to_host()
""",
}

HARNESS = """
import json, statistics, sys, time
import numpy as np
out = sys.argv[1]
stem = out + "/mlp"
w = [a for _, a in np.load(out + "/weights.npz").items()]
x = np.random.default_rng(1).standard_normal((4, 32)).astype("float32")
base = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS"))
start = time.perf_counter()
def imported():
    global start, took
    took = time.perf_counter() - start
    start = time.perf_counter()
%s
loaded = time.perf_counter() - start
start = time.perf_counter()
result = call()
first = time.perf_counter() - start
wanted = np.maximum(x @ w[0] + w[1], 0) @ w[2] + w[3]
assert np.allclose(array(result), wanted, rtol=1e-4, atol=1e-4)
times = []
for _ in range(20):
    start = time.perf_counter()
    for _ in range(500):
        call()
    times.append((time.perf_counter() - start) / 500)
resident = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS")) - base
print(json.dumps([took, loaded, first, min(times), resident * 1024]))
"""


def run(*command):
    """(what it printed, None) or (None, why not)"""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    if done.returncode == 0:
        return done.stdout, None
    return None, (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]


def environment(root):
    """The Python of out/venv-peers; (None, why not)"""
    given = os.environ.get("PEERS_PYTHON")
    if given:
        return given, None
    venv = root / "out" / "venv-peers"
    if not (venv / "ready").exists():
        _, why = run("python3", "-m", "venv", venv)
        if not why:
            _, why = run(venv / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", *WHEELS)
        if why:
            return None, f"the peers could not be installed from the package index: {why}"
        (venv / "ready").touch()
    return str(venv / "bin" / "python"), None


def shipped(python, what, folder):
    """Bytes of what a machine needs beside Python and NumPy: packages as they are installed, and the model."""
    packages = {"mpack --standalone, tvm-ffi": ["tvm_ffi"], "TVM 0.27": ["tvm", "tvm_ffi"], "ONNX Runtime": ["onnxruntime"],
                "IREE": ["iree/runtime", "iree/_runtime_libs"]}.get(what)
    files = {"mpack --standalone, tvm-ffi": "standalone.so", "ONNX Runtime": "mlp.onnx", "IREE": "mlp.vmfb"}
    total = (pathlib.Path(folder) / files.get(what, "mlp.so")).stat().st_size
    if packages is None:
        places = [pathlib.Path(folder) / "mpk"]
    else:
        site = run(python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])")[0].strip()
        places = [pathlib.Path(site) / p for p in packages]
    return total + sum(f.stat().st_size for place in places for f in place.rglob("*")
                       if f.is_file() and f.suffix != ".pyc")


def peers(b, root):
    """Rows of FIGURES for each of RUN."""
    tvm = os.environ.get("INTEROP_PYTHON") or str(root / "out/venv/bin/python")
    folder = pathlib.Path(b.path("peers"))
    folder.mkdir(exist_ok=True)
    other, missing = environment(root)
    if not os.access(tvm, os.X_OK):
        missing = "no virtual environment with TVM; run make interop once"
    for python, text in ((tvm, MAKE), (other, CONVERT)):
        if not missing:
            _, missing = run(python, "-c", text, folder)
    if not missing:
        _, missing = run(pathlib.Path(b.bin) / "mpack", "build", folder / "mlp.tar", "--standalone", "-o", folder / "standalone.so")
    if missing:
        print(f"SKIP: peers: {missing}", flush=True)
        return
    shutil.copytree(root / "lib/python/mpk", folder / "mpk", dirs_exist_ok=True)
    shutil.copy(pathlib.Path(b.bin).parent / "python/_core.abi3.so", folder / "mpk")
    print(f"{'an MLP from Python':<30} {'shipped':>10} {'import':>9} {'load':>9} {'first':>9} {'a call':>9} {'memory':>9}")
    for what, text in RUN.items():
        python = tvm if what.startswith("TVM") else other
        rounds = []
        for _ in range(5):
            told, why = run(python, "-c", HARNESS % text, folder)
            if why:
                raise RuntimeError(f"{what}: {why}")
            rounds.append(json.loads(told))
        row = dict(zip(FIGURES, map(statistics.median, zip(*rounds))))
        row.update(group="peers", what=what, bytes=shipped(python, what, folder))
        b.rows.append(row)
        print(f"{what:<30} {row['bytes'] / MIB:>6.1f} MiB {row['import'] * 1e3:>6.0f} ms {row['load'] * 1e3:>6.2f} ms "
              f"{row['first'] * 1e3:>6.2f} ms {row['call'] * 1e6:>6.2f} us {row['resident'] / MIB:>5.1f} MiB", flush=True)
