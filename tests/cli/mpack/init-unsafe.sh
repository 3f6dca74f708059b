# what would build and then not run is left out, or said
cat >k.cl <<'END'
#include "common.h"
#if 0
__kernel void dead(__global float *x) { it's no code }
#if 1
#endif
#else
__kernel void live(__global float *x) { x[get_global_id(0)] = 1; }
#endif
__kernel void sizes(__global float *x, size_t n) { if (get_global_id(0) < n) x[get_global_id(0)] = 1; }
__kernel void rows(__global float **x) { }
END
mpack init k.cl | tee mpack.toml | grep -v '^ *\(args\|launch\|params\|grid\|block\) '
mpack build -q -o k.so
minspect --verify k.so
# host code of C++ without linkage of C
echo 'int __tvm_ffi_cc(void *self, const void *args, int n, void *out) { return 0; }' >nox.cc
mpack init nox.cc | tail -n 2
# PTX: a struct by value, dynamic shared memory of one kernel and not of the other
cat >k.ptx <<'END'
.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 buffer[];
.visible .entry by_value(.param .align 4 .b8 p[8], .param .u64 x) { ret; }
.visible .entry uses(.param .u64 x) { mov.u64 %rd1, buffer; ret; }
.visible .entry does_not(.param .u64 x) { ret; }
END
mpack init k.ptx | sed -n '/^ /p'
# machine code tells neither; names that two files have
cp data/device/two.sm_90.cubin data/device/two.ptx .
mpack init two.ptx two.sm_90.cubin | grep -n 'two.sm_90\|is left out'
# variables outside of the kernels that use them
printf 'extern __shared__ float s[];\nextern "C" __global__ void uses(float *x) { x[0] = s[0]; }\nextern "C" __global__ void does_not(float *x) { }\n' >s.cu
mpack init s.cu | grep 'name   =\|launch ='
# pages that tell of kernels are none
printf '# Kernels\n\n[![badge](x)](y)\n```\n__kernel void k(__global float *x) { }\n[package]\n[[module]]\n```\n' >README.md
printf '\n<!doctype html>\n<pre>__kernel void k(__global float *x) { get_global_id(0); } __tvm_ffi__library_bin[] = (</pre>\n' >page.html
printf '# Names: __tvm_ffi_main(\n' >CHANGELOG.md
for file in README.md page.html CHANGELOG.md; do
	mpack init "$file" || echo "status $?"
	minspect "$file" || echo "status $?"
done
# directives are none
printf '# pragma OPENCL EXTENSION cl_khr_fp16 : enable\n#\n# 1 "k.cl"\n__kernel void k(__global float *x) { }\n' >directives
mpack init directives | grep '^kind'
