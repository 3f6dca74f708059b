# clusters, cooperative and programmatic launches of [[function]], in both kinds of library; one
# module a device for all kernels of a code; pointers that are not there
fakes=$(dirname "$(command -v minspect)")/../tests/fakes
test -e "$fakes/libcuda.so.1" || { echo "the driver library of the tests is not built"; exit 77; }
export LD_LIBRARY_PATH="$fakes" FAKE_CUDA_LOG="$PWD/log" FAKE_CUDA_DRIVER=12080
cat >kernels.ptx <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry scratch_kernel(.param .u64 p, .param .u64 scratch, .param .u32 n) { ret; }
.visible .entry other_kernel(.param .u64 p) { ret; }
END
write() {
	cat <<END
[package]
name = "m"
standalone = $1
[[module]]
id = "k"
kind = "cuda"
data = "kernels.ptx"
[[function]]
name = "work"
params = ["x: float32[n]"]
kernel = "k.scratch_kernel"
args = ["x", "$2", "n"]
grid = ["ceildiv(n, 32)"]
block = [32]
cluster = [2, 1]
cooperative = true
pdl = true
shared = "n * 4"
[[function]]
name = "twice"
params = ["x: float32[n]"]
steps = [
  { kernel = "k.scratch_kernel", args = ["x", "none", 7], grid = [16], block = [32], cluster = ["n / 4"], cooperative = true, pdl = true, shared = 0 },
  { kernel = "k.other_kernel", args = ["x"], grid = [1], block = [1] },
]
END
}
for standalone in false true; do
	echo "standalone = $standalone"
	write $standalone 0 >m.toml
	mpack build m.toml -o m.so
	minspect m.so | sed -n 's/^ *scratch_kernel(/scratch_kernel(/p'
	rm -f log
	minspect --run work m.so --input 64xf32=1 >/dev/null
	minspect --run twice m.so --input 64xf32=1 >/dev/null
	grep -E 'cuLaunchKernel|cuModuleLoad|cuFuncSetAttribute' log
done
# what was the caller's context is so again
grep cuCtx log | tail -n 1
# a function without any tensor, which a standalone library can call
sed 's/params = \["x: float32\[n\]"\]/params = ["n: int32"]/; s/args = \["x", "0", "n"\]/args = ["none", "none", "n"]/' m.toml |
	awk '/^\[\[function\]\]/ && seen++ { exit } { print }' >bare.toml
mpack build bare.toml -o bare.so
rm -f log
minspect --run work bare.so --input 64
grep cuLaunchKernel log
# what the keys need
check() { mpack check "$1" 2>&1 || echo "status $?"; }
sed 's/standalone = true/standalone = false/' bare.toml >m2.toml
check m2.toml
sed 's|^data = .*|&\nfunction = [{ name = "scratch_kernel", args = ["handle", "handle", "int32"], launch = ["blockIdx.x", "threadIdx.x"] }]|' m.toml >m3.toml
check m3.toml
sed 's/cluster = \[2, 1\]/cluster = [0]/' m.toml >m4.toml
check m4.toml
sed 's/kind = "cuda"/kind = "opencl"/; s/kernels.ptx/k.cl/' m.toml >m5.toml
echo '__kernel void scratch_kernel(__global float *p, __global float *scratch, int n) {} __kernel void other_kernel(__global float *p) {}' >k.cl
check m5.toml
# an older driver has no such launches, and says so
LD_LIBRARY_PATH="$fakes/old" minspect --run work m.so --input 64xf32=1 2>&1 || echo "status $?"
