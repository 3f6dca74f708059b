# SPDX-License-Identifier: Apache-2.0
"""For users of TVM: VirtualMachine has the interface of tvm.relax.VirtualMachine, and runs without TVM.

For TVM's export_library: the blob as a file, and the library by mpack, which copies it where TVM compiles it.

    executable.export_library("deploy.so", fcompile=mpk.tvm.fcompile, fpack_imports=mpk.tvm.fpack_imports)

TVM 0.25 to 0.27 hand fpack_imports the module; TVM 0.18, and others without it, give fcompile objects alone, which are
linked then, as TVM's own fcompile does.
"""
from __future__ import annotations

import json
import os
from typing import Any, Sequence

from . import _tools
from ._vm import BenchmarkResult, VirtualMachine

__all__ = ["BenchmarkResult", "VirtualMachine", "fcompile", "fpack_imports"]

_SUFFIX = ".mpack.blob"
_MANIFEST = ".mpack.toml"

# A model with its host code: the payload that TVM writes, and the objects that it compiles.
_MODEL = """[package]
name = "devc"
abi = "ffi"
root = "model"

[[module]]
id = "model"
kind = "{kind}"
payload = "{payload}"
imports = ["host"]

[[module]]
id = "host"
kind = "host"
sources = {sources}
"""


def fpack_imports(mod: Any, is_system_lib: bool, symbol_prefix: str, workspace_dir: str) -> str:
    """Write what a library has besides host code to workspace_dir, and return the path of a file that fcompile takes.

    A model with nothing but host code, which has the weights, is written by itself: it is in memory once more while TVM
    does that. The blob of anything else is there twice. A system library's becomes an object that registers it under
    symbol_prefix.
    """
    if not is_system_lib and _is_plain_model(mod):
        payload = os.path.join(workspace_dir, "devc.payload")
        mod.write_to_file(payload)
        path = os.path.join(workspace_dir, f"devc{_MANIFEST}")
        _write(path, _MODEL.format(kind=mod.kind, payload="devc.payload", sources="[]"))
        return path
    import importlib  # pylint: disable=import-outside-toplevel

    pack = importlib.import_module("tvm_ffi").get_global_func("runtime.ModulePackImportsToTensor", allow_missing=True)
    if pack is None:
        raise RuntimeError("this TVM has no runtime.ModulePackImportsToTensor: export without fpack_imports")
    blob = pack(mod)
    path = os.path.join(workspace_dir, f"{symbol_prefix}devc{_SUFFIX}")
    with open(path, "wb") as f:
        f.write(_view(blob))
    if not is_system_lib:
        return path
    made = os.path.join(workspace_dir, f"{symbol_prefix}devc.o")
    _tools.run("mpack", ["build", path, "-o", made, "--system-lib", "--prefix", symbol_prefix])
    os.unlink(path)
    return made


def _is_plain_model(mod: Any) -> bool:
    imports = list(mod.imports)
    return (mod.kind == "relax.VMExecutable" and len(imports) == 1 and imports[0].kind in ("llvm", "c") and
            not list(imports[0].imports))


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def _view(blob: Any) -> Any:
    """The bytes of a tensor on the CPU, without a copy."""
    import numpy  # pylint: disable=import-outside-toplevel

    return numpy.from_dlpack(blob).view(numpy.uint8)


def fcompile(output: str, objects: Sequence[str], options: Sequence[str] | str | None = None, cc: str | None = None,
             **_: Any) -> None:
    """Make a shared library of objects, sources and the blob that fpack_imports wrote.

    :param options: for the compiler and linker
    :param cc: the compiler; None: $CC, else cc
    """
    more = [options] if isinstance(options, str) else list(options or [])
    blobs = [o for o in objects if o.endswith((_SUFFIX, _MANIFEST))]
    others = [o for o in objects if o not in blobs]
    if len(blobs) > 1:
        raise ValueError("more than one blob: " + ", ".join(blobs))
    if not blobs:
        _link(output, others, more, cc)
        return
    args = ["build", blobs[0], "-o", output, "--force"]
    if cc:
        args += ["--cc", cc]
    if blobs[0].endswith(_MANIFEST):
        sources = json.dumps([os.path.abspath(o) for o in others])
        with open(blobs[0], encoding="utf-8") as f:
            text = f.read()
        _write(blobs[0], text.replace("sources = []", f"sources = {sources}"))
        for word in more:  # TVM's own fcompile compiles and links by one command
            args += ["--ldflag", word] + ([] if word.startswith(("-l", "-L", "-Wl,")) else ["--cflag", word])
        _tools.run("mpack", args)
        return
    # host code calls into libraries that only its loader knows
    for word in [*others, *more, "-Wl,-z,undefs"]:
        args += ["--ldflag", word]
    _tools.run("mpack", args)


def _link(output: str, objects: Sequence[str], options: Sequence[str], cc: str | None) -> None:
    import shlex  # pylint: disable=import-outside-toplevel
    import subprocess  # pylint: disable=import-outside-toplevel

    driver = shlex.split(cc or os.environ.get("CC") or "cc")
    done = subprocess.run([*driver, "-shared", "-fPIC", "-o", output, *objects, *options], capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode("utf-8", "replace") or f"{driver[0]} failed")


fcompile.object_format = "o"  # type: ignore[attr-defined]
