# A manifest and the payload it names, found beside it.
mkdir models
cat > models/deploy.toml <<'END'
[package]
name = "deploy"

[[module]]
id = "host"
kind = "host"
sources = ["host.c"]
imports = ["kernels"]

[[module]]
id = "kernels"
kind = "opencl"
data = "scale.cl"
  [[module.function]]
  name = "scale"
  args = ["handle", "float32", "int32"]
  launch = ["blockIdx.x", "threadIdx.x"]
END
echo 'int __tvm_ffi_f(void) { return 0; }' > models/host.c
echo '__kernel void scale(__global float *a, float s, int n) { a[0] *= s; }' > models/scale.cl
mpack check models/deploy.toml
