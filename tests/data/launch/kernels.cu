// Kernels of the launch-function examples, as in kernels.cl. kernels.ptx was made from
// this file by `nvcc -ptx -arch=compute_75 -fmad=false` of CUDA 13.0.
#include <cuda_fp16.h>

extern "C" __global__ void saxpy(const float *x, float *y, float alpha, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = alpha * x[i] + y[i];
}

#define TILE 16
extern "C" __global__ void transpose(const float *x, float *y, int rows, int cols)
{
	extern __shared__ float tile[]; // TILE rows of TILE + 1
	int lx = threadIdx.x, ly = threadIdx.y;
	int c = blockIdx.x * TILE + lx, r = blockIdx.y * TILE + ly;
	if (r < rows && c < cols)
		tile[ly * (TILE + 1) + lx] = x[r * cols + c];
	__syncthreads();
	int tc = blockIdx.y * TILE + lx, tr = blockIdx.x * TILE + ly;
	if (tr < cols && tc < rows)
		y[tr * rows + tc] = tile[lx * (TILE + 1) + ly];
}

extern "C" __global__ void reduce(const float *x, float *part, long long n)
{
	__shared__ float sums[256];
	int l = threadIdx.x;
	long long i = (long long)blockIdx.x * 256 + l;
	sums[l] = i < n ? x[i] : 0.0f;
	for (int step = 128; step > 0; step /= 2) {
		__syncthreads();
		if (l < step)
			sums[l] += sums[l + step];
	}
	if (l == 0)
		part[blockIdx.x] = sums[0];
}

extern "C" __global__ void scale_half(const __half *x, __half *y, __half alpha, long long n)
{
	long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = __float2half_rn(__half2float(x[i]) * __half2float(alpha));
}
