# SPDX-License-Identifier: Apache-2.0
"""Random Relax programs in libmpk-run, by the Python package, beside TVM in one process: the same results, to the last bit.

MPK_RELAX_PROGRAMS and MPK_RELAX_SEED as in test_relax_random.py; other programs than there, unless they are set.
"""
import os

import numpy
import pytest
import relaxlib
import relaxrandom
import relaxrun

COUNT = int(os.environ.get("MPK_RELAX_PROGRAMS", "30"))
FIRST = int(os.environ.get("MPK_RELAX_SEED", "5001"))
BATCH = 10  # programs in one module
SIZES = ((3, 2), (1, 4), (7, 1))


def to_mpk(value):
    if isinstance(value, relaxrun.Shape):
        return numpy.array(value, "int64")
    if isinstance(value, (tuple, list)):
        return [to_mpk(x) for x in value]
    return value


def same(given, wanted):
    given = numpy.asarray(given)
    if isinstance(wanted, relaxrun.Shape):
        return given.tolist() == list(wanted)
    wanted = numpy.asarray(wanted)
    return given.shape == wanted.shape and given.dtype == wanted.dtype and given.tobytes() == wanted.tobytes()


def call(function, inputs):
    result = function(*[to_mpk(x) for x in inputs])
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, BATCH))
def test_random_programs(first, mpk, tmp_path):
    programs = [relaxrandom.Program(seed) for seed in range(first, min(first + BATCH, FIRST + COUNT))]
    source = relaxrandom.source(programs)
    mode = relaxrun.MODES[first // BATCH % 3 == 2]
    print(f"programs from seed {first} on, {mode}:\n{source}")  # pytest shows it on failure
    library = tmp_path / "model.so"
    machine = relaxrun.build(relaxlib.parse(source), library, mode)
    model = mpk.open(library)
    for program in programs:
        function = model[program.main.name]
        # another machine over the same code, and the first one again, which has a plan of its own by then
        sessions = [function, function.session(), function]
        for n, m in SIZES:
            inputs = program.inputs(n, m)
            wanted = relaxrun.leaves(machine[program.main.name](*[relaxrun.to_tvm(x) for x in inputs]))
            for f in sessions:
                given = call(f, inputs)
                assert len(given) == len(wanted)
                for i, (a, b) in enumerate(zip(given, wanted)):
                    assert same(a, b), f"{program.main.name}, n={n} m={m}, result {i}: {numpy.asarray(a)} and {b}"
