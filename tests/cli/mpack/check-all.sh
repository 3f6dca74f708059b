# one run tells every mistake that does not hang on another
cat >k.cl <<'END'
__kernel void f(__global float *a) { }
END
cat >mpack.toml <<'END'
[package]
name = "m"

[[module]]
id = "host"
kind = "host"
sources = []
imports = ["ket"]

[[module]]
id = "key"
kind = "opencl"
data = "k.cl"
  [[module.function]]
  name = "f"
  args = ["handle"]
  launch = ["blockIdx.x", "threadIdx.x"]

[[function]]
name = "f"
params = ["A: flaot32[width]"]
kernel = "key.f"
args = ["A"]
grid = ["widht"]
block = [128]
END
try() { echo "== $1" >&2; sed "$2" mpack.toml | mpack check - || echo "status $?"; }
try 'three' ''
try 'no name, and a step of an unknown kernel' '/^name = "m"/d; s/key\.f/key.g/; s/"ket"/"key"/'
try 'a table with a mistake of its own says nothing of what it lacks' 's/\["handle"\]/["hadnle"]/; s/key\.f/key.g/; s/"ket"/"key"/'
try 'nor does a file that is missing' 's/k\.cl/nix.cl/; /module.function/,/launch =/d; s/"ket"/"key"/'
try 'a module without an id is not meant' '/^id = "key"/d; s/key\.f/k.f/; s/"ket"/"key"/'
try 'parameters of a list that is broken are not missed' 's/^params = .*/params = 1/; s/"ket"/"key"/'
try 'a cycle beside other mistakes' 's/"ket"/"key"/; s/^data = .*/&\nimports = ["host"]/; s/^name = "m"/nmae = "m"/'
cat >b.cl <<'END'
__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void b(__global float *a) { }
END
cat >>mpack.toml <<'END'
[[function]]
name = "g"
params = ["A: float32[n]"]
kernel = "other.b"
args = ["A"]
grid = ["n"]
block = [9]
[[module]]
id = "other"
kind = "opencl"
data = "b.cl"
END
try 'the block of one function beside the mistakes of another' 's/"ket"/"key"/'
