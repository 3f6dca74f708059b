# SPDX-License-Identifier: Apache-2.0
"""Writes the arrays of tests/data/narrow: numpy 2.4 and ml_dtypes 0.6 wrote those here.

For each type: `patterns`, every bit pattern; `values`, the float64 of each; `inputs`, float32 numbers
on, beside and between its numbers and beyond them; `rounded`, what they become."""
import sys
import warnings

import ml_dtypes
import numpy

warnings.simplefilter("ignore")
FLOATS = """float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2
            float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn""".split()
INTEGERS = "int4 uint4 int2 uint2".split()


def patterns(name):
    bits = int("".join(c for c in name.split("_")[0] if c.isdigit()))
    return numpy.arange(2 ** bits, dtype="uint8").view(getattr(ml_dtypes, name))


def inputs(values):
    numbers = numpy.unique(values[numpy.isfinite(values)].astype("float64"))
    between = (numbers[1:] + numbers[:-1]) / 2
    top, least = numbers[-1], numpy.abs(numbers[numbers != 0]).min()
    # what would follow the largest number, were there another
    step = top - numbers[-2]
    beyond = numpy.array([top + step / 2, top + step, top * 4, least / 2, least / 4])
    points = numpy.concatenate([numbers, between, beyond, -beyond]).astype("float32")
    sides = [numpy.nextafter(points, numpy.float32(side)) for side in (-numpy.inf, numpy.inf)]
    special = numpy.array([0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1e-45, 3e38], "float32")
    return numpy.concatenate([points, *sides, special])


for name in FLOATS:
    every = patterns(name)
    given = inputs(every.astype("float64"))
    numpy.savez_compressed(f"{sys.argv[1]}/{name}.npz", patterns=every,
                           values=every.astype("float64"), inputs=given,
                           rounded=given.astype(getattr(ml_dtypes, name)))
for name in INTEGERS:
    every = patterns(name)
    numpy.savez_compressed(f"{sys.argv[1]}/{name}.npz", patterns=every,
                           values=every.astype("float64"))
