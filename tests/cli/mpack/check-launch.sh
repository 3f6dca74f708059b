# Launch functions are tables of their own; their language has cases of its own.
cat > mpack.toml <<'END'
[package]
name = "m"

[[module]]
id = "k"
kind = "opencl"
data = "k.cl"
  [[module.function]]
  name = "f"
  args = ["handle"]
  launch = ["blockIdx.x", "threadIdx.x"]

[[function]]
name = "f"
params = ["A: float32[n]"]
kernel = "k.f"
grid = [1]

[[function]]
name = "f"
params = ["A: float32[n]"]
block = [1]
  [[function.steps]]
  kernel = "k.f"
  args = ["A"]
  grid = [1.5]
  block = [1]
  shraed = 4

[[function]]
name = "g"
params = []
steps = []
END
echo '__kernel void f(__global float *a) { }' > k.cl
mpack check
