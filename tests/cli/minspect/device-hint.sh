# tensors on a device that the function does not expect: the option that puts it right
export POCL_CACHE_DIR="$PWD/cache"
minspect --devices | grep -q '^opencl:0 ' || { echo "no OpenCL device"; exit 77; }
wrong() { minspect --run "$@" 2>&1 || echo "status $?"; }
# code of TVM, which checks its tensors in words of its own
wrong scale --device cpu data/formats/01_opencl_scale.so --input 5xf32=1 --out 5xf32 --input f32=2
# kernels of two kinds: the CPU is no better guess than any
cat >two.toml <<'END'
[package]
name = "two"

[[module]]
id = "cl"
kind = "opencl"
data = "data/launch/kernels.cl"
[[module.function]]
name = "saxpy"
args = ["handle", "handle", "float32", "int32"]
launch = ["blockIdx.x", "threadIdx.x"]

[[module]]
id = "cu"
kind = "cuda"
data = "data/launch/kernels.ptx"
[[module.function]]
name = "reduce"
args = ["handle", "handle", "int64"]
launch = ["blockIdx.x", "threadIdx.x"]

[[function]]
name = "saxpy"
kernel = "cl.saxpy"
params = ["alpha: float32", "x: in float32[n]", "y: inout float32[n]"]
args = ["x", "y", "alpha", "n"]
grid = ["ceildiv(n, 128)"]
block = [128]

[[function]]
name = "reduce"
kernel = "cu.reduce"
params = ["x: in float32[n]", "y: out float32[1]"]
args = ["x", "y", "n"]
grid = ["ceildiv(n, 128)"]
block = [128]
END
mpack build two.toml -o two.so
wrong saxpy two.so --input f32=1 --input 2xf32=1 --out 2xf32
wrong saxpy two.so --device opencl --input f32=1 --input 2xf32=1 --out 2xf32
# a mistake of another sort gets no such hint
wrong saxpy two.so --input f32=1 --input 2xf32=1
# host code beside kernels, which says what TVM's says
cat >f.c <<'END'
#include <stdint.h>
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);
int __tvm_ffi_first(void *self, const int64_t *args, int n, void *out)
{
	/* a tensor object has a header of 24 bytes before its DLTensor */
	const char *tensor = (const char *)args[1] + ((int32_t)args[0] == 7 ? 0 : 24);

	if (*(const int32_t *)(tensor + 8) == 1)
		return !self + n + !out < 0;
	TVMFFIErrorSetRaisedFromCStr("ValueError", "Mismatched A.device_type on argument #0, expected cpu");
	return -1;
}
END
sed '/^\[\[function\]\]/,$d' data/launch/opencl.toml | sed 's|kernels.cl|data/launch/kernels.cl|' >host.toml
cat >>host.toml <<'END'
[[module]]
id = "h"
kind = "host"
sources = ["f.c"]
imports = ["k"]
END
sed -i 's/^name = "launch"/name = "host"\nroot = "h"/' host.toml
mpack build host.toml -o host.so
wrong first host.so --input 2xf32=1
minspect --run first host.so --device cpu --input 2xf32=1
minspect --run first --device gpu host.so || echo "status $?"
minspect --run first --device Opencl host.so || echo "status $?"
