# SPDX-License-Identifier: Apache-2.0
"""What happens when a library is loaded, its virtual machine started and its functions called, each in a process
that may die of it; and what minspect --check says of that beforehand."""
import json
import os
import subprocess
import sys

from conftest import BIN

# A line of JSON for each library: {"load": ""} or why not, {"calls": {name: "" or why not}}.
CHILD = r"""
import json, os, signal, sys
import numpy
import tvm_ffi
if sys.argv[1] == "ffi":
    load = tvm_ffi.load_module
    tensor = tvm_ffi.from_dlpack
elif sys.argv[1] == "libraries":
    # the libraries alone, as a program in C++ has them
    import ctypes
    for library in sys.argv[2:]:
        ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
    load = tvm_ffi.load_module
    tensor = tvm_ffi.from_dlpack
else:
    import tvm
    load = tvm.runtime.load_module
    tensor = tvm.runtime.tensor

def start(module):
    if sys.argv[1] == "libraries":
        machine = module["vm_load_executable"]()
        machine["vm_initialization"](1, 0, 2)
        return machine
    return tvm.relax.VirtualMachine(module, tvm.cpu())

def apart(work):
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        # tvm-ffi's handler takes long to read debug information for a backtrace that nobody sees
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        try:
            said = work()
        except BaseException as error:
            said = " ".join((str(error).strip() or repr(error)).split())[-600:]
        os.write(write, json.dumps(said).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as reader:
        said = reader.read().decode()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return f"died: signal {os.WTERMSIG(status)}"
    return json.loads(said) if said else f"died: status {os.WEXITSTATUS(status)}"

def values(inputs):
    made = []
    for i in inputs:
        if i["kind"] == "tensor":
            shape = [4 if isinstance(n, str) else n for n in i["shape"]]
            array = numpy.ones(shape, i["dtype"])
            made.append(tensor(array) if i.get("device", "cpu") == "cpu" else None)
        else:
            made.append({"float": 1.0, "bool": True}.get(i["kind"], 4))
    return made

def judge(path, functions, bare, is_model):
    module = load(path)
    machine = start(module) if is_model else None
    calls = {}
    for f in functions:
        def call():
            if machine is not None and f["vm"]:
                machine[f["name"]](*values(f["inputs"]))
            elif not module.implements_function(f["name"], query_imports=True):
                return "not found: no such function"
            elif f["inputs"] is not None or bare:
                module.get_function(f["name"], query_imports=True)(*values(f["inputs"] or []))
            return ""
        calls[f["name"]] = apart(call)
    return {"calls": calls}

# tvm-ffi reads its debug information for the first error's backtrace: once, and not in each child
try:
    load(os.devnull)
except Exception:
    pass
for line in sys.stdin:
    said = apart(lambda: judge(*json.loads(line)))
    print(json.dumps(said if isinstance(said, dict) else {"load": said, "calls": {}}), flush=True)
"""

# What says that something was not there, and not that an argument was none that the function takes.
MISSING = ("died", "not found", "cannot find", "cannot be found", "is null", "no function", "undefined symbol",
           "not initialized", "nullptr")


def files_of(paths, *args):
    """What a JSON document says of each path, and the exit status. One process reads them all."""
    done = subprocess.run([os.path.join(BIN, "minspect"), *map(str, args), *map(str, paths)], capture_output=True, text=True,
                          timeout=600, check=False)
    files = {file["file"]: file for file in json.loads(done.stdout)["files"]}
    return [files[str(path)] for path in paths], done.returncode


def minspect(*args):
    """The one file of a JSON document, and the exit status."""
    *args, path = args
    (file,), status = files_of([path], *args)
    return file, status


def functions(file):
    """Functions that a caller is to find, of a file's JSON: with their inputs, where these are known and can be made."""
    found = []
    for f in file.get("functions", []):
        if f["alias_of"] or f["entry"]:
            continue
        inputs = f.get("inputs")
        plain = inputs is not None and all(
            i["kind"] in ("tensor", "int", "float", "bool") and i.get("shape", True) is not None for i in inputs)
        found.append({"name": f["name"], "inputs": inputs if plain else None, "vm": False})
    found += [{"name": m["name"], "inputs": m["inputs"], "vm": True} for m in file.get("models", [])
              if not m["named_inputs"] and m.get("inputs") is not None]
    return found


def is_model(file):
    """Whether a virtual machine is to run it."""
    return any(m["kind"] == "relax.VMExecutable" for m in file.get("tree") or [])


def happens(loader, paths, libraries=(), bare=False):
    """For each library why it does not load, or "", and which of its functions failed for want of something.
    With bare those whose inputs are not known are called without any."""
    called, listed = files_of(paths, "--functions", "--json")[0], files_of(paths, "--json")[0]
    asked = "".join(json.dumps([str(p), functions(f), bare, is_model(m)]) + "\n" for p, f, m in zip(paths, called, listed))
    done = subprocess.run([sys.executable, "-c", CHILD, loader, *map(str, libraries)], input=asked,
                          capture_output=True, text=True, timeout=900, check=True)
    for line in done.stdout.splitlines():
        said = json.loads(line)
        failed = {name: why for name, why in said["calls"].items()
                  if any(word in why.lower() for word in MISSING)}
        yield said.get("load", ""), failed, said["calls"]


def forecasts(paths, *options):
    """Of each path the verdict, the functions that are said to fail, and why."""
    files, status = files_of(paths, "--check", "--json", *options)
    for path, file in zip(paths, files):
        if "error" in file:
            yield "does-not-load", set(), [file["error"]["message"]]
            continue
        assert file["loads"] is (None if file["verdict"] == "open" else file["verdict"] != "does-not-load"), path
        why = [f["message"] for f in file["findings"] if f["severity"] == "error"]
        yield file["verdict"], set(file["failing"]), why
    if not any("error" in file for file in files):
        assert status == any(file["verdict"] not in ("loads", "open") for file in files), (paths, status)


def forecast(path, *options):
    """The same of one path."""
    return next(forecasts([path], *options))


def compare(loader, paths, *options, libraries=(), bare=False):
    """A line for each library of which something else was said than happens."""
    differences = []
    said = zip(paths, happens(loader, paths, libraries, bare), forecasts(paths, *options), strict=True)
    for path, (load, failed, calls), (verdict, failing, why) in said:
        some = any(w.startswith("some function fails") for w in why)
        # it opens, and is of no use: either may be said
        if calls and all("no such function" in why for why in calls.values()) and verdict == "does-not-load":
            load = "none of its functions is found"
        real = "does-not-load" if load else "fails-when-called" if failed else "loads"
        unseen = failing - set(calls)
        # a function that nobody could call here may fail all the same
        if real == "loads" and verdict == "fails-when-called" and all(
                not calls.get(name) and name not in failed for name in failing) and (unseen or not failing):
            real = verdict
        if verdict != real:
            differences.append(f"{path}: forecast {verdict} {why}, happened {real} {load or failed}")
        elif real == "fails-when-called" and failed.keys() - failing and not some:
            differences.append(f"{path}: forecast {failing}, failed {failed}")
    return differences
