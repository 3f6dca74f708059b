#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's CUDA libraries thinned to this GPU, and the same work done with them.

    tests/gpu/thin.py [--mpack PATH]

As root on a machine with PyTorch for CUDA: each library is thinned to the GPU's architecture, put over the original in a
mount namespace of its own, and the work of WORK gives the same bytes as before. Then a library of nvcc's with line
tables and relocatable code, without these.
"""
import argparse
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import time

WORK = """
import hashlib, os, torch
import torch.distributed as dist
torch.manual_seed(0)
torch.backends.cudnn.deterministic = True
made = []
def note(t):
    made.append(hashlib.sha256(t.float().cpu().contiguous().numpy().tobytes()).hexdigest()[:8])
x = torch.randn(256, 512, device="cuda")
for t in (torch.float32, torch.float16, torch.bfloat16):
    note(x.to(t) @ x.to(t).T)
note(torch.nn.functional.conv2d(torch.randn(4, 16, 32, 32, device="cuda"), torch.randn(32, 16, 3, 3, device="cuda")))
for f in (torch.softmax, torch.cumsum, torch.argsort):
    note(f(x, 1))
note(torch.fft.rfft(x).abs()); note(torch.linalg.qr(x)[1].abs()); note(torch.nn.functional.layer_norm(x, (512,)))
q = torch.randn(2, 8, 128, 64, device="cuda", dtype=torch.float16)
note(torch.nn.functional.scaled_dot_product_attention(q, q, q))
note(torch.randn(1000, device="cuda", generator=torch.Generator("cuda").manual_seed(1)))
note(torch.unique((x * 3).int()).float())
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29555")
dist.init_process_group("nccl", rank=0, world_size=1, device_id=torch.device("cuda:0"))
dist.all_reduce(x); note(x)
dist.destroy_process_group()
print("digest", *made)
"""

SOURCE = """
#include <stdio.h>
__constant__ float table[4] = { 1, 2, 3, 4 };
__device__ float twice(float x);
__global__ void work(float *x) { x[threadIdx.x] = twice(x[threadIdx.x]) + table[threadIdx.x & 3]; }
extern "C" int run(float *host)
{
	float *d;
	cudaMalloc(&d, 256 * sizeof *d);
	cudaMemcpy(d, host, 256 * sizeof *d, cudaMemcpyHostToDevice);
	work<<<1, 256>>>(d);
	cudaError_t e = cudaDeviceSynchronize();
	cudaMemcpy(host, d, 256 * sizeof *d, cudaMemcpyDeviceToHost);
	cudaFree(d);
	return e ? e : cudaGetLastError();
}
"""
counts = {"ok": 0, "FAIL": 0}


def check(name, holds, more=""):
    word = "ok" if holds else "FAIL"
    counts[word] += 1
    print(f"{word:4} {name}{more and ': '}{more}", flush=True)


def run(*command, **options):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)


def digest(mounts=()):
    """What the work gives, each step by the beginning of its digest, with files over others."""
    lines = [f"mount --bind '{thin}' '{library}' || exit 9" for thin, library in mounts]
    done = run("unshare", "-m", "sh", "-c", "\n".join([*lines, f"exec '{sys.executable}' -c \"$WORK\""]),
               env={**os.environ, "WORK": WORK})
    found = [line for line in done.stdout.splitlines() if line.startswith("digest")]
    return found[0] if found else "nothing: " + done.stderr.strip()[-300:]


def thin_of(mpack, library, folder, device):
    """(the thinned library, what is to be said); None: it could not be"""
    out, start = folder / library.name, time.perf_counter()
    done = run(mpack, "thin", library, "-o", out, "--device-arch", device)
    took = time.perf_counter() - start
    if done.returncode:
        return None, done.stderr.strip().splitlines()[-1][:200]
    return out, f"{library.stat().st_size >> 20} to {out.stat().st_size >> 20} MiB in {took:.2f} s"


def pytorch(mpack, folder, device):
    import torch  # pylint: disable=import-outside-toplevel
    site = pathlib.Path(torch.__file__).parent.parent
    before = digest()
    check("PyTorch as it is", before.startswith("digest") and before == digest(), before)
    mounts = []
    for library in sorted({*site.glob("torch/lib/*.so*"), *site.glob("nvidia/**/lib/*.so*")},
                          key=lambda p: -p.stat().st_size):
        if library.stat().st_size < 20 << 20 or library.is_symlink():
            continue
        thin, said = thin_of(mpack, library, folder, device)
        if not thin:
            print(f"     {library.name}: {said}")
            continue
        mounts.append((thin, library))
        print(f"     {library.name}: {said}", flush=True)
    saved = sum(l.stat().st_size - t.stat().st_size for t, l in mounts)
    after = digest(mounts)
    check(f"PyTorch with {len(mounts)} thinned libraries, {saved >> 20} MiB less", after == before, after)


def relocatable(mpack, folder, sm):
    """Line tables and relocatable code taken out; the driver takes what is left."""
    (folder / "a.cu").write_text(SOURCE)
    (folder / "b.cu").write_text("__device__ float twice(float x) { return 2 * x; }\n")
    library, thin = folder / "own.so", folder / "own-thin.so"
    done = run("nvcc", "-lineinfo", "-rdc=true", "-shared", "-Xcompiler", "-fPIC", "-gencode", f"arch=compute_{sm},code=sm_{sm}",
               "-gencode", "arch=compute_80,code=sm_80", "-o", library, folder / "a.cu", folder / "b.cu")
    if done.returncode:
        check("nvcc", False, done.stderr[-200:])
        return
    done = run(mpack, "thin", library, "-o", thin, "--keep", f"sm_{sm}", "--drop-debug", "--drop-relocatable")
    check("mpack thin --drop-debug --drop-relocatable", done.returncode == 0, done.stderr[-200:])
    for path in (library, thin):
        host = (ctypes.c_float * 256)(*range(256))
        status = ctypes.CDLL(str(path)).run(host)
        check(f"{path.name} runs ({path.stat().st_size} bytes)", status == 0 and all(
            host[i] == 2 * i + 1 + i % 4 for i in range(256)), f"status {status}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpack", default="out/release/bin/mpack")
    given = parser.parse_args()
    capability = run("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader").stdout.split()[0]
    sm = capability.replace(".", "")
    with tempfile.TemporaryDirectory() as folder:
        relocatable(given.mpack, pathlib.Path(folder), sm)
        pytorch(given.mpack, pathlib.Path(folder), f"sm_{sm}")
    print(f"{counts['ok']} passed, {counts['FAIL']} failed")
    raise SystemExit(counts["FAIL"] > 0)


if __name__ == "__main__":
    main()
