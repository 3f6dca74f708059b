# OpenCL source that TVM does not load does not run, and --verify says so, too
export POCL_CACHE_DIR="$PWD/cache"
minspect --devices | grep -q '^opencl:0 ' || { echo "no OpenCL device"; exit 77; }
cat >k.cl <<'END'
__kernel void twice(__global const float *x, __global float *y)
{
	y[get_global_id(0)] = 2 * x[get_global_id(0)];
}
END
cat >mpack.toml <<'END'
[package]
name = "twice"
[[module]]
id = "k"
kind = "opencl"
data = "k.cl"
[[module.function]]
name = "twice"
args = ["handle", "handle"]
launch = ["threadIdx.x"]
END
run() # FILE
{
	minspect --verify "$1" || echo $?
	minspect --run twice "$1" --input 4xf32=1,2,3,4 --out 4xf32 --grid 1 --block 4 || echo $?
}
mpack build -o good.blob
run good.blob
LC_ALL=C sed 's,// Function: ,// function: ,' good.blob >none.blob
run none.blob
minspect --force --run twice none.blob --input 4xf32 --out 4xf32 --grid 1 --block 4 || echo $?
mpack edit none.blob -o mended.blob --replace /=k.cl
run mended.blob
cmp good.blob mended.blob
printf '// Function: twice\n%s\n// Function: twice\n%s\n' "$(cat k.cl)" "$(cat k.cl)" >two.cl
printf 'y' >>two.cl
mpack edit good.blob -o two.blob --replace /=two.cl || echo $?
