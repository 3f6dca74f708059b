# launch functions over PTX, against the driver library of the tests: what reaches the driver
fakes=$(dirname "$(command -v minspect)")/../tests/fakes
test -e "$fakes/libcuda.so.1" || { echo "the driver library of the tests is not built"; exit 77; }
export LD_LIBRARY_PATH="$fakes" FAKE_CUDA_LOG="$PWD/log"
for form in cuda standalone_cuda; do
	mpack build data/launch/$form.toml -o f.so
	rm -f log
	minspect --run saxpy f.so --input f32=2.5 --input 300xf32=2 --out 300xf32=1 \
		--expect 300xf32=6 >/dev/null
	minspect --run transpose f.so --input 2x3xf32=1,2,3,4,5,6 --out 3x2xf32 \
		--expect 3x2xf32=1,4,2,5,3,6
	minspect --run sum f.so --input 60000xf32=1 --out 1xf32 --expect 1xf32=60000
	# TVM passes no half: standalone libraries alone do
	test $form = cuda || minspect --run scale_half f.so --input 4xf16=1,2,3,4 --out 4xf16 --input f32=4 \
		--expect 4xf16=4,8,12,16
	echo "$form:"
	grep cuLaunchKernel log
	count() { grep -c "^$1 " log; }
	echo "memory $(count cuMemAlloc_v2) $(count cuMemFree_v2)"
done
