# a kernel is called without host code: from a library, and from a bare blob
export POCL_CACHE_DIR="$PWD/cache"
minspect --devices | grep -q '^opencl:0 ' || { echo "no OpenCL device"; exit 77; }
for file in data/formats/01_opencl_scale.so data/formats/01_opencl_scale.blob; do
	minspect --run scale_kernel $file --grid 2 --block 32 --input 40xf32=3 --out 40xf32=-1 \
		--input f32=0.5 --input i32=36 --expect "40xf32=$(printf '1.5 %.0s' $(seq 36))-1 -1 -1 -1"
done
