# SPDX-License-Identifier: Apache-2.0
"""TVM and tvm-ffi load what mpack made, and its functions give right results."""
import shutil
import subprocess
import tarfile

import graphs
import numpy
import pytest
import tvm
import tvm_ffi
import tvmlib
from conftest import DATA

EXAMPLE = DATA / "example"
VIA = pytest.mark.parametrize("via", ["c", "llvm"])
LOADER = pytest.mark.parametrize("load", [tvm.runtime.load_module, tvm_ffi.load_module],
                                 ids=["tvm", "tvm-ffi"])


def check_addone(module):
    x, y = numpy.arange(5, dtype="float32"), numpy.zeros(5, "float32")
    module["addone"](tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(y))
    assert y.tolist() == [1, 2, 3, 4, 5]
    with pytest.raises(TypeError, match="two tensors"):
        module["addone"](1)


@VIA
@LOADER
def test_host_only(via, load, mpack, tmp_path):
    (tmp_path / "mpack.toml").write_text(
        '[package]\nname = "deploy"\n[[module]]\nid = "host"\nkind = "host"\n'
        f'sources = ["{EXAMPLE / "host.c"}"]\n')
    mpack("build", tmp_path / "mpack.toml", "--via", via, "-o", tmp_path / "deploy.so")
    check_addone(load(str(tmp_path / "deploy.so")))


@VIA
@LOADER
def test_entry(via, load, mpack, tmp_path):
    """What the manifest calls the entry is main, as in TVM's own exports."""
    (tmp_path / "mpack.toml").write_text(
        '[package]\nname = "deploy"\nentry = "addone"\n[[module]]\nid = "host"\n'
        f'kind = "host"\nsources = ["{EXAMPLE / "host.c"}"]\n')
    mpack("build", tmp_path / "mpack.toml", "--via", via, "-o", tmp_path / "deploy.so")
    module = load(str(tmp_path / "deploy.so"))
    x, y = numpy.arange(3, dtype="float32"), numpy.zeros(3, "float32")
    module["main"](tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(y))
    assert y.tolist() == [1, 2, 3]
    check_addone(module)


LL = """
define i32 @__tvm_ffi_answer(ptr %self, ptr %args, i32 %count, ptr %result) {
  %type = getelementptr i8, ptr %result, i64 0
  store i32 1, ptr %type
  %value = getelementptr i8, ptr %result, i64 8
  store i64 42, ptr %value
  ret i32 0
}
"""


@VIA
@LOADER
def test_hosts_of_every_sort(via, load, mpack, tmp_path):
    """C, LLVM text, bitcode, an object, and an archive that one of them calls into."""
    def answer(name):
        return LL.replace("answer", name)

    def tool(*words):
        subprocess.run(list(map(str, words)), check=True)

    (tmp_path / "text.ll").write_text(answer("text"))
    for name in ("bits", "object"):
        (tmp_path / f"{name}.ll").write_text(answer(name))
    (tmp_path / "member.ll").write_text(answer("member").replace("__tvm_ffi_", ""))
    (tmp_path / "calls.c").write_text(
        "int member(void *, void *, int, void *);\n"
        "int __tvm_ffi_calls(void *s, void *a, int n, void *r) { return member(s, a, n, r); }\n")
    tool("clang-19", "-w", "-c", "-emit-llvm", tmp_path / "bits.ll", "-o", tmp_path / "bits.bc")
    for name in ("object", "member"):
        tool("clang-19", "-w", "-c", "-fPIC", tmp_path / f"{name}.ll", "-o", tmp_path / f"{name}.o")
    tool("ar", "rcs", tmp_path / "libmember.a", tmp_path / "member.o")
    shutil.copy(EXAMPLE / "host.c", tmp_path)
    (tmp_path / "data.bin").write_bytes(graphs.data_payload("data"))
    (tmp_path / "mpack.toml").write_text("""
[package]
name = "mixed"
[[module]]
id = "one"
kind = "host"
sources = ["host.c", "text.ll", "bits.bc"]
imports = ["two", "data"]
[[module]]
id = "two"
kind = "host"
sources = ["object.o", "calls.c", "libmember.a"]
[[module]]
id = "data"
kind = "const_loader"
payload = "data.bin"
""")
    mpack("build", tmp_path / "mpack.toml", "--via", via, "-o", tmp_path / "mixed.so")
    module = load(str(tmp_path / "mixed.so"))
    check_addone(module)
    for name in ("text", "bits", "object", "calls"):
        assert module[name]() == 42, name
    assert [m.kind for m in module.imports] == ["const_loader"]


@VIA
@pytest.mark.parametrize("name", ["fan", "diamond", "three_hosts", "ladder", "host_deep"])
def test_tree_as_tvm_sees_it(via, name, mpack, tmp_path):
    """Kinds and imports of the loaded modules, walked from the root, are those of the blob."""
    path = graphs.write_package(graphs.GRAPHS[name], tmp_path)
    mpack("build", path, "--via", via, "-o", tmp_path / "out.so")
    nodes = tvmlib.read_blob(graphs.blob(graphs.GRAPHS[name]))

    def same(module, index):
        kind, _, children = nodes[index]
        assert module.kind == ("library" if kind == "_lib" else kind)
        imports = list(module.imports)
        assert len(imports) == len(children)
        for child, at in zip(imports, children):
            same(child, at)

    same(tvm.runtime.load_module(str(tmp_path / "out.so")), 0)


@VIA
@pytest.mark.parametrize("columns", [3, 1 << 19], ids=["small", "grown"])
def test_relax_model(columns, via, mpack, tmp_path):
    """A model of TVM, taken apart and packed by mpack, runs in TVM's VM as it did before; with
    weights of 4 MiB in a library that was grown, and after tools have been over it."""
    from tvm import relax

    x = relax.Var("x", relax.TensorType((2, columns), "float32"))
    builder = relax.BlockBuilder()
    weight = numpy.arange(2 * columns, dtype="float32").reshape(2, columns)
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, relax.const(weight))))
    executable = tvm.compile(builder.get(), target="llvm")
    executable.export_library(str(tmp_path / "tvm.so"))
    executable.export_library(str(tmp_path / "tvm.tar"))
    with tarfile.open(tmp_path / "tvm.tar") as archive:
        archive.extract("lib0.o", tmp_path)
    nodes = tvmlib.read_blob(tvmlib.blob_in(tmp_path / "tvm.so"))
    assert [kind for kind, _, _ in nodes] == ["relax.VMExecutable", "_lib"]
    (tmp_path / "vm.bin").write_bytes(nodes[0][1])
    (tmp_path / "mpack.toml").write_text("""
[package]
name = "model"
[[module]]
id = "vm"
kind = "relax.VMExecutable"
payload = "vm.bin"
imports = ["host"]
[[module]]
id = "host"
kind = "host"
sources = ["lib0.o"]
""")
    mpack("build", tmp_path / "mpack.toml", "--via", via, "-o", tmp_path / "model.so")
    assert tvmlib.blob_in(tmp_path / "model.so") == tvmlib.blob_in(tmp_path / "tvm.so")
    for tool in (["strip"], ["patchelf", "--set-rpath", "/opt/somewhere"]):
        if columns > 3 and shutil.which(tool[0]):
            subprocess.run([*tool, tmp_path / "model.so"], check=True)
    machine = relax.VirtualMachine(tvm.runtime.load_module(str(tmp_path / "model.so")), tvm.cpu())
    x = numpy.full((2, columns), 0.5, "float32")
    assert (machine["main"](tvm.runtime.tensor(x)).numpy() == x + weight).all()
