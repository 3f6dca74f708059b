# a name that is there, but not where it was looked for: said where; and calls that run as they are printed
cat >host.c <<'END'
int __tvm_ffi_idle(void *s, void *a, int n, void *r);
int __tvm_ffi_idle(void *s, void *a, int n, void *r) { (void)s, (void)a, (void)n, (void)r; return 0; }
END
printf '__kernel void twice(__global const float *x, __global float *y, int n)\n{ int i = get_global_id(0); if (i < n) y[i] = 2 * x[i]; }\n' >twice.cl
printf 'extern "C" __global__ void half(const float *x, float *y, int n)\n{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i] / 2; }\n' >half.cu
mpack init host.c half.cu twice.cl >two.toml
mpack build two.toml -o two.so
try() { "$@" || echo "status $?"; }
exec 2>&1
# shellcheck disable=SC2016 # a name in backquotes is none of the shell's
of() { minspect --json two.so | jq -r --arg kind "$1" '.files[0].tree[] | select(.kind == $kind).path'; }
opencl=$(of opencl) cuda=$(of cuda)
try minspect --show '#idle' two.so
try minspect --show "$opencl#half" two.so
try minspect --disasm="$cuda#twice" two.so
try minspect --show /9 two.so
# each function's own device, as two kinds of device code are there
minspect --functions two.so | sed -n '/^host/,/^\//p' | grep 'minspect run'
try minspect --run twice two.so --input 2xf32=1,2 --out 2xf32
# commands and sizes that are nearly right
try mpack twice.cl
try mpack two.so
minspect --size --budget 1M two.so >/dev/null || echo "status $?"
try minspect --size --budget 1K two.so >/dev/null
# damage that keeps a structure shows where a digest was stored alone
minspect -v --verify data/formats/01_opencl_scale.so | grep digest
