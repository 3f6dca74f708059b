# one command from a cubin and its notes to a library, whose calls reach the driver as Triton's launcher makes them
fakes=$(dirname "$(command -v minspect)")/../tests/fakes
test -e "$fakes/libcuda.so.1" || { echo "the stand-in for CUDA's driver is not built"; exit 77; }

# run FUNCTION LIBRARY OPTION...: what it gives, and its launch
run()
{
	rm -f log
	LD_LIBRARY_PATH="$fakes" FAKE_CUDA_LOG="$PWD/log" minspect --run "$@"
	grep -E '^cuLaunch|^cuFuncSetAttribute|^cuMemAlloc_v2 bytes=(768|128)$' log
}
t=data/triton
mpack build $t/scaled_add.cubin --meta $t/scaled_add.json -o add.so
run scaled_add add.so --input 4x4xf32=1,2,3,4,1,2,3,4,1,2,3,4,1,2,3,4 --input 16xf32=2 --out 2x8xf32 \
	--input i32=16 --input f32=0.5 --input i32=1 --input i32=1 --input i32=1
mpack build $t/record.cubin --meta $t/record.json --grid 1 -o record.so
run record record.so --out 9xf64 --input i32=-5 --input i64=-6000000000 --input f32=0.25 --input f64=1e300 \
	--input bool=1 --input i32=-7 --input i32=-300 --input f32=1.5 --input f32=-2
mpack build $t/clustered.cubin --meta $t/clustered.json -o clustered.so
run clustered clustered.so --out 3xi32 --input i32=3 --input i32=8 --input i32=1
mpack build $t/described.cubin --meta $t/described.json -o described.so
run described described.so --input 16x16xf16=3 --out 256xf16 --input i32=16 --input i32=16 --input i32=1 \
	--input i32=2 --input i32=3 | cut -c 1-60
# the grid as an expression, and shapes that a signature has, of which the kernel gets an extent
mpack build $t/scaled_add.cubin --meta $t/scaled_add.json -o shaped.so --grid 'ceildiv(n, 256)' \
	--signature 'x: in float32[n], y: in float32[n], out: out float32[n], n, alpha: float32'
minspect --functions shaped.so | grep x:
run scaled_add shaped.so --input 300xf32=1 --input 300xf32=2 --out 300xf32 --input f32=3 | cut -c 1-40
