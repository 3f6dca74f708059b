# a kernel table that is left out: launch functions tell its rows, else rows are proposed
check() { mpack check "$1" 2>&1 || echo "status $?"; }
write() {
	cat <<END
[package]
name = "m"
[[module]]
id = "k"
kind = "$1"
data = "$2"
END
}
for data in "opencl data/launch/kernels.cl" "cuda data/launch/kernels.ptx" \
	"cuda data/launch/kernels.cu" "cuda data/device/two.sm_90.cubin" "vulkan data/device/compute.spv"; do
	write ${data% *} ${data#* } >m.toml
	check m.toml
done
# what is proposed can be pasted
write opencl data/launch/kernels.cl >m.toml
mpack check m.toml 2>&1 | sed -n 's/.*; here: \(.*\) \[missing-key\]/\1/p' >>m.toml
check m.toml
# rows of launch functions: what the code says of a number, what the function says of a tensor
cat >functions <<'END'
[[function]]
name = "saxpy"
kernel = "k.saxpy"
params = ["alpha: float32", "x: in float32[n]", "y: inout float32[n]"]
args = ["x", "y", "alpha", "n"]
grid = ["ceildiv(n, 128)"]
block = [128]
[[function]]
name = "sum"
params = ["x: in float32[n]", "total: out float32[1]"]
temps = ["part: float32[ceildiv(n, 256)]"]
steps = [
  { kernel = "k.reduce", args = ["x", "part", "n"], grid = ["ceildiv(n, 256)"], block = [256] },
  { kernel = "k.reduce", args = ["part", "total", "ceildiv(n, 256)"], grid = [1], block = [256] },
]
[[function]]
name = "transpose"
kernel = "k.transpose"
params = ["x: in float32[rows, cols]", "y: out float32[cols, rows]"]
args = ["x", "y", "rows", "cols"]
grid = ["ceildiv(cols, 16)", "ceildiv(rows, 16)"]
block = [16, 16]
shared = "16 * 17 * 4"
END
for data in "opencl data/launch/kernels.cl" "cuda data/launch/kernels.ptx"; do
	write ${data% *} ${data#* } >m.toml
	cat functions >>m.toml
	test "${data% *}" = cuda || sed -i '/^shared/d' m.toml
	mpack build m.toml -o m.so
	minspect m.so | sed -n '/(handle/p'
done
# rows that are written stay as they are, others are added
write opencl data/launch/kernels.cl >m.toml
cat >>m.toml <<'END'
[[module.function]]
name = "reduce"
args = ["handle", "handle", "int64"]
launch = ["blockIdx.x", "threadIdx.x", "threadIdx.y"]
END
sed '/^shared/d' functions >>m.toml
mpack build m.toml -o m.so
minspect m.so | sed -n '/(handle/p'
# a kernel that is not there, or takes another number of arguments
write opencl data/launch/kernels.cl >m.toml
sed '/^shared/d; s/k\.saxpy/k.saxpi/; s/"x", "y", "rows", "cols"/"x", "y"/' functions >>m.toml
check m.toml
