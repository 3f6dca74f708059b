# Every mistake that a table of kernels can have, all in one run.
cat > mpack.toml <<'END'
[package]
name = "m"
abi = "legacy"

[[module]]
id = "k"
kind = "opencl"
data = "k.cl"
  [[module.function]]
  name = "f"
  args = ["handle", "flaot32"]
  launch = ["tir.use_dyn_shared_memory", "threadIdx.x", "threadIdx.x", "blockIdx"]
  [[module.function]]
  name = "f"
  args = ["handle"]
  launch = ["blockIdx.x", "tirx.use_dyn_shared_memory"]
  [[module.function]]
  args = ["f32"]
END
echo '__kernel void f(__global int *a) {}' > k.cl
mpack check
