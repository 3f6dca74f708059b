# Files that are not what the manifest says, and kernels that are not in them.
cat > mpack.toml <<'END'
[package]
name = "m"

[[module]]
id = "host"
kind = "host"
sources = ["host.c"]
imports = ["ptx", "cubin", "guess", "empty", "cl", "pieces", "graph", "params", "own"]

[[module]]
id = "ptx"
kind = "cuda"
format = "ptx"
data = "k.ptx"
  [[module.function]]
  name = "vadd_kernel"
  args = []
  launch = []

[[module]]
id = "cubin"
kind = "cuda"
format = "cubin"
data = "k.ptx"
  [[module.function]]
  name = "f"
  args = []
  launch = []

[[module]]
id = "guess"
kind = "vulkan"
data = "k.ptx"
  [[module.function]]
  name = "f"
  args = []
  launch = []

[[module]]
id = "empty"
kind = "cuda"
data = "empty.cu"
  [[module.function]]
  name = "f"
  args = []
  launch = []

[[module]]
id = "cl"
kind = "opencl"
data = "k.cl"
  [[module.function]]
  name = "scael"
  args = []
  launch = []

[[module]]
id = "pieces"
kind = "opencl"
data = "pieces.cl"
  [[module.function]]
  name = "one"
  args = []
  launch = []
  [[module.function]]
  name = "two"
  args = []
  launch = []
  [[module.function]]
  name = "three"
  args = []
  launch = []

[[module]]
id = "own"
kind = "cuda"
data = "k.ptx"
  [[module.function]]
  name = "vadd"
  data = "k.ptx"
  args = []
  launch = []

[[module]]
id = "graph"
kind = "GraphExecutorFactory"
graph = "k.cl"

[[module]]
id = "params"
kind = "GraphExecutorFactory"
graph = "list.json"
params = "k.cl"
END
printf '.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry vadd() { ret; }\n' > k.ptx
printf '__kernel void scale(__global float *a) { }\n' > k.cl
printf '// Function: one\n__kernel void one() { }\n// Function: two\n__kernel void two() { }\n__kernel void three() { }\n' > pieces.cl
echo '[1]' > list.json
touch host.c empty.cu
mpack check
