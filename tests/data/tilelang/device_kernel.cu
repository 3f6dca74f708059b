// SPDX-License-Identifier: Apache-2.0
// A kernel declared as TileLang's compiler declares it; kernel.cubin is ptxas's output for a kernel of this name with
// these parameters and bounds (kernel.ptx) that does nothing.
#include <tl_templates/cuda/gemm.h>
#include <tl_templates/cuda/copy.h>

extern "C" __global__ void main_kernel(float* __restrict__ A, const float* __restrict__ B, int n);
extern "C" __global__ void __launch_bounds__(128, 1) main_kernel(float* __restrict__ A, const float* __restrict__ B, int n) {
  if (((((int)blockIdx.x) * 128) + ((int)threadIdx.x)) < n) {
    A[((((int)blockIdx.x) * 128) + ((int)threadIdx.x))] = B[((((int)blockIdx.x) * 128) + ((int)threadIdx.x))];
  }
}
