# kernels of one name in several modules are told apart by the path of the module
export POCL_CACHE_DIR="$PWD/cache"
minspect --devices | grep -q '^opencl:0 ' || { echo "no OpenCL device"; exit 77; }
for factor in 2 3; do
	cat >k$factor.cl <<END
__kernel void scale(__global const float *x, __global float *y)
{
	y[get_global_id(0)] = $factor * x[get_global_id(0)];
}
END
done
printf '.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry only(.param .u64 x, .param .u64 y) { ret; }\n.visible .entry scale(.param .u64 x, .param .u64 y) { ret; }\n' >k.ptx
module() # ID KIND FILE KERNEL...
{
	printf '[[module]]\nid = "%s"\nkind = "%s"\ndata = "%s"\n' "$1" "$2" "$3"
	shift 3
	for kernel; do
		printf '[[module.function]]\nname = "%s"\nargs = ["handle", "handle"]\nlaunch = ["threadIdx.x"]\n' "$kernel"
	done
}
{
	printf '[package]\nname = "scale"\nroot = "h"\n[[module]]\nid = "h"\nkind = "host"\nsources = []\nimports = ["a", "b", "c"]\n'
	module a opencl k2.cl scale
	module b opencl k3.cl scale
	module c cuda k.ptx only scale
} >mpack.toml
mpack build -o scale.blob
minspect --functions scale.blob | grep -e '^/' -e --run
minspect --json --functions scale.blob | grep '"call"'
run() # KERNEL [OPTION...]
{
	kernel=$1
	shift
	minspect --run "$kernel" scale.blob --input 4xf32=1,2,3,4 --out 4xf32 --grid 1 --block 4 "$@" || echo $?
}
run scale
run scale --device opencl
minspect -q --run scale scale.blob --grid 1 --device cuda 2>&1 | cut -c -40
run '/1#scale'
run '/2#scale'
run '/1#scal'
run '/7#scale'
run '/0#scale' --device opencl
cat >m.toml <<'END'
[[case]]
run = "/1#scale"
grid = [1]
block = [4]
args = [{ input = "4xf32=1" }, { out = "4xf32" }]
expect = ["4xf32=3"]
[[case]]
run = "/2#scale"
grid = [1]
block = [4]
args = [{ input = "4xf32=1" }, { out = "4xf32" }]
expect = ["4xf32=2"]
END
minspect --cases m.toml scale.blob
