/* SPDX-License-Identifier: Apache-2.0 */
/* opencl_call - what one kernel call costs through the OpenCL API alone
 *
 * The yardstick for `minspect --run KERNEL --repeat`: the kernel, arguments and extents of
 * tests/data/cuda/vadd_opencl.so, each call waited for. Prints the median and the fastest call
 * in microseconds; exits 7 without a device.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { COUNT = 1024, WARMUP = 200, CALLS = 5000 };

static const char *const source =
	"__kernel void vadd(__global float *c, __global const float *a, __global const float *b)"
	"{ int i = get_group_id(0) * 128 + get_local_id(0); c[i] = a[i] + b[i]; }";

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(void)
{
	static double times[CALLS];
	cl_platform_id platform;
	cl_device_id device;
	cl_mem buffers[3];
	const size_t global = COUNT, local = 128;

	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS) {
		(void)fprintf(stderr, "no OpenCL device\n");
		return 7;
	}
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
	const char *text = source;
	cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
	if (clBuildProgram(program, 1, &device, NULL, NULL, NULL) != CL_SUCCESS)
		return 1;
	cl_kernel kernel = clCreateKernel(program, "vadd", NULL);
	for (unsigned i = 0; i < 3; i++)
		buffers[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, COUNT * sizeof(float), NULL,
					    NULL);
	for (int c = -WARMUP; c < CALLS; c++) {
		double start = now();

		for (unsigned i = 0; i < 3; i++)
			(void)clSetKernelArg(kernel, i, sizeof(cl_mem), &buffers[i]);
		if (clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL,
					   NULL) != CL_SUCCESS ||
		    clFinish(queue) != CL_SUCCESS)
			return 1;
		if (c >= 0)
			times[c] = now() - start;
	}
	qsort(times, CALLS, sizeof *times, order);
	(void)printf("%.3f %.3f\n", times[CALLS / 2], times[0]);
	return 0;
}
