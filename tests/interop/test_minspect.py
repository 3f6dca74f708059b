# SPDX-License-Identifier: Apache-2.0
"""minspect reads and runs what TVM exported."""
import json
import os
import pathlib

import numpy
import pytest
import tvm
import tvm_ffi
import tvmlib
from conftest import DATA
from tvm import te

FORMATS, RELAX, CUDA, LEGACY = (DATA / name for name in ("formats", "relax", "cuda", "legacy"))

KINDS = {
    FORMATS / "01_opencl_scale.so": ["_lib", "opencl"],
    FORMATS / "02_cuda_source_dynshmem.blob": ["_lib", "cuda"],
    FORMATS / "03_cuda_ptx.so": ["_lib", "cuda"],
    FORMATS / "04_metal.blob": ["_lib", "metal"],
    FORMATS / "05_webgpu.blob": ["_lib", "webgpu"],
    FORMATS / "06_relax_vm.so": ["relax.VMExecutable", "_lib"],
    FORMATS / "07_relax_opencl.so": ["relax.VMExecutable", "_lib", "opencl"],
    FORMATS / "08_const_loader.blob": ["const_loader", "_lib"],
    FORMATS / "12_syslib_prefix.tar": ["_lib", "opencl"],
    FORMATS / "13_chost_opencl.so": ["_lib", "opencl"],
    CUDA / "ptx" / "saxpy_cuda.so": ["_lib", "cuda"],
    CUDA / "fatbin" / "vadd_cuda.so": ["_lib", "cuda"],
    RELAX / "gelu_opencl.so": ["relax.VMExecutable", "_lib", "opencl"],
    FORMATS / "20_legacy_opencl.so": ["_lib", "opencl"],
    FORMATS / "23_legacy_graph.so": ["GraphExecutorFactory", "_lib"],
    FORMATS / "24_legacy_aot.so": ["AotExecutorFactory", "metadata_module", "_lib"],
    LEGACY / "mulsub_metal.so": ["_lib", "metal"],
    LEGACY / "mulsub_webgpu.so": ["_lib", "webgpu"],
    LEGACY / "mlp_vm.so": ["VMExecutable", "_lib"],
}


def kinds_in(text):
    """The kinds in the order of the printed tree or of the JSON document."""
    found = []

    def walk(value):
        if isinstance(value, dict):
            if isinstance(value.get("kind"), str) and "path" in value:
                found.append((value["path"], value["kind"]))
            for child in value.values():
                walk(child)
        elif isinstance(value, list):
            for child in value:
                walk(child)

    walk(json.loads(text))
    return [kind for _, kind in dict.fromkeys(found)]


@pytest.mark.parametrize("path", KINDS, ids=lambda p: p.name)
def test_kinds(path, minspect):
    assert kinds_in(minspect("--json", path).stdout) == KINDS[path]


def test_exported_function(minspect, tmp_path):
    """A host function that TVM compiled just now, called by minspect."""
    tvmlib.vadd("vadd", "llvm", 4).export_library(str(tmp_path / "vadd.so"))
    minspect("--run", "vadd", tmp_path / "vadd.so", "--input", "4xf32=1,2,3,4",
             "--input", "4xf32=10,20,30,40", "--out", "4xf32", "--expect", "4xf32=11,22,33,44")
    minspect("--run", "vadd", tmp_path / "vadd.so", "--input", "4xf32=1,2,3,4",
             "--input", "4xf32=10,20,30,40", "--out", "4xf32", "--expect", "4xf32=11,22,33,45",
             status=1)


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_exported_tar(target, minspect, tmp_path):
    """Objects, and C with TVM's headers, linked for the call."""
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: te.exp(a[i]) + 1.0, name="B")
    function = te.create_prim_func([a, b]).with_attr("global_symbol", "f")
    library = tmp_path / "f.tar"
    tvm.compile(tvm.IRModule({"f": function}), target=target).export_library(str(library))
    site = pathlib.Path(tvm_ffi.__file__).parents[1]
    headers = os.pathsep.join(str(site / name / "include") for name in ("tvm_ffi", "tvm"))
    done = minspect("--run", "f", library, "--input", "4xf32=0", "--out", "4xf32",
                    "--expect", "4xf32=2", env={**os.environ, "CPATH": headers})
    assert done.stdout == "4xf32=2 2 2 2\n"



def test_wrong_arguments_are_told_as_tvm_tells_them(minspect, tmp_path):
    tvmlib.vadd("vadd", "llvm", 4).export_library(str(tmp_path / "vadd.so"))
    said = minspect("--run", "vadd", tmp_path / "vadd.so", "--input", "3xf32=1,2,3",
                    "--input", "4xf32=1", "--out", "4xf32", status=8).stderr
    assert "shape" in said


def test_npy_files_are_numpys(minspect, tmp_path):
    """Inputs written and results read by numpy."""
    tvmlib.vadd("vadd", "llvm", 64).export_library(str(tmp_path / "vadd.so"))
    generator = numpy.random.default_rng(7)
    a, b = (generator.standard_normal(64, dtype="float32") for _ in range(2))
    numpy.save(tmp_path / "a.npy", a)
    numpy.save(tmp_path / "b.npy", b)
    minspect("--run", "vadd", tmp_path / "vadd.so", "--input", f"@{tmp_path / 'a.npy'}",
             "--input", f"@{tmp_path / 'b.npy'}", "--out", "64xf32",
             "--output", f"@{tmp_path / 'c.npy'}")
    got = numpy.load(tmp_path / "c.npy")
    assert got.dtype == a.dtype and (got == a + b).all()


@pytest.mark.parametrize("name", ["mulsub_llvm", "mulsub_c"])
def test_legacy_function(name, minspect):
    minspect("--run", "mulsub", LEGACY / f"{name}.so", "--input", "5xf32=1,2,3,4,5",
             "--out", "5xf32", "--expect", "5xf32=1,4,7,10,13")
