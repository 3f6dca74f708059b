# what was probably meant: kinds, data types, modules, kernels, files of another kind
check() { mpack check "$1" 2>&1 || echo "status $?"; }
cat >kinds.toml <<'END'
[package]
name = "kinds"
[[module]]
id = "a"
kind = "OpenCL"
imports = ["b", "c", "d", "e"]
[[module]]
id = "b"
kind = "relax.VMexecutable"
[[module]]
id = "c"
kind = "ptx"
[[module]]
id = "d"
kind = "gpu"
[[module]]
id = "e"
kind = "my_own"
END
check kinds.toml
cat >types.toml <<'END'
[package]
name = "types"
[[module]]
id = "k"
kind = "opencl"
data = "data/launch/kernels.cl"
[[module.function]]
name = "saxpy"
args = ["handel", "half", "float*", "torch.float32", "int32_t", "Float32", "size_t", "quux"]
launch = ["blockIdx.x"]
END
check types.toml
cat >names.toml <<'END'
[package]
name = "names"
[[module]]
id = "blur"
kind = "opencl"
data = "data/launch/kernels.cl"
[[module.function]]
name = "saxpy"
args = ["handle", "handle", "float32", "int32"]
launch = ["blockIdx.x"]
END
for kernel in blurr.saxpy BLUR.saxpy blur.saxpi saxpy sharpen.box3 blur.box3 box3; do
	cat >>names.toml <<END
[[function]]
name = "f_$kernel"
kernel = "$kernel"
params = ["x: float32[n]"]
args = ["x"]
grid = ["n"]
block = [1]
END
done
check names.toml
# a type that is no type is one mistake, not one for each place that uses the parameter
sed '/^\[\[function/,$d' names.toml >cascade.toml
cat >>cascade.toml <<'END'
[[function]]
name = "f"
kernel = "blur.saxpy"
params = ["x: half[n]", "y: float33[n]", "alpha: double", "m: floats"]
args = ["x", "y", "alpha", "n"]
grid = ["n * m"]
block = [1]
END
check cascade.toml
sed 's/"opencl"/"opencl"/; s|data/launch/kernels.cl|data/device/two.ptx|' names.toml |
	sed '/^\[\[function/,$d' >format.toml
check format.toml
sed 's|^data = .*|&\nformat = "cl"|' format.toml >claimed.toml
check claimed.toml
