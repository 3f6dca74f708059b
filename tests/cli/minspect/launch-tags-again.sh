# a launch tag that stands several times takes a value each time, and the module comes apart whole
export POCL_CACHE_DIR="$PWD/cache"
minspect --devices | grep -q '^opencl:0 ' || { echo "no OpenCL device"; exit 77; }
cp data/launch/kernels.cl .
sed '/saxpy/,/launch/s/"threadIdx.x"\]/"threadIdx.x", "blockIdx.x", "threadIdx.x"]/' data/launch/opencl.toml >again.toml
mpack check again.toml
for way in "llvm ffi" "c legacy"; do
	mpack build again.toml -o f.so --via "${way% *}" --abi "${way#* }"
	minspect --verify f.so
	minspect --run saxpy f.so --input f32=2.5 --input 5xf32=1,2,3,4,5 --out 5xf32=1 \
		--expect 5xf32=3.5,6,8.5,11,13.5 --atol 0 --rtol 0
done
sed 's/^\[package\]/&\nstandalone = true/' again.toml >alone.toml
mpack build alone.toml -o alone.so
minspect --run saxpy alone.so --input f32=2.5 --input 5xf32=1,2,3,4,5 --out 5xf32=1 \
	--expect 5xf32=3.5,6,8.5,11,13.5 --atol 0 --rtol 0
mpack build again.toml -o f.blob
mpack unpack f.blob -o dir
grep 'launch = .*threadIdx.x.*threadIdx.x' dir/mpack.toml
