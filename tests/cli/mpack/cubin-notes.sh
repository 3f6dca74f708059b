# notes that are not Triton's: CUDA C++ beside the cubin in TileLang's cache, and a signature where the cubin has its block
mpack init data/tilelang | sed -n '/\[\[function/,$p'
mpack init data/tilelang/kernel.cubin --meta data/tilelang/device_kernel.cu --block 64,2 --shared 'n * 4' --cluster 2 \
	--cooperative --pdl --grid 'ceildiv(n, 128)' | sed -n '/launch/p; /\[\[function/,$p'
mpack init data/triton/scaled_add.cubin --signature '*fp32:16, *fp32, *fp32, 256, i32:16, i32:1, fp32, *i8, *i8' |
	sed -n '/\[\[function/,$p'
mpack init data/triton/scaled_add.cubin --meta data/triton/scaled_add.ttir --grid 1 2>&1 | tail -n 1
