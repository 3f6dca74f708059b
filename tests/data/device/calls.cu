/* Stacks: of a kernel alone, of what it calls, and those that nobody knows. */
extern "C" __device__ __noinline__ int leaf(int n, int *o)
{
	volatile int b[30];

	b[n] = o[1];
	return b[o[2]];
}

extern "C" __device__ __noinline__ int middle(int n, int *o)
{
	volatile int b[20];

	b[n] = o[3];
	return b[o[4]] + leaf(n + 1, o) + b[n / 2];
}

extern "C" __device__ __noinline__ int again(int n, int *o)
{
	return n < 2 ? o[n] : again(n - 1, o) + again(n - 2, o);
}

extern "C" __global__ void none(int *o, int n)
{
	o[0] = n;
}

extern "C" __global__ void chain(int *o, int n)
{
	o[0] = middle(n, o) + middle(n + 1, o);
}

extern "C" __global__ void recursion(int *o, int n)
{
	o[0] = again(n, o);
}

extern "C" __global__ void pointer(int (*f)(int), int *o, int n)
{
	o[0] = f(n);
}
