# SPDX-License-Identifier: Apache-2.0
"""Models that carry their executor, under plain tvm-ffi: fixtures of TVM 0.18 and 0.27, and a fresh export, with and
without the real TVM in the process, in either order."""
import subprocess
import sys
import textwrap

import pytest

from conftest import DATA, ROOT

PRELUDE = """
import sys
import numpy as np
import tvm_ffi
library, data = sys.argv[1:3]
load = lambda name: np.load(data + "/" + name + ".npy")
m = tvm_ffi.load_module(library)

def call(name, *args):
    r = m[name](*map(tvm_ffi.from_dlpack, args))
    return [np.from_dlpack(r)] if hasattr(r, "__dlpack__") else [np.from_dlpack(i) for i in r]

def raises(kind, text, name, *args):
    try:
        m[name](*args)
    except Exception as e:
        assert type(e) is kind and text in str(e), (type(e), str(e))
    else:
        raise AssertionError("no error: " + text)
"""

RELAX = """
for given, wanted in zip(call("forward", load("{0}.in0")), [load("{0}.out%d" % i) for i in range({1})]):
    assert given.dtype == wanted.dtype and np.allclose(given, wanted, rtol=1e-5, atol=1e-6)
    assert not given.ctypes.data % 64
"""

LEGACY = """
for given, wanted in zip(call("{0}", load("mlp.data"), load("mlp.extra")), (load("mlp_llvm.out0"), load("mlp_llvm.out1"))):
    assert np.allclose(given, wanted, rtol=1e-5, atol=1e-6)
"""

CASES = {
    "relax/gelu.so": RELAX.format("gelu", 1),
    "relax/gelu_dyn.so": RELAX.format("gelu_dyn", 1),
    "relax/embed_dyn.so": RELAX.format("embed_dyn", 1),
    "relax/twoout_dyn.so": RELAX.format("twoout_dyn", 2),
    "relax/gelu_opencl.so": RELAX.format("gelu_opencl", 1),
    "legacy/mlp_llvm.so": LEGACY.format("default"),
    "legacy/mlp_vm.so": LEGACY.format("main"),
    "legacy/mlp_aot.so": LEGACY.format("default"),
    "legacy/mlp_opencl.so": LEGACY.format("default"),
}

KINDS = """
x = tvm_ffi.from_dlpack(load("gelu.in0"))
raises(ValueError, "takes float32[4, 24], not float32[3, 3]", "forward", np.zeros((3, 3), np.float32))
raises(ValueError, "not float64[4, 24]", "forward", np.zeros((4, 24)))
raises(TypeError, "0 inputs for 1", "forward")
raises(TypeError, "2 inputs for 1", "forward", x, x)
for wrong in (5, "x", None, 1.5, tvm_ffi.Shape((2, 3))):
    raises(TypeError, "input 0 takes a tensor", "forward", wrong)
assert m.get_function_doc("forward") == "forward(x: f32[4, 24]) -> (f32[4, 24])"
assert "DLTensor*" in str(m.get_function_metadata("forward"))
kept = m["forward"](x)
del m
wanted = load("gelu.out0")
assert np.allclose(np.from_dlpack(kept), wanted, rtol=1e-5, atol=1e-6)
"""

# A caller's allocator, as PyTorch sets one: results are made by it, and given back to it.
ALLOCATOR = """
import ctypes as c
import gc

class Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device", c.c_int32 * 2), ("ndim", c.c_int32), ("code", c.c_uint8),
                ("bits", c.c_uint8), ("lanes", c.c_uint16), ("shape", c.POINTER(c.c_int64)),
                ("strides", c.POINTER(c.c_int64)), ("byte_offset", c.c_uint64)]

class Managed(c.Structure):
    _fields_ = [("version", c.c_uint32 * 2), ("ctx", c.c_void_p), ("deleter", c.c_void_p), ("flags", c.c_uint64),
                ("tensor", Tensor)]

kept, alive = [], [0]

@c.CFUNCTYPE(None, c.c_void_p)
def delete(_):
    alive[0] -= 1

@c.CFUNCTYPE(c.c_int, c.POINTER(Tensor), c.POINTER(c.c_void_p), c.c_void_p, c.c_void_p)
def allocate(like, out, *_):
    t = like.contents
    extents = t.shape[:t.ndim]
    memory = (c.c_char * (int(np.prod(extents)) * t.bits // 8 + 64))()
    shape, strides = (c.c_int64 * t.ndim)(*extents), (c.c_int64 * t.ndim)()
    step = 1
    for i in reversed(range(t.ndim)):
        strides[i] = step
        step *= extents[i]
    made = Managed((1, 0), None, c.cast(delete, c.c_void_p), 0,
                   Tensor((c.addressof(memory) + 63) // 64 * 64, (1, 0), t.ndim, t.code, t.bits, 1, shape, strides, 0))
    kept.append((made, memory, shape, strides))
    alive[0] += 1
    out[0] = c.addressof(made)
    return 0

before = c.c_void_p()
assert c.CDLL("libtvm_ffi.so").TVMFFIEnvSetDLPackManagedTensorAllocator(allocate, 0, c.byref(before)) == 0
[result] = call("forward", load("gelu.in0"))
assert alive == [1] and np.allclose(result, load("gelu.out0"), rtol=1e-5, atol=1e-6)
assert result.ctypes.data == kept[0][0].tensor.data
del result
gc.collect()
assert alive == [0]
"""

# PyTorch's tensors are taken as they are, also strided ones, and results are tensors of its allocator.
TORCH = """
import torch
x, wanted = (torch.from_numpy(load("gelu." + name)) for name in ("in0", "out0"))
results = [m["forward"](x) for _ in range(3)]
results += [m["forward"](x.T.contiguous().T), m["forward"](x.clone().requires_grad_())]
results[0].add_(1)
assert type(results[0]) is torch.Tensor and torch.equal(results[0] - 1, (wanted + 1) - 1)
assert all(torch.equal(y, wanted) for y in results[1:])
raises(ValueError, "takes float32[4, 24], not float32[3, 3]", "forward", torch.zeros(3, 3))
raises(ValueError, "not float64[4, 24]", "forward", torch.zeros(4, 24, dtype=torch.float64))
"""

TVM = """
from tvm import relax
model = relax.VirtualMachine(tvm.runtime.load_module(data + "/gelu.so"), tvm.cpu())["forward"]
x = tvm.runtime.tensor(load("gelu.in0"))
for _ in range(20):
    assert np.array_equal(model(x).numpy(), np.from_dlpack(m["forward"](x)))
"""

# Weights that TVM leaves unaligned are used where they lie: 64 MiB of them cost the process less than one.
WEIGHTS = """
import tvm
from tvm import relax
from tvm.script import relax as R
bb = relax.BlockBuilder()
x = relax.Var("x", R.Tensor((1, 4096), "float32"))
w = np.random.default_rng(5).standard_normal((4096, 4096)).astype("float32")
with bb.function("forward", [x]):
    with bb.dataflow():
        y = bb.emit(relax.op.matmul(x, relax.const(w)))
        out = bb.emit_output(relax.op.multiply(y, relax.const(np.float32(2))))
    bb.emit_func_output(out)
tvm.compile(bb.get(), target="llvm").export_library(sys.argv[1])
np.save(sys.argv[2], np.ones((1, 4096), "float32") @ w * 2)
"""

ANONYMOUS = """
def anonymous():
    with open("/proc/self/smaps_rollup") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("Anonymous:"))
x = np.ones((1, 4096), np.float32)
before = anonymous()
m = tvm_ffi.load_module(library)
result = m["forward"](tvm_ffi.from_dlpack(x))
grown = anonymous() - before
assert grown < 1024, grown
assert np.allclose(np.from_dlpack(result), np.load(data), rtol=1e-3, atol=1e-2)
"""


def python(code, *args):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code), *map(str, args)], capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.fixture(name="carry")
def carry_library(mpack, tmp_path):
    def carry(library):
        out = tmp_path / "carried.so"
        mpack("build", library, "--standalone", "-o", out)
        return out
    return carry


@pytest.mark.parametrize("library", CASES)
def test_fixtures(carry, library):
    python(PRELUDE + CASES[library], carry(DATA / library), (DATA / library).parent)


def test_kinds_of_errors_and_what_is_told(carry):
    python(PRELUDE + KINDS, carry(DATA / "relax/gelu.so"), DATA / "relax")


def test_results_are_made_by_the_callers_allocator(carry):
    python(PRELUDE + ALLOCATOR, carry(DATA / "relax/gelu.so"), DATA / "relax")


def test_tensors_of_pytorch(carry):
    pytest.importorskip("torch", reason="needs PyTorch")
    python(PRELUDE + TORCH, carry(DATA / "relax/gelu.so"), DATA / "relax")


@pytest.mark.parametrize("order", ("import tvm\n" + PRELUDE + TVM, PRELUDE + "call('forward', load('gelu.in0'))\nimport tvm\n" + TVM),
                         ids=("tvm first", "tvm last"))
def test_beside_tvm(carry, order):
    python(order, carry(DATA / "relax/gelu.so"), DATA / "relax")


def test_weights_stay_in_the_file(carry, tmp_path):
    python(WEIGHTS_PRELUDE + WEIGHTS, tmp_path / "model.so", tmp_path / "wanted.npy")
    python(PRELUDE + ANONYMOUS, carry(tmp_path / "model.so"), tmp_path / "wanted.npy")


def test_objects_are_linked_in(carry, minspect, tmp_path):
    python(WEIGHTS_PRELUDE + WEIGHTS, tmp_path / "model.tar", tmp_path / "wanted.npy")
    library = carry(tmp_path / "model.tar")
    assert "with the host code linked in" in minspect(library).stdout
    python(PRELUDE + ANONYMOUS, library, tmp_path / "wanted.npy")


# Programs with branches, shapes and several kernels, whose names the host code has as well; both ways of TVM to compile
# them, in one process with TVM, which gives what is wanted.
LINKED = """
import sys
sys.path.insert(0, sys.argv[2])
import subprocess
import numpy as np
import relaxlib
import relaxrandom
import relaxrun
import tvm_ffi
from tvm import relax

folder, mode = sys.argv[1], sys.argv[3]
programs = [relaxrandom.Program(seed) for seed in range(7001, 7006)]
module = relaxlib.parse(relaxrandom.source(programs))
machine = relaxrun.build(module, folder + "/model.so", mode)
relax.build(module, target="llvm", exec_mode=mode).export_library(folder + "/model.tar")
subprocess.run(["mpack", "build", folder + "/model.tar", "--standalone", "-o", folder + "/linked.so"], check=True)
said = subprocess.run(["minspect", folder + "/linked.so"], check=True, capture_output=True, text=True).stdout
assert "with the host code linked in" in said, said
m = tvm_ffi.load_module(folder + "/linked.so")

def give(value):
    if isinstance(value, relaxrun.Shape):
        return [tvm_ffi.Shape(value)]
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in give(item)]
    return [tvm_ffi.from_dlpack(value) if isinstance(value, np.ndarray) else value]

def take(value):
    if hasattr(value, "__dlpack__"):
        return [np.from_dlpack(value)]
    if isinstance(value, (int, float)) or type(value).__name__ == "Shape":
        return [value]
    return [leaf for item in value for leaf in take(item)]

for program in programs:
    for n, k in ((3, 2), (1, 4)):
        inputs = program.inputs(n, k)
        wanted = relaxrun.leaves(machine[program.main.name](*[relaxrun.to_tvm(x) for x in inputs]))
        given = m[program.main.name](*[leaf for x in inputs for leaf in give(x)])
        given = take(given)
        assert len(given) == len(wanted), (given, wanted)
        for a, b in zip(given, wanted):
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes(), (program.main.name, a, b)
"""


@pytest.mark.parametrize("mode", ("bytecode", "compiled"))
def test_random_programs_are_linked_in(mode, tmp_path):
    python(LINKED, tmp_path, ROOT / "tests" / "interop", mode)


@pytest.mark.parametrize("mode", ("bytecode", "compiled"))
def test_devices_are_linked_in(carry, minspect, mode, tmp_path):
    import test_relax_devices as devices  # pylint: disable=import-outside-toplevel

    devices.compiled("device_first", mode, tmp_path / "model.tar")
    library = carry(tmp_path / "model.tar")
    said = minspect(library).stdout
    assert "with the host code linked in" in said and "opencl" in said
    python(PRELUDE + """
x, y = np.array([1, 2, 3, 4], "float32"), np.array([5, 6, 7, 8], "float32")
for _ in range(3):
    assert call("main", x, y)[0].tolist() == (2 * x * y).tolist()
    assert call("both", x)[0].tolist() == (2 * x * x).tolist()
""", library, tmp_path)


WEIGHTS_PRELUDE = "import sys\nimport numpy as np\n"
