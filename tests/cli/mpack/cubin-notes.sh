# notes that are not Triton's: CUDA C++ beside the cubin in TileLang's cache, and a signature where the cubin has its block
mpack init data/tilelang | sed -n '/\[\[function/,$p'
mpack init data/tilelang/kernel.cubin --meta data/tilelang/device_kernel.cu --block 64,2 --shared 'n * 4' --cluster 2 \
	--cooperative --pdl --grid 'ceildiv(n, 128)' | sed -n '/launch/p; /\[\[function/,$p'
# types of its own headers; a descriptor, which only its launcher makes
cp data/tilelang/kernel.cubin .
for change in 's/float\* __restrict__ A, const float\*/half_t* __restrict__ A, const bfloat16_t*/' \
	's/float\* __restrict__ A, const float\*/fp8_e4_t *A, const fp8_e5_t *__restrict__/' \
	's/float\* __restrict__ A/half_type* A/' 's/int n/half_t n/' 's/int n/__grid_constant__ const CUtensorMap n/'; do
	sed "$change" data/tilelang/device_kernel.cu >device_kernel.cu
	mpack init kernel.cubin --meta device_kernel.cu >manifest || echo "exit $?"
	sed -n '/^params/p' manifest
done
mpack init data/triton/scaled_add.cubin --signature '*fp32:16, *fp32, *fp32, 256, i32:16, i32:1, fp32, *i8, *i8' |
	sed -n '/\[\[function/,$p'
mpack init data/triton/scaled_add.cubin --meta data/triton/scaled_add.ttir --grid 1 2>&1 | tail -n 1
