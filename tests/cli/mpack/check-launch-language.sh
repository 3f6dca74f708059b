# every mistake in launch functions is told with its place, all of them in one run
cp data/launch/kernels.cl .
cat > bad.toml <<'T'
[package]
name = "bad"

[[module]]
id   = "k"
kind = "opencl"
data = "kernels.cl"

  [[module.function]]
  name   = "saxpy"
  args   = ["handle", "handle", "float32", "int32"]
  launch = ["blockIdx.x", "threadIdx.x"]

[[function]]
name   = "syntax"
kernel = "k.saxpy"
params = ["alpha float32", "x: float33[n]", "y: float32[n", "z: float32[n] = 1", "x: float32[m]"]
args   = ["y", "y", "1.0", "1 +"]
grid   = ["(n"]
block  = [128]

[[function]]
name   = "names"
kernel = "k.saxpi"
params = ["x: float32[count]"]
args   = ["x"]
grid   = [1]
block  = [1]

[[function]]
name   = "types"
kernel = "k.saxpy"
params = ["alpha: float32", "x: float32[count]", "y: float32[count]", "o: optional float32[w]"]
temps  = ["t: int32", "x: float32[count]"]
args   = ["alpha", "y", "x", "cuont"]
grid   = ["w", 1, 1, 1]
block  = [128, 2]
shared = "16"

[[function]]
name   = "arity"
kernel = "k.saxpy"
params = ["x: optional float32[4]"]
args   = ["x"]
grid   = [1]
block  = [1]

[[function]]
name   = "kernel"
kernel = "saxpy"
params = ["x: float32[4]"]
args   = ["x"]
grid   = [1]
block  = [1]
T
mpack check bad.toml
