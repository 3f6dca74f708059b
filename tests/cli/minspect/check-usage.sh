# what is no place is refused before a file is opened
for words in "--tvm 0.28" "--tvm later" "--machine vax" "--machine x86_46" "--glibc new" "--device-arch sm_91" \
	"--driver 1" "--libs none" "--runtime none.so" "--runtime data/formats/05_webgpu.blob"; do
	# shellcheck disable=SC2086 # a list of words
	minspect --check $words data/formats/01_opencl_scale.so 2>&1 || echo "status $?"
done
minspect --tvm 0.27 data/formats/01_opencl_scale.so 2>&1 || echo "status $?"
minspect --check --tvm 0.27 missing.so 2>&1 || echo "status $?"
