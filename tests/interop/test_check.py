# SPDX-License-Identifier: Apache-2.0
"""minspect --check forecasts what happens: each library, in TVM of this environment and in tvm-ffi alone.

What happens is found out in a process of its own, by loading the library and looking its functions up.
Symbols are bound at once there: bound lazily, a missing one ends the process at the first call instead.
"""
import json
import os
import pathlib
import subprocess
import sys

import pytest
import tvm
import tvm_ffi
import tvmlib
from conftest import DATA, run
from tvm import relax, te

RELEASE = ".".join(tvm.__version__.split(".")[:2])
LOADERS = ["ffi", RELEASE]
TVM_LIBS = pathlib.Path(tvm.__file__).parent / "lib"
FFI_LIB = next((pathlib.Path(tvm_ffi.__file__).parent / "lib").glob("libtvm_ffi.so"))

# Loads each library in a fork of a process that has imported the runtime; a line of JSON for each.
CHILD = r"""
import json, os, sys
if sys.argv[1] == "ffi":
    import tvm_ffi
    load = tvm_ffi.load_module
else:
    import tvm
    load = tvm.runtime.load_module
for line in sys.stdin:
    path, names = json.loads(line)
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            module = load(path)
            lost = [n for n in names if not module.implements_function(n, query_imports=True)]
            said = "no function " + lost[0] if lost else ""
        except BaseException as error:
            said = str(error).strip().splitlines()[-1:] or ["?"]
            said = said[0]
        os.write(write, said.encode()[:4000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as reader:
        said = reader.read().decode()
    status = os.waitpid(child, 0)[1]
    print(json.dumps(said if os.WIFEXITED(status) else f"signal {os.WTERMSIG(status)}"), flush=True)
"""


def functions(path):
    """Names of host functions that a loader is to find; not the entry of another name."""
    (file,) = json.loads(run("minspect", "--json", path).stdout)["files"]
    return [f["name"] for f in file["functions"] if not f["alias_of"] and not f["entry"]]


def happens(loader, paths):
    """What loading each library comes to: "" when it works."""
    asked = "".join(json.dumps([str(p), functions(p)]) + "\n" for p in paths)
    done = subprocess.run([sys.executable, "-c", CHILD, loader], input=asked, capture_output=True,
                          text=True, timeout=600, check=True,
                          env={**os.environ, "LD_BIND_NOW": "1"})
    return [json.loads(line) for line in done.stdout.splitlines()]


def forecast(path, *options):
    """Whether --check says that it loads, and its findings."""
    command = [os.path.join(os.environ["PATH"].split(":")[0], "minspect"), "--check", "--json",
               *map(str, options), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    (file,) = json.loads(done.stdout)["files"]
    assert done.returncode == (0 if file["loads"] else 1), done.stdout + done.stderr
    return file["loads"], [f["message"] for f in file["findings"] if f["severity"] == "error"]


def same(loader, paths, *options):
    """Compare; each difference is told with both reasons."""
    differences = []
    for path, real in zip(paths, happens(loader, paths)):
        loads, why = forecast(path, *options)
        if loads != (real == ""):
            differences.append(f"{path}: forecast {why or 'loads'}, happened {real or 'loads'}")
    assert not differences, "\n".join(differences)
    return paths


def fixtures():
    # what is in gpu/ was linked without a C library and without CUDA's and HIP's run time, whose symbols
    # carry no versions then: whether some library of this environment brings them cannot be told
    return sorted(path for path in DATA.rglob("*.so") if path.parent.name not in ("broken", "gpu"))


def exported(folder):
    """Libraries that this TVM exports now, of each sort of module."""
    made = []
    for name, target in (("host", "llvm"), ("cl", "opencl"), ("metal", "metal"),
                         ("nvptx", "nvptx"), ("cuda", "cuda")):
        library = folder / f"{name}.so"
        tvmlib.vadd(name, target).export_library(str(library))
        made.append(library)
    # TVM 0.25 has another type of the later name
    tensor = getattr(relax, "TensorStructInfo", None) or relax.TensorType
    x = relax.Var("x", tensor((2, 3), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    library = folder / "relax.so"
    tvm.compile(builder.get(), target="llvm").export_library(str(library))
    return [*made, library]


def compiled(folder):
    """Libraries that C compilers and mpack make: needs that are met, and needs that are not."""
    texts = {
        "plain": "int f(void) { return 0; }",
        "undefined": "int nobody_has_this(void); int f(void) { return nobody_has_this(); }",
        "weak": "int nobody_has_this(void) __attribute__((weak));"
                "int f(void) { return nobody_has_this ? nobody_has_this() : 0; }",
        "data": "extern int nobody_has_this; int f(void) { return nobody_has_this; }",
        "api": "int TVMFFIFunctionCall(void *, void *, int, void *);"
               "int f(void) { return TVMFFIFunctionCall(0, 0, 0, 0); }",
        "backend": "int TVMBackendFreeWorkspace(int, int, void *);"
                   "int f(void) { return TVMBackendFreeWorkspace(1, 0, 0); }",
        "old": "int TVMBackendGetFuncFromEnv(void *, char *, void **);"
               "int f(void) { return TVMBackendGetFuncFromEnv(0, 0, 0); }",
        "older": "int TVMFuncCall(void *); int f(void) { return TVMFuncCall(0); }",
        "math": "double cos(double); double volatile x; int f(void) { return cos(x) > 2; }",
    }
    made = []
    for name, text in texts.items():
        source = folder / f"{name}.c"
        source.write_text(text + "\nint __tvm_ffi_go(void *s, void *a, int n, void *r)"
                                 "{ (void)s; (void)a; (void)n; (void)r; return f(); }\n")
        made.append(folder / f"{name}.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", source, "-o", made[-1]], check=True)
    gone = folder / "libgone.so"
    subprocess.run(["cc", "-shared", "-fPIC", folder / "plain.c", "-o", gone], check=True)
    made.append(folder / "needs_gone.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-Wl,--no-as-needed", folder / "plain.c", gone,
                    "-o", made[-1]], check=True)
    gone.unlink()
    beside = folder / "libbeside.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libbeside.so", folder / "plain.c", "-o",
                    beside], check=True)
    made.append(folder / "needs_beside.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN",
                    folder / "plain.c", beside, "-o", made[-1]], check=True)
    return made


@pytest.mark.parametrize("loader", LOADERS)
def test_fixtures(loader):
    assert len(same(loader, fixtures(), "--tvm", loader)) > 30


@pytest.mark.parametrize("loader", LOADERS)
def test_exports(loader, tmp_path):
    same(loader, exported(tmp_path), "--tvm", loader)


@pytest.mark.parametrize("loader", LOADERS)
def test_needs_of_host_code(loader, tmp_path):
    same(loader, compiled(tmp_path), "--tvm", loader)


@pytest.mark.parametrize("loader", LOADERS)
def test_named_libraries(loader, tmp_path):
    """The same from the libraries themselves, read and not opened."""
    libraries = [FFI_LIB]
    if loader != "ffi":
        libraries += [TVM_LIBS / f"libtvm_{name}.so" for name in ("runtime", "compiler")]
    options = [word for library in libraries for word in ("--runtime", library)]
    same(loader, fixtures() + exported(tmp_path) + compiled(tmp_path), *options)


def test_function_that_only_tvm_gives(tmp_path):
    """A parallel loop calls TVM's runtime through a pointer that tvm-ffi alone leaves empty."""
    a, b = (te.placeholder((4096,), name=n) for n in "AB")
    c = te.compute((4096,), lambda i: a[i] + b[i], name="C")
    function = te.create_prim_func([a, b, c]).with_attr("global_symbol", "add")
    schedule = tvm.s_tir.Schedule(tvm.IRModule({"add": function}))
    schedule.work_on("add")
    schedule.parallel(schedule.get_loops(schedule.get_sblock("C"))[0])
    library = tmp_path / "parallel.so"
    tvm.compile(schedule.mod, target="llvm").export_library(str(library))
    call = ("m['add'](*[tvm_ffi.from_dlpack(numpy.ones(4096, 'float32')) for _ in 'ABC'])")
    for loader, load in (("ffi", "tvm_ffi.load_module"), (RELEASE, "tvm.runtime.load_module")):
        done = subprocess.run(
            [sys.executable, "-c", f"import numpy, tvm_ffi\n{'import tvm' * (loader != 'ffi')}\n"
             f"m = {load}({str(library)!r})\n{call}"], capture_output=True, check=False)
        loads, why = forecast(library, "--tvm", loader)
        assert loads == (done.returncode == 0), (loader, why, done)
        assert loads or "TVMBackendParallelLaunch" in why[0]


def test_nothing_said():
    """Without options the TVM of the environment is what counts."""
    environment = {**os.environ, "MPK_TVM_FFI": str(FFI_LIB)}
    paths = fixtures()
    for path, real in zip(paths, happens(RELEASE, paths)):
        done = subprocess.run(["minspect", "--check", path], capture_output=True, text=True,
                              check=False, env=environment)
        assert done.returncode == (0 if real == "" else 1), (real, done.stdout)
        assert "the TVM of this environment" in done.stdout


def test_loaders_are_those_that_are_registered():
    """What is read in the libraries is what their registry has once they are open."""
    listed = set()
    for library in (FFI_LIB, *(TVM_LIBS / f"libtvm_{n}.so" for n in ("runtime", "compiler"))):
        command = run("minspect", "--check", "--json", "--runtime", library,
                      DATA / "formats" / "14_llvm_noblob.so").stdout
        (file,) = json.loads(command)["files"]
        listed |= set(file["there"]["runtimes"][0]["loaders"])
    prefix = "ffi.Module.load_from_bytes."
    names = tvm_ffi.registry.list_global_func_names()
    assert listed == {n[len(prefix):] for n in names if n.startswith(prefix)} - {"cuda"}
