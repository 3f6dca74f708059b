# launch functions made from OpenCL source run in every generation, whichever way their code was made
export POCL_CACHE_DIR="$PWD/cache"
minspect --devices | grep -q '^opencl:0 ' || { echo "no OpenCL device"; exit 77; }
for way in "llvm ffi" "llvm ffi-0.21" "llvm legacy" "c ffi" "c ffi-0.21" "c legacy"; do
	mpack build data/launch/opencl.toml -o f.so --via "${way% *}" --abi "${way#* }"
	minspect --run saxpy f.so --input f32=2.5 --input 5xf32=1,2,3,4,5 --out 5xf32=1 \
		--expect 5xf32=3.5,6,8.5,11,13.5 --atol 0 --rtol 0
	minspect --run transpose f.so --input 2x3xf32=1,2,3,4,5,6 --out 3x2xf32 \
		--expect 3x2xf32=1,4,2,5,3,6 --atol 0 --rtol 0
	minspect --run sum f.so --input 60000xf32=1 --out 1xf32 --expect 1xf32=60000 --atol 0 --rtol 0
	minspect --run scale_half f.so --input 4xf16=1,2,3,4 --out 4xf16 --input f32=1.5 \
		--expect 4xf16=1.5,3,4.5,6 --atol 0 --rtol 0
	# nothing is launched for empty tensors
	minspect --run saxpy f.so --input f32=1 --input 0xf32= --out 0xf32
done
