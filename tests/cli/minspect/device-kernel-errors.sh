# each wrong call of a kernel is refused with what is wrong
export POCL_CACHE_DIR="$PWD/cache"
minspect --devices | grep -q '^opencl:0 ' || { echo "no OpenCL device"; exit 77; }
try() {
	status=0
	minspect --run "$@" 2>err || status=$?
	printf '%s: ' $status
	sed "s/^.*error: //; s/ '[^']*' allows at most [0-9]*/ DEVICE allows at most N/" err
}
f=data/formats/01_opencl_scale.so
set -- --input 4xf32=1 --out 4xf32 --input f32=2 --input i32=4
try scale_kernel $f --grid 1,2 --block 32 "$@"
try scale_kernel $f --grid 0 --block 32 "$@"
try scale_kernel $f --grid 1,1,1,1 "$@"
try scale_kernel $f --grid x "$@"
try scale_kernel $f --shared 100 "$@"
try scale_kernel $f --grid 1 --block 1000000 "$@"
try scale_kernal $f --grid 1 "$@"
try scale_kernel $f --grid 1 --device cuda "$@"
try scale_kernel $f --grid 1 --device opencl:99 "$@"
try scale_kernel $f --grid 1 --device opencls "$@"
try scale_kernel $f --grid 1 --input 4xf32=1 --out 4xf32 --input f32=2
try scale_kernel $f --grid 1 --input 4xf32=1 --out 4xf32 --input f32=2 --input f32=4
try scale_kernel $f --grid 1 --input i32=1 --out 4xf32 --input f32=2 --input i32=4
