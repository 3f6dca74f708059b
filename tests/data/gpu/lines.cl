/* SPDX-License-Identifier: Apache-2.0 */
/* lines.cl - accesses of every width and space, an atomic and a matrix instruction, each on its own line */
typedef float matrix __attribute__((ext_vector_type(16)));
typedef float wave __attribute__((ext_vector_type(8)));
typedef half halves __attribute__((ext_vector_type(16)));
struct three {
	float x, y, z;
};

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

__attribute__((reqd_work_group_size(64, 1, 1)))
__kernel void lines(__global float4 *wide, __global struct three *three, __global uchar *bytes, __global ushort *shorts,
		    __local float2 *shared, __global int *counter, __global float *sums, int n)
{
	uint lane = __builtin_amdgcn_workitem_id_x();
	uint i = __builtin_amdgcn_workgroup_id_x() * 64 + lane;
	volatile int own[8];

	for (int k = 0; k < 8; k++)
		own[k] = n + k;
	shared[lane] = wide[i].xy;
	three[i] = three[i + 64];
	bytes[i] = bytes[i + 1] + own[n & 7];
	shorts[i] = shorts[i + 1] ^ 3;
	__builtin_amdgcn_s_barrier();
	sums[i] = shared[lane ^ 1].y;
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
	__atomic_fetch_xor((__local int *)shared, n, __ATOMIC_RELAXED);
#if defined(__gfx942__)
	matrix m = 0.0f;
	m = __builtin_amdgcn_mfma_f32_32x32x2f32(sums[i], sums[i + 1], m, 0, 0, 0);
	sums[i + 2] = m.s0;
#elif defined(__gfx1100__)
	wave w = 0.0f;
	halves h = *(__global halves *)(sums + 64);
	w = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(h, h, w);
	sums[i + 2] = w.s0;
#endif
}
