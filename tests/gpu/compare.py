#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models on an NVIDIA GPU beside TVM's own runtime, and standalone ones under PyTorch.

    TVM_USE_RUNTIME_LIB=1 tests/gpu/compare.py FOLDER

FOLDER is what tests/gpu/models.py made. TVM's runtime without its compiler is enough. For each model that has a
standalone.so: results of both, and microseconds a call with everything on the device: the median of calls that wait for
their end, and the median of rounds of calls in a row, the rounds of both in turn. A standalone model gives its results
where the first tensor among the inputs is, so that one without inputs copies them to the host, which TVM does not.
PyTorch: results on its current stream, capture as a CUDA graph.
"""
import argparse
import ctypes
import pathlib
import statistics
import subprocess
import tempfile
import time
import tomllib

import numpy
import torch
import tvm_ffi

ROUNDS, CALLS = 7, 100


def calls_of(folder):
    """The calls of a model: (function, inputs, expected), each once."""
    seen = set()
    for case in tomllib.loads((folder / "cases.toml").read_text())["case"]:
        key = case["name"].rsplit(" times ", 1)[0]
        texts = [a.get("input", "") for a in case["args"]] + list(case.get("expect", []))
        if key in seen or not all(t.startswith("@") for t in texts):
            continue
        seen.add(key)
        given = [numpy.load(folder / a["input"][1:]) for a in case["args"]]
        yield case["run"], given, [numpy.load(folder / e[1:]) for e in case["expect"]]


def flat(result):
    if hasattr(result, "__dlpack__"):
        return [result]
    return [leaf for item in result for leaf in flat(item)]


def to_torch(x):
    return x if isinstance(x, torch.Tensor) else torch.from_dlpack(x)


def close(results, expected):
    got = [to_torch(r).cpu().numpy() for r in flat(results)]
    return len(got) == len(expected) and all(
        g.shape == e.shape and numpy.allclose(g, e, rtol=1e-4, atol=1e-4) for g, e in zip(got, expected))


def time_round(call):
    """([us of each call that waits], us of a call in a row)"""
    each = []
    for _ in range(CALLS // 4):
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        each.append(time.perf_counter() - start)
    start = time.perf_counter()
    for _ in range(CALLS):
        call()
    torch.cuda.synchronize()
    return [1e6 * s for s in each], 1e6 * (time.perf_counter() - start) / CALLS


def time_calls(*calls):
    """(us of a call that waits, us of one in a row) of each, as medians"""
    for call in calls:
        for _ in range(20):
            call()
    torch.cuda.synchronize()
    rounds = [[time_round(call) for call in calls] for _ in range(ROUNDS)]
    return [(statistics.median(s for each, _ in of for s in each), statistics.median(row for _, row in of))
            for of in zip(*rounds)]


class Log:
    def __init__(self):
        self.counts = {"ok": 0, "FAIL": 0}

    def check(self, name, holds, more=""):
        word = "ok" if holds else "FAIL"
        self.counts[word] += 1
        print(f"{word:4} {name}{more and ': '}{more}", flush=True)


def start_tvm():
    """TVM's runtime for CUDA, and the compiler that it calls for kernels: they are source in its libraries."""
    import tvm  # pylint: disable=import-outside-toplevel
    ctypes.CDLL(str(pathlib.Path(tvm.__file__).parent / "lib" / "libtvm_runtime_cuda.so"), ctypes.RTLD_GLOBAL)

    @tvm_ffi.register_global_func("tvm_callback_cuda_compile", override=True)
    def compile_cuda(code):  # pylint: disable=unused-variable
        major, minor = torch.cuda.get_device_capability()
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "kernels.cu"
            source.write_text(code)
            subprocess.run(["nvcc", "-fatbin", f"-arch=sm_{major}{minor}", source, "-o", source.with_suffix(".fatbin")],
                           check=True, capture_output=True)
            return source.with_suffix(".fatbin").read_bytes()


def tvm_machine(library):
    import tvm  # pylint: disable=import-outside-toplevel
    from tvm.runtime import vm  # pylint: disable=import-outside-toplevel
    return vm.VirtualMachine(tvm.runtime.load_module(str(library)), [tvm.cuda(0), tvm.cpu(0)])


def beside_tvm(log, folder):
    """The same calls by TVM and by the standalone library, in one process."""
    try:
        machine = tvm_machine(folder / "model.so")
        load = tvm_ffi.load_module
        ours = load(str(folder / "standalone.so")) if (folder / "standalone.so").exists() else None
    except Exception as why:  # pylint: disable=broad-except
        log.check(folder.name, False, str(why).splitlines()[-1][:200])
        return
    for function, given, expected in calls_of(folder):
        args = [tvm_ffi.from_dlpack(torch.from_numpy(x).cuda()) for x in given]
        works = {}
        for who, f in ("TVM", machine[function]), ("ours", ours and ours[function]):
            if f is None:
                continue
            try:
                log.check(f"{folder.name} {function} by {who}", close(f(*args), expected))
                works[who] = lambda f=f, args=args: f(*args)
            except Exception as why:  # pylint: disable=broad-except
                log.check(f"{folder.name} {function} by {who}", False, str(why).splitlines()[-1][:200])
        print("     us a call, waited for and in a row: " + ", ".join(
            f"{who} {a:.1f} {b:.1f}" for who, (a, b) in zip(works, time_calls(*works.values()))), flush=True)


def value_of(text, folder, kept):
    """An argument of a case file, for TVM."""
    if text.startswith("("):
        return [value_of(x, folder, kept) for x in text[1:-1].split("; ")]
    if text.startswith("$"):
        return kept[text[1:]]
    if text.startswith("@"):
        return tvm_ffi.from_dlpack(torch.from_numpy(numpy.load(folder / text[1:])).cuda())
    kind, value = text.split("=", 1)
    return {"shape": lambda: tvm_ffi.Shape([int(x) for x in value.split(",") if x]), "i64": lambda: int(value),
            "f64": lambda: float(value), "str": lambda: value}[kind]()


def story_by_tvm(log, folder):
    """The calls of a model with state, made by TVM on this GPU: what it itself does of them, until the first that fails."""
    machine, kept, done = tvm_machine(folder / "model.so"), {}, 0
    for case in tomllib.loads((folder / "cases.toml").read_text())["case"]:
        name = case["run"]
        f = tvm_ffi.get_global_func(name) if name.startswith("vm.") else machine[name]
        try:
            result = f(*[value_of(a.get("input") or a["out"], folder, kept) for a in case["args"]])
            torch.cuda.synchronize()
        except Exception as why:  # pylint: disable=broad-except
            if "raises" not in case:
                log.check(f"{folder.name} by TVM, call {case['name']}", False, str(why).splitlines()[-1][:200])
                return
            continue
        if "keep" in case:
            kept[case["keep"]] = result
        if case.get("expect", [""])[0].startswith("@") and "out" not in case["args"][-1]:
            leaf = result if hasattr(result, "__dlpack__") else result[0]
            if not close(leaf, [numpy.load(folder / case["expect"][0][1:])]):
                log.check(f"{folder.name} by TVM, call {case['name']}", False, "another result than on the CPU")
                return
            done += 1
    log.check(f"{folder.name} by TVM", True, f"{done} results as on the CPU")


def under_torch(log, folder):
    """Streams and graphs of PyTorch."""
    f = tvm_ffi.load_module(str(folder / "standalone.so"))
    function, given, expected = next(calls_of(folder))
    f = f[function]
    inputs = [torch.from_numpy(x).cuda() for x in given]

    def call():
        return [to_torch(r) for r in flat(f(*inputs))]

    log.check("torch: results are on the GPU", all(r.is_cuda for r in call()) and close(call(), expected))
    stream = torch.cuda.Stream()
    spare = torch.empty(1 << 28, device="cuda")
    with torch.cuda.stream(stream):
        late = [torch.zeros_like(x) for x in inputs]
        wrong = 0
        for _ in range(20):  # an input that is there only when the stream has come to it
            for x in late:
                x.zero_()
            for _ in range(8):
                spare.normal_()
            for x, y in zip(late, inputs):
                x.copy_(y)
            with tvm_ffi.use_torch_stream(stream):
                results = [to_torch(r) * 1 for r in flat(f(*late))]
            wrong += not close(results, expected)
    stream.synchronize()
    log.check("torch: kernels wait for what its stream holds", wrong == 0, f"{wrong} of 20 wrong")

    with torch.cuda.stream(stream), tvm_ffi.use_torch_stream(stream):
        for _ in range(3):
            call()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph, stream=stream), tvm_ffi.use_torch_stream(stream):
            results = call()
        for x in inputs:
            x.mul_(1)
        graph.replay()
        torch.cuda.synchronize()
        log.check("torch: a CUDA graph gives the same", close(results, expected))
        print("     us a replay, waited for and in a row: {:.1f} {:.1f}".format(*time_calls(graph.replay)[0]))
    except Exception as why:  # pylint: disable=broad-except
        log.check("torch: a CUDA graph gives the same", False, str(why).splitlines()[0][:200])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    given = parser.parse_args()
    log = Log()
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, tvm-ffi {tvm_ffi.__version__}")
    start_tvm()
    for folder in sorted(given.folder.iterdir()):
        if (folder / "standalone.so").exists() and not folder.name.startswith("decoder"):
            beside_tvm(log, folder)
    for folder in sorted(given.folder.glob("decoder-*-bytecode")):
        story_by_tvm(log, folder)
    under_torch(log, given.folder / "transformer_bound-bytecode")  # one that reads nothing back
    print(f"{log.counts['ok']} passed, {log.counts['FAIL']} failed")
    raise SystemExit(log.counts["FAIL"] > 0)


if __name__ == "__main__":
    main()
