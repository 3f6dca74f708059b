// Kernels of the launch-function examples. Sums and products are rounded one by one, so
// that a host reference can match every bit.
#pragma OPENCL FP_CONTRACT OFF

__kernel void saxpy(__global const float *x, __global float *y, float alpha, int n)
{
	int i = get_global_id(0);
	if (i < n)
		y[i] = alpha * x[i] + y[i];
}

#define TILE 16
__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void transpose(__global const float *x, __global float *y, int rows, int cols)
{
	__local float tile[TILE][TILE + 1];
	int lx = get_local_id(0), ly = get_local_id(1);
	int c = get_group_id(0) * TILE + lx, r = get_group_id(1) * TILE + ly;
	if (r < rows && c < cols)
		tile[ly][lx] = x[r * cols + c];
	barrier(CLK_LOCAL_MEM_FENCE);
	int tc = get_group_id(1) * TILE + lx, tr = get_group_id(0) * TILE + ly;
	if (tr < cols && tc < rows)
		y[tr * rows + tc] = tile[lx][ly];
}

// One partial sum for every 256 elements, as a tree.
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void reduce(__global const float *x, __global float *part, long n)
{
	__local float sums[256];
	int l = get_local_id(0);
	long i = get_global_id(0);
	sums[l] = i < n ? x[i] : 0.0f;
	for (int step = 128; step > 0; step /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (l < step)
			sums[l] += sums[l + step];
	}
	if (l == 0)
		part[get_group_id(0)] = sums[0];
}

// binary16 in memory, a 64-bit length and a scalar that the caller declares as float16
__kernel void scale_half(__global const half *x, __global half *y, float alpha, long n)
{
	long i = get_global_id(0);
	if (i < n)
		vstore_half_rte(vload_half(i, x) * alpha, i, y);
}
