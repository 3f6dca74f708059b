# a manifest from kernels alone: it checks, builds and runs as it is
cat >'my kernels.cl' <<'END'
typedef struct { int w, h; } Dims;
#define REAL float
__kernel void vadd(__global const float *A, __global const float *B, __global float *C, int n)
{
	int i = get_global_id(0);
	if (i < n)
		C[i] = A[i] + B[i];
}
/* no bound: no thread may be too many */
__kernel void twice(__global float4 *restrict x) { x[get_global_id(0)] *= 2.0f; }
__kernel __attribute__((reqd_work_group_size(4, 2, 1)))
void fixed_block(__global int *out, uint w, uint h)
{
	if (get_global_id(0) < w && get_global_id(1) < h)
		out[get_global_id(1) * w + get_global_id(0)] = 7;
}
__kernel __attribute__((reqd_work_group_size(4, 1, 1)))
void fours(__global uchar *out) { out[get_global_id(0)] = 4; }
kernel void scaled(global half *out, constant double *in, long length, float none, char c) { }
__kernel void in_local(__global float *A, __local float *scratch) { }
__kernel void by_value(__global float *A, Dims d) { }
__kernel void vector(__global float *A, float4 v) { }
__kernel void made(__global REAL *A, REAL b) { }
__kernel void image(read_only image2d_t in, write_only image2d_t out, sampler_t s) { }
__kernel void images(read_only image2d_t in, write_only image2d_t out) { }
__kernel void pointers(__global float *A, __global void *B) { }
END
mpack init 'my kernels.cl' | tee mpack.toml
mpack check
mpack build
minspect --functions my_kernels.so | grep -o '^  [a-z_]*(.*'
