# a graph whose kernels are OpenCL: tensors and parameters live on the device, whatever is said of
# the inputs
export POCL_CACHE_DIR="$PWD/cache"
minspect --devices | grep -q '^opencl:0 ' || { echo "no OpenCL device"; exit 77; }
for where in opencl:0 cpu; do
	minspect --run default data/legacy/mlp_opencl.so --device $where --repeat 3 \
		--input data=@data/legacy/mlp.data.npy --input extra=@data/legacy/mlp.extra.npy \
		--expect @data/legacy/mlp_llvm.out0.npy --expect @data/legacy/mlp_llvm.out1.npy \
		--rtol 1e-5 >/dev/null
done
