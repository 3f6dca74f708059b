# SPDX-License-Identifier: Apache-2.0
"""Signatures that minspect reads from libraries are those that the compiler had."""
import json
import os
import random
import shutil
import subprocess

import pytest
import tvm
import tvm_ffi
from tvm.script import ir as I

try:
    from tvm.script import tirx as T
except ImportError:  # TVM 0.25 has it under its older name
    from tvm.script import tir as T

# of each random module
FUNCTIONS = int(os.environ.get("MPK_SIGNATURE_FUNCTIONS", "300"))
DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
          "float64", "bfloat16", "bool", "float8_e4m3fn", "float8_e5m2"]
# what the C code generator can spell
C_DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "bool"]
SCALARS = ["int32", "int64", "uint8", "float32", "float64", "bool"]
EXTENTS = ["n", "m", "n * 2", "n + m", "n // 2 + 1", "T.max(n, m)", "(n + 3) // 4 * 4"]
SIZES = {"n": 7, "m": 5}


class Function:
    """A PrimFunc with random parameters, and what minspect is to say of it."""

    def __init__(self, chance, name, dtypes):
        self.name, self.inputs = name, []
        self.lines, self.loads, self.arguments = [], [], []
        symbols = []
        for i in range(chance.randrange(1, 7)):
            if chance.random() < 0.25:
                self.scalar(f"s{i}", chance.choice(SCALARS))
            else:
                self.tensor(f"A{i}", chance.choice(dtypes), self.shape(chance, symbols))

    @staticmethod
    def shape(chance, symbols):
        shape = []
        for _ in range(chance.randrange(0, 5)):
            names = [name for name in SIZES if name not in symbols]
            if chance.random() < 0.5:
                shape.append(str(chance.randrange(1, 70)))
            elif names and chance.random() < 0.6:
                symbols.append(names[0])
                shape.append(names[0])
            else:  # names are bound before they are computed with
                known = [e for e in EXTENTS if all(s in symbols for s in SIZES if s in e.replace("T.max", ""))]
                shape.append(chance.choice(known) if known else "3")
        return shape

    def scalar(self, name, dtype):
        self.arguments.append(f"{name}: T.{dtype}")
        self.loads.append(f"T.evaluate({name})")
        self.inputs.append((name, "scalar", dtype, None))

    def tensor(self, name, dtype, shape):
        self.arguments.append(f"h{name}: T.handle")
        listed = ", ".join(shape) + ("," if len(shape) == 1 else "")
        self.lines.append(f'{name} = T.match_buffer(h{name}, ({listed}), "{dtype}")')
        self.loads.append(f"T.evaluate({name}[{', '.join('0' for _ in shape) or '()'}])")
        self.inputs.append((name, "tensor", dtype, shape))

    def source(self):
        sizes = [f"{name} = T.int64()" for name in SIZES if any(name in line for line in self.lines)]
        body = [f'T.func_attr({{"global_symbol": "{self.name}"}})', *sizes, *self.lines, *self.loads]
        head = f"    @T.prim_func\n    def {self.name}({', '.join(self.arguments)}):\n"
        return head + "".join(f"        {line}\n" for line in body)


def value(extent):
    """An extent as a number: two ways to write one are the same."""
    return eval(str(extent), {"T": __builtins__, "max": max, "min": min, **SIZES})  # pylint: disable=eval-used


def compile_all(functions, host):
    source = "@I.ir_module\nclass Module:\n" + "\n".join(f.source() for f in functions)
    module = tvm.script.from_source(source, {"I": I, "T": T})
    return tvm.compile(module, target=tvm.target.Target(host))


def told(minspect, library, *options):
    found = json.loads(minspect("--functions", "--json", *options, library).stdout)["files"][0]["functions"]
    return {function["name"]: function for function in found}


def compare(function, found):
    assert found["signature"], f"{function.name}: no signature"
    assert len(found["inputs"]) == len(function.inputs), found["signature"]
    for want, came in zip(function.inputs, found["inputs"]):
        name, kind, dtype, shape = want
        assert (came["name"], came["kind"], came["dtype"]) == (name, kind, dtype), (want, came)
        if shape is not None:
            assert [value(e) for e in came["shape"]] == [value(e.replace("T.", "")) for e in shape], (want, came)


@pytest.mark.parametrize("host, dtypes", [("llvm", DTYPES), ("c", C_DTYPES)])
@pytest.mark.parametrize("stripped", [False, True])
def test_prim_funcs(host, dtypes, stripped, minspect, tmp_path):
    """Several hundred functions: none is missing, none is wrong, and their order is that of their numbers."""
    chance = random.Random(f"{host} {stripped}")
    functions = [Function(chance, f"layer{i}", dtypes) for i in range(FUNCTIONS)]
    library = tmp_path / "library.so"
    compile_all(functions, host).export_library(str(library))
    if stripped:
        subprocess.run(["strip", library], check=True)
    found = told(minspect, library)
    for function in functions:
        compare(function, found[function.name])
    assert [name for name in found if name.startswith("layer")] == [f.name for f in functions]


def test_calls(minspect, tmp_path):
    """The call of each works as it is printed."""
    chance = random.Random(7)
    functions = [Function(chance, f"call{i}", [t for t in DTYPES if "float8" not in t]) for i in range(40)]
    library = tmp_path / "library.so"
    compile_all(functions, "llvm").export_library(str(library))
    for name, function in told(minspect, library).items():
        call = function["call"]
        assert "SHAPE" not in call and "EXTENT" not in call, call
        done = subprocess.run(["sh", "-c", call], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{name}: {call}\n{done.stderr}"


# --- tvm-ffi's exporter ---------------------------------------------------------------------------

CXX = r"""
#define TVM_FFI_DLL_EXPORT_INCLUDE_METADATA 1
#include <tvm/ffi/tvm_ffi.h>
namespace ffi = tvm::ffi;
static int64_t add_one(int64_t x) { return x + 1; }
static void vadd(ffi::TensorView a, ffi::TensorView b, ffi::TensorView c) {}
static double mix(double x, bool b, ffi::String s, ffi::Optional<ffi::Tensor> t, ffi::Array<int64_t> a,
                  ffi::Function f, ffi::Shape shape, ffi::Any any) { return x; }
static ffi::String greet() { return "hi"; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one, add_one);
TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(add_one, R"(Add one.

x : int
    a "number")");
TVM_FFI_DLL_EXPORT_TYPED_FUNC(vadd, vadd);
TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(vadd, "Add a and b into c.");
TVM_FFI_DLL_EXPORT_TYPED_FUNC(mix, mix);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(greet, greet);
TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(greet, "");
"""

TYPES = {
    "add_one": "add_one(int) -> (int)",
    "vadd": "vadd(tensor[...], tensor[...], tensor[...])",
    "mix": "mix(float, bool, str, Optional[ffi.Tensor], ffi.Array[int], function, shape[...], any value) -> (float)",
    "greet": "greet() -> (str)",
}


@pytest.mark.parametrize("compiler", ["g++", "clang++-19"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("stripped", [False, True])
def test_exporter(compiler, level, stripped, minspect, tmp_path):
    """Docs without running anything, metadata by asking: both as tvm-ffi itself has them."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    if not hasattr(tvm_ffi.Module, "get_function_metadata"):
        pytest.skip("this tvm-ffi has no metadata")
    package = os.path.dirname(tvm_ffi.__file__)
    source, library = tmp_path / "source.cc", tmp_path / "library.so"
    source.write_text(CXX)
    includes = [tvm_ffi.libinfo.find_include_path(), tvm_ffi.libinfo.find_dlpack_include_path()]
    subprocess.run([compiler, "-std=c++17", level, "-fPIC", "-shared", *(f"-I{path}" for path in includes),
                    source, "-o", library, f"-L{package}/lib", "-ltvm_ffi", f"-Wl,-rpath,{package}/lib"], check=True)
    if stripped:
        subprocess.run(["strip", library], check=True)
    module = tvm_ffi.load_module(str(library))
    for name, function in told(minspect, library).items():
        assert function.get("doc", "") == (module.get_function_doc(name) or ""), name
        assert function["signature"] is None
    for name, function in told(minspect, library, "--call-metadata").items():
        assert function.get("doc", "") == (module.get_function_doc(name) or ""), name
        assert module.get_function_metadata(name)
        assert function["signature"] == TYPES[name]
