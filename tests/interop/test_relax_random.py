# SPDX-License-Identifier: Apache-2.0
"""Random Relax programs give in minspect what they give in TVM, to the last bit.

MPK_RELAX_PROGRAMS: how many (60). MPK_RELAX_SEED: the number of the first (1); each program is made from
its number alone, so that one that fails can be made again: MPK_RELAX_PROGRAMS=1 MPK_RELAX_SEED=17.
"""
import os

import pytest
import relaxlib
import relaxrandom
import relaxrun

COUNT = int(os.environ.get("MPK_RELAX_PROGRAMS", "60"))
FIRST = int(os.environ.get("MPK_RELAX_SEED", "1"))
BATCH = 10  # programs in one module
# n, m. None is 0: what TVM's kernels make of no elements at all, a sum of none, is what was there.
SIZES = ((3, 2), (1, 4), (7, 1))


@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, BATCH))
def test_random_programs(first, minspect, tmp_path):
    programs = [relaxrandom.Program(seed)
                for seed in range(first, min(first + BATCH, FIRST + COUNT))]
    source = relaxrandom.source(programs)
    mode = relaxrun.MODES[first // BATCH % 3 == 2]
    print(f"programs from seed {first} on, {mode}:\n{source}")  # pytest shows it on failure
    module, library = relaxlib.parse(source), tmp_path / "model.so"
    run = relaxrun.Calls(tmp_path, relaxrun.build(module, library, mode))
    for program in programs:
        for n, m in SIZES:
            run.add(program.main.name, program.inputs(n, m), tag=f"n={n} m={m}")
    run.compare(minspect, library)
    relaxrun.compare_signatures(minspect, library, module, mode)
