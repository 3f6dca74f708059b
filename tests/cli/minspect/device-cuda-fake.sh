# CUDA code in every form runs against the driver library of the tests, and gives back what it took
fakes=$(dirname "$(command -v minspect)")/../tests/fakes
test -e "$fakes/libcuda.so.1" || { echo "the driver library of the tests is not built"; exit 77; }
export LD_LIBRARY_PATH="$fakes" FAKE_CUDA_LOG="$PWD/log"
for form in ptx cubin fatbin; do
	minspect --run vadd data/cuda/$form/vadd_cuda.so --input 1024xf32=rand:1 --input 1024xf32=0 \
		--out 1024xf32 --expect 1024xf32=rand:1 >/dev/null
	minspect --run saxpy data/cuda/$form/saxpy_cuda.so --input f32=2.5 \
		--input 7xf32=1,2,3,4,5,6,7 --out 7xf32=1 --expect 7xf32=3.5,6,8.5,11,13.5,16,18.5
	minspect --run saxpy_kernel data/cuda/$form/saxpy_cuda.so --grid 1 --block 256 \
		--input 3xf32=1,2,3 --out 3xf32=1 --input f32=2 --input i64=2 --expect 3xf32=3,5,1
done
grep cuLaunchKernel log
count() { grep -c "^$1 " log; }
echo "memory $(count cuMemAlloc_v2) $(count cuMemFree_v2)"
echo "modules $(count cuModuleLoadDataEx) $(count cuModuleUnload)"
echo "contexts $(count cuDevicePrimaryCtxRetain) $(count cuDevicePrimaryCtxRelease_v2)"
