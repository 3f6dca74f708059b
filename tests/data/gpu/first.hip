/* Two kernels for AMD GPUs; what HIP's headers would declare stands here, as they need not be installed. */
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
typedef unsigned long size_t;
struct dim3 {
	unsigned x, y, z;
};
extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, size_t, struct stream *);

extern "C" __global__ void saxpy(float *y, const float *x, float a, int n)
{
	int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();

	if (i < n)
		y[i] += a * x[i];
}

extern "C" __global__ void __attribute__((amdgpu_flat_work_group_size(64, 128))) flip(int *p)
{
	__shared__ int tile[128];
	int i = __builtin_amdgcn_workitem_id_x();

	tile[i] = p[i];
	__builtin_amdgcn_s_barrier();
	p[i] = tile[127 - i];
}
