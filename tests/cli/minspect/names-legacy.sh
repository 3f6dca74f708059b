# before 0.22 every exported function is one that TVM calls: whatever its name begins with or has in it, but
# for what compilers and runtimes export
cat >host.c <<'END'
void *__tvm_module_ctx;
int (*__TVMFuncCall)(void *, void *, int *, int, void *, int *);
#define FUNCTION(id, symbol, ...)                                                                  \
	int id(long long *a, void *b, int c, long long *result, int *code, void *f) __asm__(symbol)  \
		__VA_ARGS__;                                                                       \
	int id(long long *a, void *b, int c, long long *result, int *code, void *f)                \
	{                                                                                          \
		*result = __LINE__;                                                                \
		*code = 0;                                                                         \
		return 0;                                                                          \
	}
#define WEAK __attribute__((weak))
#line 1
FUNCTION(f1, "_Z3fooPfi")
FUNCTION(f2, "_ZN5model4fuseIfLi4EEEvPT_")
FUNCTION(f3, "_one")
FUNCTION(f4, "__two")
FUNCTION(f5, "___three")
FUNCTION(f6, "a.b")
FUNCTION(f7, "a$b")
FUNCTION(f8, "a$")
FUNCTION(f9, "_")
FUNCTION(f10, "_ZN12_GLOBAL__N_13addEPf")
FUNCTION(f11, "__truncate")
FUNCTION(f12, "_initialise")
FUNCTION(f13, "_lookup_linked_param")
FUNCTION(f14, "weak", WEAK)
FUNCTION(f15, "__weak", WEAK)
/* no functions of the module */
FUNCTION(n1, "__truncsfhf2", WEAK)
FUNCTION(n2, "__udivti3")
FUNCTION(n3, "_ZN5model7inlinedEv", WEAK)
FUNCTION(n4, "_ZNSt6vectorIfE4pushEf")
FUNCTION(n5, "_ZSt4sortv")
FUNCTION(n6, "_Znwm")
FUNCTION(n7, "_ZThn8_N1A1fEv")
FUNCTION(n8, "_GLOBAL__sub_I_a")
FUNCTION(n9, "__cxa_guard_acquire")
FUNCTION(n10, "_Unwind_Resume")
FUNCTION(n11, "__tvm_parallel_lambda")
FUNCTION(n12, "TVMFuncCall")
FUNCTION(n13, "_ZN3tvm7runtime6ModuleC1Ev")
FUNCTION(n14, "__device_stub__Z3fooPfi")
FUNCTION(n15, "__asan_init")
FUNCTION(n16, "hidden", __attribute__((visibility("hidden"))))
END
cc -shared -fPIC -w -o lib.so host.c
nm -D --defined-only lib.so | grep -c ' [TW] '
minspect --functions lib.so | grep '^  [^ ]'
minspect --functions lib.so | sed -n 's/^    minspect --run \(.*\) lib.so --input.*/\1/p' >names
while read -r name; do
	echo "$name: $(eval "minspect --run $name lib.so")"
done <names
# a kernel of C++ keeps its mangled name, and so does the function that launches it
export POCL_CACHE_DIR="$PWD/cache"
minspect --devices | grep -q '^opencl:0 ' || { echo "no OpenCL device"; exit 77; }
echo '__kernel void _Z3fooPfi(__global float *y, int n) { y[get_global_id(0)] *= 2; }' >k.cl
for abi in legacy ffi-0.21 ffi; do
	cat >mpack.toml <<-END
	[package]
	name = "mangled"
	abi  = "$abi"
	[[module]]
	id   = "k"
	kind = "opencl"
	data = "k.cl"
	  [[module.function]]
	  name   = "_Z3fooPfi"
	  args   = ["handle", "int32"]
	  launch = ["blockIdx.x", "threadIdx.x"]
	[[function]]
	name   = "_Z3fooPfi"
	kernel = "k._Z3fooPfi"
	params = ["y: inout float32[n]"]
	args   = ["y", "n"]
	grid   = ["n"]
	block  = [1]
	END
	mpack build -o k.so
	minspect --functions k.so | grep -A 2 '^host'
	minspect --run _Z3fooPfi k.so --out 3xf32=1,2,3
	minspect --run _Z3fooPfi k.so --input 3xf64=1,2,3 2>&1 | cut -c 1-120
done
