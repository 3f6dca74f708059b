// Kernels of the launch-function examples for AMD GPUs, as in kernels.cu; make-hip.sh made code objects of them. What
// HIP's headers would declare stands here, as they need not be installed.
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define THREAD(axis) (int)__builtin_amdgcn_workitem_id_##axis()
#define BLOCK(axis)  (int)__builtin_amdgcn_workgroup_id_##axis()
typedef unsigned long size_t;

extern "C" __global__ void saxpy(const float *x, float *y, float alpha, int n)
{
	int i = BLOCK(x) * 128 + THREAD(x);
	if (i < n)
		y[i] = alpha * x[i] + y[i];
}

#define TILE 16
extern __shared__ float tile[]; // TILE rows of TILE + 1
extern "C" __global__ void transpose(const float *x, float *y, int rows, int cols)
{
	int lx = THREAD(x), ly = THREAD(y);
	int c = BLOCK(x) * TILE + lx, r = BLOCK(y) * TILE + ly;
	if (r < rows && c < cols)
		tile[ly * (TILE + 1) + lx] = x[r * cols + c];
	__builtin_amdgcn_s_barrier();
	int tc = BLOCK(y) * TILE + lx, tr = BLOCK(x) * TILE + ly;
	if (tr < cols && tc < rows)
		y[tr * rows + tc] = tile[lx * (TILE + 1) + ly];
}

extern "C" __global__ void __attribute__((amdgpu_flat_work_group_size(1, 256))) reduce(const float *x, float *part, long long n)
{
	__shared__ float sums[256];
	int l = THREAD(x);
	long long i = (long long)BLOCK(x) * 256 + l;
	sums[l] = i < n ? x[i] : 0.0f;
	for (int step = 128; step > 0; step /= 2) {
		__builtin_amdgcn_s_barrier();
		if (l < step)
			sums[l] += sums[l + step];
	}
	if (l == 0)
		part[BLOCK(x)] = sums[0];
}
