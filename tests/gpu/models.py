#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models for an NVIDIA GPU, compiled by TVM where there is none, with what TVM's CPU gives for their calls.

    tests/gpu/models.py FOLDER [ARCH]

Needs TVM 0.27 or later (tests/interop/requirements.txt), and mpack in out/release/bin. Each model is a folder with model.so for the
GPU (ARCH, sm_90 by default), cases.toml with the calls and their arrays, and, of models without state, standalone.so.
scripts/check-cuda --models FOLDER makes the calls on a GPU; tests/gpu/compare.py times them there beside TVM's own
runtime.
"""
import pathlib
import shutil
import subprocess
import sys

import numpy
import tvm

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "interop"))
# pylint: disable=wrong-import-position
import relaxmodels
import relaxrun
import statemodels
import test_state
from staterun import KV, Kept, shape


def cuda(arch):
    return tvm.target.Target({"kind": "cuda", "arch": arch, "max_threads_per_block": 1024,
                              "max_shared_memory_per_block": 49152, "thread_warp_size": 32},
                             host="llvm")


def plain(make, folder, target, mode):
    """A model without state; sums in another order differ in the last bits."""
    module, calls = make(numpy.random.default_rng(1))
    tvm.relax.build(module, target=target, exec_mode=mode).export_library(str(folder / "model.so"))
    module, calls = make(numpy.random.default_rng(1))
    run = relaxrun.Calls(folder, relaxrun.build(module, folder / "host.so", mode))
    for function, inputs, tag in calls:
        run.add(function, inputs, tolerance=1e-4, tag=tag)
    (folder / "cases.toml").write_text("\n".join(run.lines))
    subprocess.run([ROOT / "out/release/bin/mpack", "build", folder / "model.so", "--standalone", "-o",
                    folder / "standalone.so"], check=True)


def decoder(act, folder, target, mode, **options):
    """A decoder with a paged cache, to which act does what an engine would."""
    module, _ = statemodels.decoder(numpy.random.default_rng(1), target=target, **options)
    tvm.relax.build(module, target=target, exec_mode=mode).export_library(str(folder / "model.so"))
    rng = numpy.random.default_rng(1)
    module, weights = statemodels.decoder(rng, **options)
    story = test_state.started(relaxrun.build(module, folder / "host.so", mode), weights, folder,
                               sizes=[shape(8), shape(900), shape(64), shape(16)])
    act(story, rng)
    (folder / "cases.toml").write_text("\n".join(story.lines))


def greedy(story, rng):
    """64 tokens at once, then 32 one by one, each the likeliest."""
    story.call(KV + "add_sequence", Kept("cache"), 7)
    tokens = rng.integers(0, statemodels.VOCABULARY, 64).astype("int32")
    logits = test_state.forward(story, "prefill", [7], tokens, [64])
    for _ in range(32):
        token = numpy.array([test_state.greedy(logits)], "int32")
        logits = test_state.forward(story, "decode", [7], token, [1])


def sequences(story, rng):
    """80 operations in any order: add, fork, remove, popn, prefill, decode, and wrong ones."""
    made = test_state.Sequences(story, rng)
    made.act(80)
    test_state.compare_contents(story, made.lengths)


def main(folder, arch="sm_90"):
    target = cuda(arch)
    jobs = [(m.__name__, plain, m, {}) for m in relaxmodels.MODELS]
    jobs += [("decoder-greedy", decoder, greedy, {}),
             ("decoder-random", decoder, sequences, {}),
             ("decoder-inline", decoder, sequences, {"rope": statemodels.RopeMode.INLINE}),
             ("decoder-sliding", decoder, sequences,
              {"kinds": ["mha_sliding", "mha", "mha_sliding"], "window": 32})]
    for name, make, what, options in jobs:
        for mode in relaxrun.MODES:
            into = pathlib.Path(folder) / f"{name}-{mode}"
            shutil.rmtree(into, ignore_errors=True)
            into.mkdir(parents=True)
            try:
                make(what, into, target, mode, **options)
                print(f"{into.name}: {(into / 'cases.toml').read_text().count('[[case]]')} calls")
            except Exception as why:  # pylint: disable=broad-except
                # what TVM does not compile for a GPU; the reason is the log's
                print(f"{into.name}: not compiled: {str(why).splitlines()[-1][:150]}")
                shutil.rmtree(into)
                continue
            (into / "host.so").unlink()


if __name__ == "__main__":
    main(*sys.argv[1:])
