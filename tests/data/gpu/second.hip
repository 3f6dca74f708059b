#define __global__ __attribute__((global))
typedef unsigned long size_t;
struct dim3 {
	unsigned x, y, z;
};
extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, size_t, struct stream *);

extern "C" __global__ void scale(float *y, float a)
{
	y[__builtin_amdgcn_workitem_id_x()] *= a;
}
