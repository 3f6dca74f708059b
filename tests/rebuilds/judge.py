#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""judge.py - code digests against compilers: changed kernels must differ, rebuilt ones must not

  judge.py [--minspect PATH] [--changes N] [--rebuilds N] [--compiler nvcc|clang] [--quick]

Kernels are made from templates, with one change each: a constant, an operator, the order of operands, a launch bound, the
bytes of shared memory, the body of a function that is called, a parameter, what a table or variable begins with, a
text that is printed. Each change is compiled beside what it changes; a digest that stays is a false "same". Kernels
beside it that were not changed must keep theirs.

Rebuilt are the same sources: in another folder, under another name, with and without line tables, packed in
another way, linked in another order, separately. A digest of a file that does not stay is a false "different".

Prints what it found and how many there were; status 1 for either mistake. Needs nvcc of CUDA 12 or later, or clang-19 with
lld. The cases of tests/cli try a few; all of it is --changes 1000 --rebuilds 100.
"""
import argparse
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

# One kernel: what can be changed in it alone. The slots are numbers and operators.
KERNEL = """
{called}
extern "C" __global__ void {bounds} k{i}(float *out, const float *in, {param} n)
{{
	__shared__ float tile[{tile}];
	int at = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = {start}f;
	tile[threadIdx.x % {tile}] = in[at];
	__syncthreads();
	for (int j = 0; j < {loops}; j++)
		sum = tile[(threadIdx.x + j) % {tile}] {op} (sum * {factor}f);
	if (at < n)
		out[at] = {order} {op2} called{i}(sum);
{tail}}}
"""
CALLED = "static __device__ __noinline__ float called{i}(float x) {{ return x * {inner}f + {bias}f; }}"

# Each row: what a change is called, and how it changes the slots of a kernel.
ALONE = {
    "constant": lambda s, r: s.update(factor=f"{float(s['factor']) + r.randint(1, 9)}"),
    "start": lambda s, r: s.update(start=f"{float(s['start']) + r.randint(1, 9)}"),
    "operator": lambda s, r: s.update(op={"+": "-", "-": "+", "*": "-"}[s["op"]]),
    "operands": lambda s, r: s.update(order="sum", op2="-") if s["op2"] == "+" else s.update(op2="+"),
    "launch bound": lambda s, r: s.update(bounds=f"__launch_bounds__({r.choice([64, 96, 160, 192])})"),
    "shared size": lambda s, r: s.update(tile=s["tile"] * 2),
    "loop": lambda s, r: s.update(loops=s["loops"] + r.randint(1, 3)),
    "called body": lambda s, r: s.update(inner=f"{float(s['inner']) + r.randint(1, 9)}"),
    "called bias": lambda s, r: s.update(bias=f"{float(s['bias']) + r.randint(1, 9)}"),
    "parameter": lambda s, r: s.update(param="long long" if s["param"] == "int" else "int"),
}

# What all kernels of an image may see: a change is a file of its own.
WIDE = """
__constant__ float table[4] = {{{a}f, {b}f, 3.f, 4.f}};
__device__ int counter = {c};
__device__ float (*chosen)(float);
static __device__ __noinline__ float deep(float x) {{ return x * x + {d}f; }}
static __device__ __noinline__ float shallow(float x) {{ return deep(x) - 1.f; }}
static __device__ float plus(float x) {{ return x + {e}f; }}
extern "C" __global__ void wide(float *out, int n)
{{
	out[n] = table[n & 3] + shallow(out[0]) + plus(out[1]);
	atomicAdd(&counter, n);
	if (n == 77)
		printf("{text} %d\\n", n);
}}
"""
WIDE_SLOTS = {"a": 1.5, "b": 2.5, "c": 5, "d": 7.5, "e": 0.25, "text": "first"}


def slots(rng):
    return {"factor": f"{rng.randint(2, 99)}.5", "start": f"{rng.randint(1, 99)}.25", "op": rng.choice("+-"),
            "order": "in[at]", "op2": "+", "bounds": "__launch_bounds__(128)", "tile": rng.choice([32, 64, 128]),
            "loops": rng.randint(2, 5), "inner": f"{rng.randint(2, 9)}.5", "bias": f"{rng.randint(1, 9)}.5",
            "param": rng.choice(["int", "long long"]), "tail": ""}


def kernel(i, s):
    return KERNEL.format(i=i, called=CALLED.format(i=i, **s), **s)


class Compiler:
    """What makes a library of sources; a row a way to do it that must not change what the code is."""

    devices = []
    is_quick = False

    def __init__(self, minspect):
        self.minspect = minspect
        self.calls = 0
        self.chosen = self.devices

    def choose(self, i):
        """All devices, or for what is compiled hundreds of times the i-th of them."""
        if self.is_quick:
            i = 1
        self.chosen = self.devices if i is None else [self.devices[i % len(self.devices)]]

    def run(self, *command, cwd=None):
        self.calls += 1
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(command)}: {done.stderr}")

    def digests(self, path):
        done = subprocess.run([self.minspect, "--json", "--code-digest", path], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["files"][0]

    def kernels(self, path):
        found = {}
        for part in self.digests(path)["parts"]:
            if part["what"] == "kernel":
                found.setdefault((part["name"], part["target"]), []).append(part["digest"])
        return found


class Nvcc(Compiler):
    name = "nvcc"
    suffix = ".cu"
    prefix = "#include <cstdio>\n"
    devices = ["-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=[sm_90,compute_90]",
               "-gencode=arch=compute_100,code=sm_100"]
    # Pairs of flags for the first and the second build.
    noise = [([], []), ([], ["-lineinfo"]), (["-lineinfo"], ["-lineinfo"]), (["--compress-mode=none"], ["--compress-mode=size"]),
             (["-rdc=true"], ["-rdc=true", "-lineinfo"]), ([], ["-Xcompiler", "-g"])]

    def __init__(self, minspect):
        super().__init__(minspect)
        self.path = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")

    def object(self, source, out, flags=()):
        self.run(self.path, *self.chosen, *flags, "-Xcompiler", "-fPIC", "-c", os.path.basename(source), "-o", out,
                 cwd=os.path.dirname(source))

    def link(self, objects, out, flags=()):
        self.run(self.path, *self.chosen, *flags, "-shared", *objects, "-o", out)


class Clang(Compiler):
    name = "clang"
    suffix = ".hip"
    prefix = """#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(n) __attribute__((amdgpu_flat_work_group_size(1, n)))
struct dim3 { unsigned x, y, z; };
extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, struct stream *);
#define printf(...) (void)0
static __device__ void atomicAdd(int *p, int v) { __atomic_fetch_add(p, v, 5); }
static __device__ void __syncthreads() { __builtin_amdgcn_s_barrier(); }
struct place { int x; };
#define threadIdx (place{(int)__builtin_amdgcn_workitem_id_x()})
#define blockIdx (place{(int)__builtin_amdgcn_workgroup_id_x()})
#define blockDim (place{128})
"""
    devices = ["--offload-arch=gfx90a", "--offload-arch=gfx1100", "--offload-arch=gfx906"]
    noise = [([], []), ([], ["-gline-tables-only"]), (["-g"], []), ([], ["--offload-compress"])]

    def __init__(self, minspect):
        super().__init__(minspect)
        self.path = shutil.which("clang++-19")

    def object(self, source, out, flags=()):
        self.run(self.path, "-x", "hip", *self.chosen, "-nogpulib", "-nogpuinc", "-O2",
                 "-fPIC", *flags, "-c", os.path.basename(source), "-o", out, cwd=os.path.dirname(source))

    def link(self, objects, out, flags=()):
        self.run("gcc", "-shared", "-nostdlib", *objects, "-o", out)


def write(folder, name, compiler, text):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name + compiler.suffix)
    with open(path, "w", encoding="ascii") as f:
        f.write(compiler.prefix + text)
    return path


def judge_alone(compiler, tmp, rng, count, each=20):
    """Files of `each` kernels; in the second one all but every fourth are changed."""
    same, moved, done = [], [], 0
    compiler.choose(None)
    kinds = itertools.cycle(ALONE)
    while done < count:
        before = [slots(rng) for _ in range(each)]
        after, changed = [dict(s) for s in before], {}
        for i in range(each):
            if i % 4 != 3 and done < count:
                changed[i] = next(kinds)
                ALONE[changed[i]](after[i], rng)
                done += 1
        paths = []
        for name, rows in (("before", before), ("after", after)):
            source = write(tmp, name, compiler, "".join(kernel(i, s) for i, s in enumerate(rows)))
            paths.append(source + ".o")
            compiler.object(source, paths[-1])
        a, b = (compiler.kernels(p) for p in paths)
        if set(a) != set(b) or len({n for n, _ in a}) != each:
            sys.exit(f"kernels are missing: {sorted(a)} {sorted(b)}")
        for (name, target), digest in sorted(a.items()):
            i = int(name[1:])
            if i in changed and digest == b[name, target]:
                same.append(f"{changed[i]} of {name} for {target}: {before[i]} {after[i]}")
            elif i not in changed and digest != b[name, target]:
                moved.append(f"{name} for {target} was not changed")
    return same, moved, done


def judge_wide(compiler, tmp, rng, count):
    same = []
    compiler.choose(1)
    source = write(tmp, "wide", compiler, WIDE.format(**WIDE_SLOTS))
    compiler.object(source, source + ".before.o")
    a = compiler.kernels(source + ".before.o")
    names = [n for n in WIDE_SLOTS if compiler.name == "nvcc" or n != "text"]
    for i in range(count):
        changed = dict(WIDE_SLOTS)
        slot = names[i % len(names)]
        changed[slot] = f"other{i}" if slot == "text" else changed[slot] + rng.randint(1, 10 ** 4)
        write(tmp, "wide", compiler, WIDE.format(**changed))
        compiler.object(source, source + ".after.o")
        b = compiler.kernels(source + ".after.o")
        whole = [compiler.digests(source + s)["digest"] for s in (".before.o", ".after.o")]
        if whole[0] == whole[1]:
            same.append(f"{slot}: the file's digest stays")
        # of a variable that a kernel finds by a relocation, or that only has a beginning, each kernel tells
        same += [f"{slot} for {key[1]}" for key in a if a[key] == b[key]]
    return same, count


SOURCES = """
namespace {{ __device__ float hidden{n} = 3.f; __global__ void anonymous{n}(float *x) {{ x[threadIdx.x] *= hidden{n} + {v}.f; }} }}
static __global__ void local{n}(float *x) {{ x[threadIdx.x] += {v}.5f; }}
template<class T> __global__ void typed{n}(T *x) {{ x[threadIdx.x] = x[0] + T({v}); }}
template __global__ void typed{n}<float>(float *);
template __global__ void typed{n}<int>(int *);
"""


def judge_rebuilds(compiler, tmp, rng, count):
    different = []
    for i in range(count):
        first, second = compiler.noise[i % len(compiler.noise)]
        compiler.choose(i // len(compiler.noise))
        rdc = [f for f in first if f.startswith("-rdc")]
        texts = []
        for n in range(2):
            text = "".join(kernel(10 * n + k, slots(rng)) for k in range(2)) + SOURCES.format(n=n, v=rng.randint(1, 99))
            # constants of files that are linked on the device lie in the order of the files, and code has their places
            if n == 0 and not rdc:
                text += WIDE.format(**dict(WIDE_SLOTS, c=i))
            texts.append(text)
        paths = []
        for turn, flags in enumerate((first, second)):
            folder = os.path.join(tmp, "here" if turn == 0 else f"elsewhere/of/{i}")
            names = ["one", "two"] if turn == 0 else [f"a_longer_name_{i}", "b"]
            objects = []
            for text, name in zip(texts, names):
                source = write(folder, name, compiler, text)
                compiler.object(source, source + ".o", flags)
                objects.append(source + ".o")
            paths.append(os.path.join(folder, "lib.so"))
            compiler.link(objects if turn == 0 else objects[::-1], paths[-1], rdc)
        done = subprocess.run([compiler.minspect, "--diff", paths[0], "--ignore=noise", paths[1]], capture_output=True,
                              text=True, check=False)
        if done.returncode:
            different.append(f"{first} and {second}: {done.stdout}{done.stderr}")
    return different, count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minspect", default="minspect")
    parser.add_argument("--changes", type=int, default=30)
    parser.add_argument("--rebuilds", type=int, default=3)
    parser.add_argument("--compiler", choices=["nvcc", "clang"], action="append")
    parser.add_argument("--quick", action="store_true", help="for one device each, instead of three in turn")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    wrong = 0
    for make in (Nvcc, Clang):
        if options.compiler and make.name not in options.compiler:
            continue
        compiler, rng = make(options.minspect), random.Random(options.seed)
        compiler.is_quick = options.quick
        if not compiler.path:
            print(f"{make.name}: not installed")
            continue
        with tempfile.TemporaryDirectory() as tmp:
            wide = max(options.changes // 5, 1)
            same, moved, alone = judge_alone(compiler, tmp, rng, options.changes - wide)
            more, wide = judge_wide(compiler, tmp, rng, wide)
            different, rebuilds = judge_rebuilds(compiler, tmp, rng, options.rebuilds)
        for line in same + more:
            print(f"{make.name}: false same: {line}")
        for line in moved + different:
            print(f"{make.name}: false different: {line}")
        print(f"{make.name}: {alone + wide} changed kernels, {len(same + more)} false same; {rebuilds} rebuilt libraries, "
              f"{len(moved + different)} false different")
        wrong += len(same + more + moved + different)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
