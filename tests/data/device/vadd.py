# SPDX-License-Identifier: Apache-2.0
# Makes vadd.131.tileirbc and vadd.134.tileirbc with cuda-tile 1.7.0; needs no GPU. README.md
import sys

import cuda.tile as ct
from cuda.tile import compilation


@ct.kernel(num_ctas=ct.ByTarget(sm_100=2, default=1))
def vadd(a, b, out, alpha, n: ct.Constant[int]):
    i = ct.bid(0)
    x = ct.load(a, index=(i,), shape=(n,))
    y = ct.load(b, index=(i,), shape=(n,))
    ct.store(out, index=(i,), tile=x + y * alpha)


array = compilation.ArrayConstraint(
    ct.float32, 1, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(), may_alias_internally=False)
scalar = compilation.ScalarConstraint(ct.float32)
convention = compilation.CallingConvention.cutile_python_v1()
signatures = [compilation.KernelSignature([array, array, array, scalar, n], convention, symbol="vadd_%d" % n)
              for n in (128, 256)]
for version in ("13.1", "13.4"):
    compilation.export_kernel(vadd, signatures, "vadd.%s.tileirbc" % version.replace(".", ""), gpu_code="sm_100",
                              output_format="tileir_bytecode", bytecode_version=version)
