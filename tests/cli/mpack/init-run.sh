# what init made of kernels runs, its launch functions and the kernels themselves
minspect --devices | grep -q '^opencl:0 ' || { echo "no OpenCL device"; exit 77; }
cat >k.cl <<'END'
__kernel void vadd(__global const float *A, __global const float *B, __global float *C, int n)
{
	int i = get_global_id(0);
	if (i < n)
		C[i] = A[i] + B[i];
}
__kernel void twice(__global float4 *x) { x[get_global_id(0)] *= 2.0f; }
__kernel __attribute__((reqd_work_group_size(4, 1, 1)))
void fours(__global uchar *out) { out[get_global_id(0)] = 4; }
__kernel void fill(__global int *out, int rows, int cols)
{
	int y = get_global_id(0), x = get_global_id(1);
	if (y < rows && x < cols)
		out[y * cols + x] = 1;
}
END
printf '__kernel void plus(__global const double *in, __global double *out) { out[get_global_id(0)] = in[get_global_id(0)] + 1; }\n' >other.cl
mpack init k.cl other.cl >mpack.toml
mpack build -q
minspect --run vadd k.so --input 3xf32=1,2,3 --input 3xf32=10 --out 3xf32
minspect --run vadd k.so --input 3xf32=1,2,3 --input 2xf32=10 --out 3xf32 || echo "status $?"
minspect --run twice k.so --out 2x4xf32
minspect --run fours k.so --out 8xu8
minspect --run fill k.so --out 6xi32 --input i32=2 --input i32=3
minspect --run plus k.so --input 2xf64=1,2 --out 2xf64
# one name in two files: host code finds one of them
sed 's/plus/vadd/' other.cl >again.cl
mpack init k.cl again.cl | grep -A 1 again
# a program that brings its own loader, from the same text
sed 's/^name    = "k"/&\nstandalone = true/' mpack.toml >alone.toml
mpack build -q alone.toml -o alone.so
minspect --run vadd alone.so --input 3xf32=1,2,3 --input 3xf32=10 --out 3xf32
# kernels in a row by themselves: all are found from the root
mpack init other.cl >two.toml
sed '/^# decide/,$d' two.toml >rows.toml
mpack build -q rows.toml -o rows.so
minspect --run plus rows.so --input 2xf64=1,2 --out 2xf64 --grid 2 --block 1
