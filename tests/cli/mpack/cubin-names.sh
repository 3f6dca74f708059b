# kernels of one name, as a cache has of an autotuned function, become functions with numbers, each with its own code
fakes=$(dirname "$(command -v minspect)")/../tests/fakes
test -e "$fakes/libcuda.so.1" || { echo "the stand-in for CUDA's driver is not built"; exit 77; }
mkdir -p cache/A cache/B cache/C
cp data/triton/scaled_add.* cache/B
cp data/triton/scaled_add.* cache/C
cp data/triton/record.* cache/A
sed -i 's/"num_warps": 4/"num_warps": 4, "shared_": 0/; s/"shared": 0/"shared": 4096/' cache/C/scaled_add.json
ln -s ../B cache/again
mpack build cache -o cache.so
minspect --functions cache.so | grep -E '^  [a-z_0-9]+\(x'
for f in scaled_add scaled_add_2; do
	rm -f log
	LD_LIBRARY_PATH="$fakes" FAKE_CUDA_LOG="$PWD/log" minspect --run $f cache.so --input 16xf32=1 --input 16xf32=2 \
		--input 16xf32=0 --input i32=16 --input f32=3 --input i32=1 --input i32=1 --input i32=1 >out
	grep -E '^cuLaunch' log
done
# modules with the same bytes are one with dedup, and the functions still find them
mpack init cache | sed 's/^standalone = true/&\ndedup = true/' >dedup.toml
mpack build dedup.toml -o dedup.so
minspect dedup.so | grep -c 'CUDA kernels'
LD_LIBRARY_PATH="$fakes" FAKE_CUDA_LOG="$PWD/log2" minspect --run scaled_add_2 dedup.so --input 16xf32=1 --input 16xf32=2 \
	--input 16xf32=0 --input i32=16 --input f32=3 --input i32=1 --input i32=1 --input i32=1 >out
grep -E '^cuLaunch' log2
