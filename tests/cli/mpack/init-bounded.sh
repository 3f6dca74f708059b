# a bound of the threads of a block, in whatever place and form: what init prints builds, and a larger block does not
cat >k.cu <<'END'
#define THREADS 64
extern "C" __global__ __launch_bounds__(128) void before(float *x, int n) { int i = threadIdx.x + blockIdx.x * blockDim.x; if (i < n) x[i] = 1; }
extern "C" __global__ void __launch_bounds__(128, 2) behind(float *x, int n) { int i = threadIdx.x + blockIdx.x * blockDim.x; if (i < n) x[i] = 1; }
__launch_bounds__(THREADS) __global__ void first(float *x, int n) { int i = threadIdx.x + blockIdx.x * blockDim.x; if (i < n) x[i] = 1; }
__global__ void __launch_bounds__(THREADS * 2) product(float *x, int n) { int i = threadIdx.x + blockIdx.x * blockDim.x; if (i < n) x[i] = 1; }
__global__ void none(float *x, int n) { int i = threadIdx.x + blockIdx.x * blockDim.x; if (i < n) x[i] = 1; }
END
mpack init k.cu >mpack.toml
grep -E '^(# decide|name  |grid|block)' mpack.toml
mpack check
sed -e 's/^block  = \[128\]/block = [256]/' -e 's/^block  = \[64\]/block = [65]/' mpack.toml | mpack check - || echo "status $?"
# a group that the code demands, in words
cat >k.cl <<'END'
#define SIDE 8
#ifndef OTHER
#define OTHER 8
#endif
__attribute__((reqd_work_group_size(SIDE, 1, 1))) __kernel void known(__global float *x) { x[get_global_id(0)] = 1; }
__kernel __attribute__((reqd_work_group_size(OTHER, 1, 1))) void hidden(__global float *x) { x[get_global_id(0)] = 1; }
END
mpack init k.cl | sed -n '/^# decide/,$p'
