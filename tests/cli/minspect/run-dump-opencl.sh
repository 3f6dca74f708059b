# looking into models on an OpenCL device: results come back from it, kernels are timed there, and what a
# build for the CPU computes is compared as far as both have the same operators
export POCL_CACHE_DIR="$PWD/cache"
minspect --devices | grep -q '^opencl:0 ' || { echo "no OpenCL device"; exit 77; }
mlp="--input data=@data/legacy/mlp.data.npy --input extra=@data/legacy/mlp.extra.npy"
# shellcheck disable=SC2086 # words
{
	minspect --run default data/legacy/mlp_llvm.so $mlp --dump cpu >/dev/null
	minspect --run default data/legacy/mlp_opencl.so $mlp --compare cpu --trace --profile=trace.json | tail -n 4 |
		sed 's/  */ /g; s/ [0-9.]* [nmu]*s .*//; s/ took .*//' | sort
	minspect --run default data/legacy/mlp_opencl.so $mlp --dump gpu >/dev/null
	minspect --run default data/legacy/mlp_opencl.so $mlp --compare gpu >/dev/null
}
ls gpu
grep -c '"tid": 1, "name": "thread_name", "args": {"name": "opencl:0"}' trace.json
# copies to the host, and the Relax VM
minspect --run forward data/relax/gelu_opencl.so --input @data/relax/gelu_opencl.in0.npy --dump relax --trace 2>&1 |
	grep -v '^4x24xf32=' | grep -c ' on opencl:0'
minspect --run forward data/relax/gelu_opencl.so --input @data/relax/gelu_opencl.in0.npy --compare relax --json |
	grep -c '"equal": true'
