# a standalone library copies host tensors to the device and back, in every convention
export POCL_CACHE_DIR="$PWD/cache"
minspect --devices | grep -q '^opencl:0 ' || { echo "no OpenCL device"; exit 77; }
for way in "llvm ffi" "c ffi-0.21" "llvm legacy"; do
	mpack build data/launch/standalone.toml -o f.so --via "${way% *}" --abi "${way#* }"
	minspect --run saxpy f.so --input f32=2.5 --input 5xf32=1,2,3,4,5 --out 5xf32=1 \
		--expect 5xf32=3.5,6,8.5,11,13.5 --atol 0 --rtol 0
	minspect --run sum f.so --input 60000xf32=1 --out 1xf32 --expect 1xf32=60000 --atol 0 --rtol 0
	minspect --run scale_half f.so --input 4xf16=1,2,3,4 --out 4xf16 --input f32=1.5 \
		--expect 4xf16=1.5,3,4.5,6 --atol 0 --rtol 0
done
# its blob is found under its own name
minspect f.so | sed -n 's/^  blob .*\(__mpk[a-z_]*\).*/\1/p'
# an empty tensor beside a full one, and one that is not there
cat >k.cl <<'END'
__kernel void count(__global const float *x, __global float *y, int n)
{
	y[get_global_id(0)] = n + (x ? 100 : 0);
}
END
cat >empty.toml <<'END'
[package]
name = "empty"
standalone = true
[[module]]
id = "k"
kind = "opencl"
data = "k.cl"
[[function]]
name = "count"
kernel = "k.count"
params = ["x: in float32[n]", "y: out float32[m]"]
args = ["x", "y", "n"]
grid = ["m"]
block = [1]
[[function]]
name = "no_x"
kernel = "k.count"
params = ["y: out float32[m]"]
args = ["none", "y", "m"]
grid = ["m"]
block = [1]
END
mpack build empty.toml -o empty.so
minspect --run count empty.so --input 0xf32= --out 3xf32
minspect --run count empty.so --input 2xf32=1 --out 3xf32
minspect --run no_x empty.so --out 3xf32
