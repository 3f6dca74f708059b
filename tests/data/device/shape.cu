/* What two.cu does not have: a stack frame, a cluster, a fixed block, parameters beyond 4 KiB. */
struct big {
	int a[1030];
};

extern "C" __global__ void wide(__grid_constant__ const struct big b, int *out, int k)
{
	out[0] = b.a[k];
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster(int *out)
{
	out[0] = 1;
}

extern "C" __global__ void __block_size__((32, 2, 1)) block(int *out)
{
	out[threadIdx.x] = 1;
}

extern "C" __global__ void stack(int *out, int k)
{
	volatile int a[100];

	a[k] = out[1];
	out[0] = a[out[2]];
}
