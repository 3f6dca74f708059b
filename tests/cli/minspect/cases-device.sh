# host functions and bare kernels share a device; after a fault the device is opened afresh
fakes=$(dirname "$(command -v minspect)")/../tests/fakes
test -e "$fakes/libcuda.so.1" || { echo "the driver library of the tests is not built"; exit 77; }
export LD_LIBRARY_PATH="$fakes" FAKE_CUDA_LOG="$PWD/log"
saxpy='run = "saxpy"
args = [{ input = "f32=2.5" }, { input = "3xf32=1,2,3" }, { out = "3xf32=1" }]
expect = ["3xf32=3.5,6,8.5"]'
cat >m.toml <<END
[[case]]
$saxpy
[[case]]
name = "kernel"
run = "saxpy_kernel"
grid = [1]
block = [256]
args = [{ input = "3xf32=1,2,3" }, { out = "3xf32=1" }, { input = "f32=2" }, { input = "i64=2" }]
expect = ["3xf32=3,5,1"]
[[case]]
$saxpy
[[case]]
name = "too wide"
run = "saxpy_kernel"
block = [1000000]
args = [{ input = "3xf32=1,2,3" }, { out = "3xf32=1" }, { input = "f32=2" }, { input = "i64=2" }]
END
minspect --cases m.toml data/cuda/ptx/saxpy_cuda.so || echo $?
count() { grep -c "^$1 " log; }
echo "launches $(count cuLaunchKernel)"
echo "memory $(count cuMemAlloc_v2) $(count cuMemFree_v2)"
echo "modules $(count cuModuleLoadDataEx) $(count cuModuleUnload)"
echo "contexts $(count cuDevicePrimaryCtxRetain) $(count cuDevicePrimaryCtxRelease_v2)"
printf '[[case]]\n%s\n' "$saxpy" "$saxpy" "$saxpy" >m.toml
# the second launch of each process meets an illegal address
FAKE_CUDA_FAIL=cuLaunchKernel:2:700 minspect --cases m.toml data/cuda/ptx/saxpy_cuda.so || echo $?
