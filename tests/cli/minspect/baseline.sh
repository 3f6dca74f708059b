# a gate without a GPU: kernels that need more than the baseline says fail it, and are told by name
build() { # build NAME: the file of a cubin of that name, always called sums.blob
	cat >$1.toml <<END
[package]
name = "sums"
[[module]]
id = "kernels"
kind = "cuda"
format = "cubin"
data = "$DATA/device/$1.sm_90.cubin"
[[module.function]]
name = "sums"
args = ["handle", "handle", "int32"]
launch = ["blockIdx.x", "threadIdx.x"]
[[module.function]]
name = "copy"
args = ["handle", "handle"]
launch = ["threadIdx.x"]
END
	mkdir -p $1
	mpack build $1.toml -o $1/sums.blob
}
build sums
build sums_spill
build sums_lines
run() {
	echo "\$ minspect $*"
	minspect "$@" || echo "status $?"
}
run --baseline base.json --update-baseline sums/sums.blob data/formats/01_opencl_scale.so
cat base.json
run --baseline base.json sums/sums.blob
run --baseline base.json sums_spill/sums.blob
run --json --baseline base.json sums_spill/sums.blob
# line information is no code, but the file grows: by less than the tolerance for that
sed 's/"tolerance": {}/"tolerance": {"file_bytes": 90, "blob_bytes": 90.5}/' base.json >t.json
run --baseline t.json sums_lines/sums.blob
run --baseline base.json --tolerance 100% sums_lines/sums.blob
# an update keeps the tolerance and the other files; what is in both orders is the same
run --baseline t.json --update-baseline sums_lines/sums.blob
run --baseline t.json data/formats/01_opencl_scale.so sums_lines/sums.blob
sed -n '/tolerance/,/}/p' t.json
# kernels that come and go
cp data/cuda/cubin/vadd_cuda.so kernels.so
run --baseline k.json --update-baseline kernels.so
cp data/cuda/cubin/saxpy_cuda.so kernels.so
run --baseline k.json kernels.so
# of occupancy less is worse, by as many percent as it lost of what it had
run --baseline o.json --update-baseline sums_spill/sums.blob
run --baseline o.json --tolerance 1000 sums/sums.blob
sed 's/"tolerance": {}/"tolerance": {"occupancy_percent": 62, "registers": 200}/' o.json >less.json
run --baseline less.json sums/sums.blob
sed 's/"tolerance": {}/"tolerance": {"occupancy_percent": 61, "registers": 200}/' o.json >little.json
run --baseline little.json sums/sums.blob
