/* SPDX-License-Identifier: Apache-2.0 */
/* Two kernels of OpenMP, and in place of its runtime for devices functions that do nothing. */
#ifdef FIRST
void scale(float *x, int n, float f)
{
#pragma omp target teams distribute parallel for map(tofrom: x[0:n])
	for (int i = 0; i < n; i++)
		x[i] *= f;
}
#elif defined SECOND
void add(float *x, int n, float f)
{
#pragma omp target teams distribute parallel for map(tofrom: x[0:n])
	for (int i = 0; i < n; i++)
		x[i] += f;
}
#else
#pragma omp begin declare target device_type(nohost)
int __kmpc_target_init(void *a, void *b)
{
	return -1;
}
void __kmpc_target_deinit(void)
{
}
int __kmpc_global_thread_num(void *a)
{
	return 0;
}
void __kmpc_distribute_static_init_4(void *l, int t, int s, int *a, int *b, int *c, int *d, int e, int f)
{
}
void __kmpc_distribute_static_fini(void *l, int t)
{
}
void __kmpc_for_static_init_4(void *l, int t, int s, int *a, int *b, int *c, int *d, int e, int f)
{
}
void __kmpc_for_static_fini(void *l, int t)
{
}
void __kmpc_parallel_51(void *l, int t, int i, int n, int p, void *f, void *w, void **a, long m)
{
}
#pragma omp end declare target
#endif
