# models for the Relax VM with kernels for OpenCL give the numbers that TVM computed on the CPU
export POCL_CACHE_DIR="$PWD/cache"
minspect --devices | grep -q '^opencl:0 ' || { echo "no OpenCL device"; exit 77; }
lib=data/relax
for name in gelu_opencl embed_dyn_opencl; do
	minspect --run forward $lib/$name.so --input @$lib/$name.in0.npy --expect @$lib/$name.out0.npy \
		--rtol 1e-5 --atol 1e-5 --repeat 4 >/dev/null
	echo $name
done
