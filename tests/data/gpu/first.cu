/* Compiled twice into one library: `shared_kernel` is then there twice, as a template's instances are. */
template <typename T> __global__ void shared_kernel(T *y, const T *x, int n)
{
	__shared__ T tile[256];
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	tile[threadIdx.x] = i < n ? x[i] : T(0);
	__syncthreads();
	for (int k = 0; k < 16; k++)
		y[i] += tile[(threadIdx.x + k) & 255] * T(k);
}
template __global__ void shared_kernel<float>(float *, const float *, int);

#ifdef SECOND
extern "C" __global__ void second(double *p)
{
	p[threadIdx.x] *= 2;
}
#else
extern "C" __global__ void __launch_bounds__(128) first(int *p, int n)
{
	if (threadIdx.x < n)
		p[threadIdx.x] += n;
}
#endif
