/* Two kernels whose figures differ in every column that the readers report. */
__constant__ float weights[16];

extern "C" __global__ void __launch_bounds__(128)
scale(float *out, const float *in, float alpha, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = alpha * in[i] + weights[i & 15];
}

struct window {
	int first, last;
	double gain;
	char tag[3];
};

extern "C" __global__ void
gather(double *out, struct window w, const long long *index)
{
	__shared__ double tile[64];
	extern __shared__ double more[];
	volatile int spill[24];

	for (int k = 0; k < 24; k++)
		spill[k] = (int)index[k];
	tile[threadIdx.x & 63] = spill[w.first % 24] * w.gain;
	more[threadIdx.x] = w.tag[0];
	__syncthreads();
	out[threadIdx.x] = tile[63 - (threadIdx.x & 63)] + more[w.last];
}
