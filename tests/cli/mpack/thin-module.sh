# a module of TVM's with a fatbin keeps the architecture that is named: its blob is shorter, its note tells the digest,
# and it runs on the driver library of the tests as before
fakes=$(dirname "$(command -v minspect)")/../tests/fakes
for keep in sm_90 compute_90 sm_90,compute_90; do
	mpack thin data/cuda/fatbin/vadd_cuda.so -o vadd.so --keep $keep --force
	minspect vadd.so | sed -n '1p; s/.*, \(fatbin .*\), 1 kernel.*/\1/p'
	minspect --verify vadd.so
	# it looks for names of kernels in PTX that is not packed
	if test $keep != compute_90 && test -e "$fakes/libcuda.so.1"; then
		LD_LIBRARY_PATH="$fakes" FAKE_CUDA_LOG="$PWD/log" minspect --run vadd vadd.so --input 1024xf32=rand:1 \
			--input 1024xf32=0 --out 1024xf32 --expect 1024xf32=rand:1 >/dev/null
	fi
done
cmp vadd.so data/cuda/fatbin/vadd_cuda.so
mpack thin data/cuda/fatbin/vadd_cuda.so -o none.so --keep sm_80 2>&1 || echo $?
# what mpack packs, with its note; what it makes of the same code is the same blob
cat >k.toml <<'END'
[package]
name = "k"
[[module]]
id = "k"
kind = "cuda"
format = "fatbin"
data = "k.fatbin"
function = [{ name = "tiny", args = ["handle"], launch = ["blockIdx.x", "threadIdx.x"] }]
END
cp data/device/tiny.none.fatbin k.fatbin
mpack build k.toml -o k.so
mpack thin k.so -o thin.so --keep sm_80
minspect --verify thin.so
minspect --show / thin.so >k.fatbin
mpack build k.toml -o again.blob
mpack unpack thin.so -o dir -q
mpack build dir/mpack.toml -o thin.blob
cmp thin.blob again.blob
# a damaged blob does not become a valid one
python3 - <<'END'
data = bytearray(open("k.so", "rb").read())
at = data.index(b"\x7fELF", 64)
data[at + 0x300] ^= 1
open("bad.so", "wb").write(data)
END
mpack thin bad.so -o none.so --keep sm_80 2>&1 | sed 's/[0-9a-f]\{32\}/DIGEST/g' || true
# code without a container has one architecture, and stays
mpack build data/launch/cuda.toml -o ptx.so
mpack thin ptx.so -o same.so --keep sm_90 2>&1 || echo $?
mpack thin ptx.so -o same.so --keep compute_75
cmp ptx.so same.so
ls ./*.so
