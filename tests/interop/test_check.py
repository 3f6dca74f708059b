# SPDX-License-Identifier: Apache-2.0
"""minspect --check forecasts what happens: each library, in TVM of this environment and in tvm-ffi alone.

What happens is found out in processes of their own (loading.py): the library is opened, the virtual machine of
its executable started, and each function called whose arguments can be made.
"""
import functools
import os
import pathlib
import re
import struct
import subprocess
import sys

import pytest
import tvm
import tvm_ffi
import tvmlib
from conftest import DATA, ROOT, run
from loading import compare, forecast, happens, minspect
from tvm import relax, te

RELEASE = ".".join(tvm.__version__.split(".")[:2])
LOADERS = ["ffi", RELEASE]
TVM_LIBS = pathlib.Path(tvm.__file__).parent / "lib"
FFI_LIB = next((pathlib.Path(tvm_ffi.__file__).parent / "lib").glob("libtvm_ffi.so"))


def same(loader, paths, *options, **how):
    """Compare; each difference is told with both reasons."""
    differences = compare(loader, paths, *options, **how)
    assert not differences, "\n".join(differences)
    return paths


def fixtures():
    # what is in gpu/ was linked without a C library and without CUDA's and HIP's run time, whose symbols
    # carry no versions then: whether some library of this environment brings them cannot be told
    return sorted(path for path in DATA.rglob("*.so") if path.parent.name not in ("broken", "gpu"))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Libraries that are made once for all tests."""
    return tmp_path_factory.mktemp("libraries")


@functools.cache
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


# Functions that an executable is made to call: what some runtime has, and what none has.
CALLED = ["my.own.function", "vm.builtin.no_such", "tvm.contrib.cblas.matmul", "runtime.DNNLJSONRuntimeCreate",
          "vm.builtin.check_string_info", "vm.builtin.copy", "vm.builtin.shape_of", "relax.run.print",
          "vm.builtin.cuda_graph.run_or_capture", "vm.builtin.compute_alloc_shape", "tvm.contrib.sort.argsort",
          "tvm.contrib.cublas.matmul", "runtime.ModuleGetKind", "ffi.Array", "testing.echo", "rpc.test.addone",
          "arith.AnalyzerClone", "vadd", "no_such_kernel"]


@functools.cache
def executables(folder):
    """Executables whose table names a function, with a host library that has vadd."""
    made = []
    for name in CALLED:
        builder = relax.ExecBuilder()
        with builder.function("main", num_inputs=1):
            builder.emit_call(name, args=[builder.r(0)], dst=builder.r(1))
            builder.emit_ret(builder.r(1))
        program = builder.get()
        executable = relax.VMExecutable(getattr(program, "mod", program))
        executable.mod.import_module(tvmlib.vadd("vadd", "llvm").mod)
        made.append(folder / f"calls_{name}.so")
        executable.export_library(str(made[-1]))
    return made


@functools.cache
def models(folder):
    """Models in byte code and in compiled code, which look functions up when they run."""
    tensor = getattr(relax, "TensorStructInfo", None)
    types = {"sinfo_args": [tensor((2, 3), "float32")]} if tensor else {
        "ty_args": [relax.TensorType((2, 3), "float32")]}
    made = []
    for mode in ("bytecode", "compiled"):
        for name in (None, "my.own.function", "vm.builtin.copy"):
            (kind,) = types.values()
            x = relax.Var("x", kind[0])
            builder = relax.BlockBuilder()
            with builder.function("main", [x]):
                value = builder.emit(relax.Call(relax.ExternFunc(name), [x], **types)) if name else x
                builder.emit_func_output(builder.emit(relax.op.add(value, value)))
            made.append(folder / f"model_{mode}_{name}.so")
            relax.build(builder.get(), "llvm", exec_mode=mode).export_library(str(made[-1]))
    return made


API = """
#include <stddef.h>
typedef struct { const char *data; size_t size; } bytes;
int TVMFFIFunctionGetGlobal(const bytes *, void **);
int TVMFFIEnvModLookupFromImports(void *, const char *, void **);
int TVMFFIErrorSetRaisedFromCStr(const char *, const char *);
void *__tvm_ffi__library_ctx;
static int look(const char *name) { void *f; return TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, name, &f); }
"""
ASK = """int f(void) {{ void *p = 0; bytes b = {{ "{0}", sizeof "{0}" - 1 }};
    if (TVMFFIFunctionGetGlobal(&b, &p) == 0 && p) return 0;
    TVMFFIErrorSetRaisedFromCStr("ValueError", "not found"); return -1; }}"""
LOOK = """int f(void) {{ void *p; return TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, "{0}", &p); }}"""
ABSENT = "int nobody_has_this(void);"


@functools.cache
def compiled(folder):
    """Libraries that C compilers make: needs that are met, and needs that are not, at once or at a call."""
    texts = {
        "plain": "int f(void) { return 0; }",
        "undefined": ABSENT + "int f(void) { return nobody_has_this(); }",
        "deep": ABSENT + "__attribute__((noinline)) static int g(int x) { return nobody_has_this() + x; }"
                "__attribute__((noinline)) static int h(int x) { return g(x + 1) * 2; }"
                "int f(void) { return h(3) + 1; }",
        "start": ABSENT + "__attribute__((constructor)) static void g(void) { nobody_has_this(); }"
                 "int f(void) { return 0; }",
        "taken": ABSENT + "int (*volatile p)(void) = nobody_has_this; int f(void) { return p(); }",
        "weak": "int nobody_has_this(void) __attribute__((weak));"
                "int f(void) { return nobody_has_this ? nobody_has_this() : 0; }",
        "data": "extern int nobody_has_this; int f(void) { return nobody_has_this; }",
        "api": "int TVMFFIFunctionCall(void *, void *, int, void *); int volatile no;"
               "int f(void) { return no ? TVMFFIFunctionCall(0, 0, 0, 0) : 0; }",
        "backend": "int TVMBackendFreeWorkspace(int, int, void *); void *TVMBackendAllocWorkspace(int, int, long, int, int);"
                   "int f(void) { return TVMBackendFreeWorkspace(1, 0, TVMBackendAllocWorkspace(1, 0, 64, 2, 32)); }",
        "older": "int TVMFuncCall(void *); int f(void) { return TVMFuncCall(0); }",
        "math": "double cos(double); double volatile x; int f(void) { return cos(x) > 2; }",
        "asks": API + ASK.format("my.missing.function"),
        "asks_ffi": API + ASK.format("ffi.Array"),
        "looks": API + LOOK.format("my.missing.function"),
        "looks_ffi": API + LOOK.format("ffi.Array"),
        "looks_tvm": API + LOOK.format("vm.builtin.copy"),
        "looks_own": API + LOOK.format("go"),
        "tls": 'static __thread char x[1664] __attribute__((tls_model("initial-exec"))); int f(void) { return x[5]; }',
        "tls_large": 'static __thread char x[1800] __attribute__((tls_model("initial-exec"))); int f(void) { return x[5]; }',
        "tls_dynamic": "static __thread char x[65536]; int f(void) { return x[5]; }",
    }
    made = []
    for name, text in texts.items():
        source = folder / f"{name}.c"
        source.write_text(text + "\nint __tvm_ffi_go(void *s, void *a, int n, void *r)"
                                 "{ (void)s; (void)a; (void)n; (void)r; return f(); }\n"
                                 "int __tvm_ffi_fine(void *s, void *a, int n, void *r)"
                                 "{ (void)s; (void)a; (void)n; (void)r; return 0; }\n")
        for level in ("-O0", "-O2"):
            made.append(folder / f"{name}{level}.so")
            subprocess.run(["cc", "-w", "-shared", "-fPIC", level, source, "-o", made[-1]], check=True)
    made.append(folder / "now.so")
    subprocess.run(["cc", "-w", "-shared", "-fPIC", "-Wl,-z,now", folder / "deep.c", "-o", made[-1]], check=True)
    made.append(folder / "object.o")
    subprocess.run(["cc", "-w", "-c", "-fPIC", folder / "plain.c", "-o", made[-1]], check=True)
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


def damaged(folder):
    """A library whose header or hash table was changed."""
    made = []

    def put(name, original, changes):
        content = bytearray(original)
        for at, value in changes:
            content[at:at + len(value)] = value
        made.append(folder / f"{name}.so")
        made[-1].write_bytes(content)

    host = (DATA / "formats" / "14_llvm_noblob.so").read_bytes()
    for at, value in ((7, 1), (7, 3), (8, 1), (9, 1), (12, 3), (15, 255), (20, 2)):
        put(f"header{at}_{value}", host, [(at, bytes([value]))])
    for name in ("14_llvm_noblob", "06_relax_vm"):
        original = (DATA / "formats" / f"{name}.so").read_bytes()
        listing = subprocess.run(["readelf", "-SW", DATA / "formats" / f"{name}.so"], capture_output=True, text=True,
                                 check=True).stdout
        (line,) = [x for x in listing.splitlines() if ".gnu.hash" in x]
        table, size = (int(x, 16) for x in line.split("GNU_HASH")[1].split()[1:3])
        count, _, blooms, _ = struct.unpack_from("<IIII", original, table)
        buckets = table + 16 + 8 * blooms
        put(f"{name}_bloom", original, [(table + 16, bytes(8 * blooms))])
        put(f"{name}_odd", original, [(table + 8, struct.pack("<I", 3))])
        for i in range(count):
            for value in (0, 50, 0x7fffffff):
                put(f"{name}_bucket{i}_{value}", original, [(buckets + 4 * i, struct.pack("<I", value))])
        for at in range(buckets + 4 * count, table + size, 4):
            (value,) = struct.unpack_from("<I", original, at)
            for flip in (1, 0x100):
                put(f"{name}_chain{at}_{flip}", original, [(at, struct.pack("<I", value ^ flip))])
    return made


@pytest.mark.parametrize("loader", LOADERS)
def test_fixtures(loader):
    assert len(same(loader, fixtures(), "--tvm", loader)) > 30


@pytest.mark.parametrize("loader", LOADERS)
def test_exports(loader, folder):
    same(loader, exported(folder), "--tvm", loader)


@pytest.mark.parametrize("loader", LOADERS)
def test_needs_of_host_code(loader, folder):
    same(loader, compiled(folder), "--tvm", loader, bare=True)


@pytest.mark.parametrize("loader", LOADERS)
def test_damage(loader, tmp_path):
    same(loader, damaged(tmp_path), "--tvm", loader)


@pytest.mark.parametrize("loader", LOADERS)
def test_functions_of_executables(loader, folder):
    same(loader, executables(folder) + models(folder), "--tvm", loader)


def named(*names):
    """Libraries of TVM and tvm-ffi's, and the options that name them."""
    libraries = [FFI_LIB, *(TVM_LIBS / f"libtvm_{name}.so" for name in names)]
    return libraries, [word for library in libraries for word in ("--runtime", library)]


def test_named_libraries(folder):
    """The same from the libraries themselves, read and not opened; they are opened without their Python package."""
    libraries, options = named("runtime", "runtime_extra", "compiler")
    same("libraries", fixtures() + exported(folder) + executables(folder) + models(folder), *options,
         libraries=libraries)
    same("libraries", [p for p in compiled(folder) if p.suffix == ".so"], *options, libraries=libraries, bare=True)


def test_named_tvm_ffi(folder):
    _, options = named()
    same("ffi", fixtures() + exported(folder), *options)
    same("ffi", compiled(folder), *options, bare=True)


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
        verdict, failing, why = forecast(library, "--tvm", loader)
        assert verdict == ("loads" if done.returncode == 0 else "fails-when-called"), (loader, why, done)
        assert verdict == "loads" or ("add" in failing and "TVMBackendParallelLaunch" in why[0])


def test_nothing_said(monkeypatch):
    """Without options the TVM of the environment is what counts."""
    monkeypatch.setenv("MPK_TVM_FFI", str(FFI_LIB))
    same(RELEASE, fixtures())
    assert "the TVM of this environment" in run("minspect", "--check", DATA / "formats" / "14_llvm_noblob.so").stdout


def test_loaders_are_those_that_are_registered():
    """What is read in the libraries is what their registry has once they are open."""
    listed = set()
    for library in (FFI_LIB, *(TVM_LIBS / f"libtvm_{n}.so" for n in ("runtime", "compiler"))):
        file, _ = minspect("--check", "--json", "--runtime", library, DATA / "formats" / "14_llvm_noblob.so")
        listed |= set(file["there"]["runtimes"][0]["loaders"])
    prefix = "ffi.Module.load_from_bytes."
    names = tvm_ffi.registry.list_global_func_names()
    assert listed == {n[len(prefix):] for n in names if n.startswith(prefix)} - {"cuda"}


def test_table_of_global_functions():
    """The table that was made is what the registry of this environment has."""
    rows = {}
    table = (ROOT / "lib/know/compat/globals.def").read_text()
    for where, names in re.findall(r'^G\(([^,]*), "(.*)"\)$', table, re.M):
        rows.update(dict.fromkeys(names.split(), set(where.split(" | "))))
    minor = RELEASE.split(".")[1]
    listed = {name for name, where in rows.items() if where & {f"T{minor}", f"P{minor}"}}
    code = "import tvm, tvm_ffi; print(*tvm_ffi.registry.list_global_func_names())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == listed


LOOKUPS = ["TVMBackendGetFuncFromEnv", "TVMFFIEnvModLookupFromImports"]
POINTERS = ["TVMBackendAllocWorkspace", "TVMBackendAnyListSetPackedArg", "TVMBackendFreeWorkspace",
            "TVMBackendParallelBarrier", "TVMBackendParallelLaunch", "TVMBackendRunOnce", "TVMFFIErrorSetRaisedFromCStr",
            "TVMFFIFunctionCall", "TVMFFIFunctionGetGlobal", "TVMFFIHandleDeinitOnce", "TVMFFIHandleInitOnce"]


@pytest.mark.parametrize("lookup", LOOKUPS)
def test_pointers_that_are_filled(lookup, tmp_path):
    """Those of a library that has all, after it was loaded; of code with both lookups one is enough."""
    names = [*POINTERS, lookup]
    source = tmp_path / "pointers.c"
    source.write_text("".join(f"void *volatile __{n};\n" for n in names) + "".join(
        f"int __tvm_ffi_{n}(void *s, void *a, int n, void *r) {{ return __{n} ? 0 : *(volatile int *)0; }}\n"
        for n in names))
    library = tmp_path / "pointers.so"
    subprocess.run(["cc", "-w", "-O1", "-shared", "-fPIC", source, "-o", library], check=True)
    for loader in LOADERS:
        ((load, failed, _),) = happens(loader, [library], bare=True)
        verdict, failing, why = forecast(library, "--tvm", loader)
        # what raises errors is no matter of every call
        raisers = {n for n in names if "SetRaised" in n}
        assert not load and set(failed) - raisers == failing, (loader, verdict, why, failed)
