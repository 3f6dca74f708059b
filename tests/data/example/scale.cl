__kernel void scale_kernel(__global const float *x, __global float *y, float alpha, int n)
{
	int i = get_group_id(0) * get_local_size(0) + get_local_id(0);

	if (i < n)
		y[i] = alpha * x[i];
}
