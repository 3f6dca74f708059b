# what a driver refuses is said with its name for it and the likely cause; the exit status says whose fault it is
fakes=$(dirname "$(command -v minspect)")/../tests/fakes
test -e "$fakes/libcuda.so.1" || { echo "the driver library of the tests is not built"; exit 77; }
export LD_LIBRARY_PATH="$fakes"
try() {
	status=0
	env "$1" minspect --run vadd "$2" --input 1024xf32=1 --input 1024xf32=2 --out 1024xf32 \
		--device cuda >/dev/null 2>err || status=$?
	printf '%s: ' $status
	sed 's/^.*error: //' err
}
try FAKE_CUDA_DEVICES=0 data/cuda/ptx/vadd_cuda.so
try FAKE_CUDA_SM=80 data/cuda/cubin/vadd_cuda.so
try FAKE_CUDA_FAIL=cuInit:1:803 data/cuda/ptx/vadd_cuda.so
try FAKE_CUDA_FAIL=cuMemAlloc_v2:3:2 data/cuda/ptx/vadd_cuda.so
try FAKE_CUDA_FAIL=cuModuleLoadDataEx:1:222 data/cuda/ptx/vadd_cuda.so
try FAKE_CUDA_FAIL=cuLaunchKernel:1:701 data/cuda/ptx/vadd_cuda.so
try FAKE_CUDA_FAIL=cuStreamSynchronize:1:700 data/cuda/ptx/vadd_cuda.so
status=0
minspect --run add data/formats/03_cuda_ptx.so --input 16xf32=1 --input 16xf32=2 --out 16xf32 2>err || status=$?
printf '%s: ' $status
sed 's/^.*error: //' err
