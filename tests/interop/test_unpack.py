# SPDX-License-Identifier: Apache-2.0
"""Exports of real TVM with hosts in C and in two modules: taken apart, packed again, loaded again."""
import pathlib
import re
import tarfile

import numpy
import pytest
import tvm
import tvm_ffi

import tvmlib


def include_flags():
    """--cflag -I for the headers that lib0.c includes."""
    folders = [pathlib.Path(module.__file__).parent / "include" for module in (tvm, tvm_ffi)]
    return [word for folder in folders for word in ("--cflag", f"-I{folder}")]


def vadd(name, target, host):
    """tvmlib.vadd with host code of another target."""
    ir = tvmlib.vadd_ir(name, target)
    wanted = host if target == "llvm" else tvm.target.Target(target, host=host)
    return tvm.compile(ir, target=wanted)


def blob_of(archive):
    """The blob that TVM wrote as C text, by a pattern and not by the reader under test."""
    with tarfile.open(archive) as tar:
        text = tar.extractfile("devc.c").read().decode()
    initializer = text[text.index("] = {"):]
    return bytes(int(word, 16) for word in re.findall("0x([0-9a-f]{2})", initializer))


def test_c_host_with_kernels(mpack, tmp_path):
    """The blob in devc.c, and lib0.c beside it: the same blob, in a library of both."""
    vadd("vadd", "opencl", "c").export_library(str(tmp_path / "tvm.tar"))
    mpack("unpack", tmp_path / "tvm.tar", "-o", tmp_path / "dir")
    mpack("build", tmp_path / "dir" / "mpack.toml", *include_flags(), "-o", tmp_path / "out.so")
    want = blob_of(tmp_path / "tvm.tar")
    assert tvmlib.blob_in(tmp_path / "out.so") == want
    assert [kind for kind, _, _ in tvmlib.read_blob(want)] == ["_lib", "opencl"]


def run_vadd(library):
    a = numpy.arange(64, dtype="float32")
    c = tvm.runtime.tensor(numpy.zeros(64, "float32"))
    tvm.runtime.load_module(str(library))["vadd"](tvm.runtime.tensor(a), tvm.runtime.tensor(a), c)
    assert (c.numpy() == a + a).all()


@pytest.mark.parametrize("host", ["c", "llvm"])
def test_host_alone(host, mpack, tmp_path):
    """An export without a blob: host code, in C or as an object."""
    vadd("vadd", "llvm", host).export_library(str(tmp_path / "tvm.tar"))
    mpack("unpack", tmp_path / "tvm.tar", "-o", tmp_path / "dir")
    mpack("build", tmp_path / "dir" / "mpack.toml", *include_flags(), "-o", tmp_path / "out.so")
    run_vadd(tmp_path / "out.so")


@pytest.mark.parametrize("other", ["c", "llvm"])
def test_host_imports_host(other, mpack, tmp_path):
    """The blob lists _lib alone; the other module's code comes along, whatever it is written in."""
    root = vadd("vadd", "llvm", "llvm")
    root.mod.import_module(vadd("other", "llvm", other).mod)
    root.export_library(str(tmp_path / "tvm.tar"))
    root.export_library(str(tmp_path / "tvm.so"))
    mpack("unpack", tmp_path / "tvm.tar", "-o", tmp_path / "dir")
    mpack("build", tmp_path / "dir" / "mpack.toml", *include_flags(), "-o", tmp_path / "out.so")
    assert tvmlib.blob_in(tmp_path / "out.so") == tvmlib.blob_in(tmp_path / "tvm.so")
    run_vadd(tmp_path / "out.so")
