# a kernel is called without host code: from a library, and from a bare blob
export POCL_CACHE_DIR="$PWD/cache"
minspect --devices | grep -q '^opencl:0 ' || { echo "no OpenCL device"; exit 77; }
for file in data/formats/01_opencl_scale.so data/formats/01_opencl_scale.blob; do
	minspect --run scale_kernel $file --grid 2 --block 32 --input 40xf32=3 --out 40xf32=-1 \
		--input f32=0.5 --input i32=36 --expect "40xf32=$(printf '1.5 %.0s' $(seq 36))-1 -1 -1 -1"
done
# a buffer that there is none of
cat >k.cl <<'END'
__kernel void which(__global const float *x, __global int *y) { *y = x != 0; }
END
printf '[package]\nname = "k"\n[[module]]\nid = "k"\nkind = "opencl"\ndata = "k.cl"\n[[module.function]]\nname = "which"\nargs = ["handle", "handle"]\nlaunch = ["threadIdx.x"]\n' >mpack.toml
mpack build -o k.blob
for x in 1xf32 0 none 7; do
	minspect --run which k.blob --grid 1 --block 1 --input $x --out 1xi32=9 || echo $?
done
