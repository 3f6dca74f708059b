#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels of Triton as libraries, called by tvm-ffi with PyTorch's tensors, beside Triton's own launcher.

    tests/gpu/triton_cache.py [--mpack PATH]

On a machine with an H100, PyTorch, Triton, tvm-ffi and a C compiler: the cubins of tests/data/triton, among them one with
a cluster, a cooperative grid and a programmatic launch, and one with a descriptor that the device makes; then what the
Triton that is there leaves in its cache. Microseconds a call, waited for and in a row.
"""
import argparse
import importlib.util
import os
import pathlib
import subprocess
import tempfile

import numpy
import torch
import tvm_ffi
from compare import Log, time_calls

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "triton"


def built(mpack, cubin, folder, *options):
    out = folder / f"{cubin.stem}.so"
    subprocess.run([mpack, "build", cubin, "--meta", cubin.with_suffix(".json"), "-o", out, "--via", "c", *options], check=True)
    return tvm_ffi.load_module(str(out))[cubin.stem]


def kernels_of_ours(log, mpack, folder):
    x, y = torch.randn(1024, device="cuda"), torch.randn(1024, device="cuda")
    out = torch.zeros(1024, device="cuda")
    built(mpack, DATA / "scaled_add.cubin", folder, "--grid", "ceildiv(n, 256)")(x, y, out, 1024, 0.5)
    log.check("scaled_add", torch.allclose(out, x + 0.5 * y))

    f = built(mpack, DATA / "record.cubin", folder, "--grid", "1")
    record = torch.zeros(9, device="cuda", dtype=torch.float64)
    f(record, -5, -6000000000, 0.25, 1e300, True, -7, -300, 1.5, -2.0)
    wanted = [-5, -6e9, 0.25, 1e300, 1, -7, -300, 1.5, -2]
    got = record.cpu().numpy()
    log.check("record: a scalar of each type", numpy.array_equal(got[:4], wanted[:4]) and abs(got[4]) == 1 and
              numpy.array_equal(got[5:], wanted[5:]), str(got.tolist()))

    out = torch.full((3,), -1, device="cuda", dtype=torch.int32)
    built(mpack, DATA / "clustered.cubin", folder)(out, 3, 8, 1)
    log.check("clustered: clusters of two, cooperative, programmatic", bool(((out >= 0) & (out < 8)).all()),
              str(out.tolist()))

    x = torch.randn(64, 16, device="cuda").half()
    out = torch.zeros(16, 16, device="cuda", dtype=torch.float16)
    built(mpack, DATA / "described.cubin", folder)(x, out, 64, 16, 1, 1, 1)
    log.check("described: memory for a descriptor", torch.equal(out, x[:16]))


def kernels_of_the_cache(log, mpack, folder):
    os.environ["TRITON_CACHE_DIR"] = str(folder / "cache")
    spec = importlib.util.spec_from_file_location("kernels", DATA / "kernels.py")
    kernels = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kernels)
    x, y = torch.randn(1 << 16, device="cuda"), torch.randn(1 << 16, device="cuda")
    ours, theirs = torch.zeros_like(x), torch.zeros_like(x)
    grid = (x.numel() // 256,)

    def by_triton():
        kernels.scaled_add[grid](x, y, theirs, x.numel(), 0.5, BLOCK=256)

    by_triton()
    cubin = next((folder / "cache").glob("*/scaled_add.cubin"))
    f = built(mpack, cubin, folder, "--grid", "ceildiv(n, 256)")
    f(x, y, ours, x.numel(), 0.5)
    log.check("from Triton's cache, the same bytes as Triton", torch.equal(ours, theirs))
    for who, call in ("Triton", by_triton), ("ours", lambda: f(x, y, ours, x.numel(), 0.5)):
        print("     us a call of {}, waited for and in a row: {:.1f} {:.1f}".format(who, *time_calls(call)[0]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpack", default="out/release/bin/mpack")
    given = parser.parse_args()
    log = Log()
    with tempfile.TemporaryDirectory() as folder:
        for check in kernels_of_ours, kernels_of_the_cache:
            try:
                check(log, given.mpack, pathlib.Path(folder))
            except Exception as why:  # pylint: disable=broad-except
                log.check(check.__name__, False, str(why).splitlines()[-1][:300])
    print(f"{log.counts['ok']} passed, {log.counts['FAIL']} failed")
    raise SystemExit(log.counts["FAIL"] > 0)


if __name__ == "__main__":
    main()
