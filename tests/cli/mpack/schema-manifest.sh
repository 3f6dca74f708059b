# the installed schema of mpack.toml, which editors complete from, and mpack itself judge alike
python3 -c 'import jsonschema' 2>/dev/null || { echo "python3 has no jsonschema"; exit 77; }
# the kinds whose kernels a manifest can name are in all lists of kinds: all five for those that are no CUDA
listed=$(grep -o '"[^" ]*"' "$ROOT/man/schema/mpack.toml.schema.json" | tr -d '"')
for kind in $(sed -n 's/^\tDEVICE("\([^"]*\)".*/\1/p' "$ROOT/lib/pack/manifest/schema.c"); do
	n=$(echo "$listed" | grep -cx "$kind")
	[ "$n" -ge 5 ] || echo "mpack.toml.schema.json has $kind in $n lists of kinds"
done
cp "$DATA"/launch/*.cl .
printf '.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f(.param .u64 a, .param .u32 n) { ret; }\n' >k.ptx
cp k.ptx f.ptx
cat >h.c <<'END'
int __tvm_ffi_h(void *s, void *a, int n, void *r) { return 0; }
int c(int *x, int n) { return *x + n; }
void d(int *x, int n) { *x = n; }
END
printf x >bytes.bin
cat >all.toml <<'END'
[package]
name = "all"
abi = "ffi"
root = "host"
target = "x86_64-linux-gnu"
standalone = false
dedup = false

[[module]]
id = "host"
kind = "host"
sources = ["h.c"]
cflags = ["-O3", "-Wall"]
include = ["."]
defines = ["A", "B=1"]
std = "c17"
libs = ["m"]
imports = ["k", "own", "src"]

[[module]]
id = "k"
kind = "cuda"
format = "ptx"
data = "k.ptx"
  [[module.function]]
  name = "f"
  args = ["handle", "int32"]
  launch = ["blockIdx.x", "threadIdx.x"]

[[module]]
id = "own"
kind = "my_runtime"
payload = "bytes.bin"

[[module]]
id = "src"
kind = "cuda"
format = "cuda"
data = "c.cu"
nvrtc_options = ["--use_fast_math"]
  [[module.function]]
  name = "g"
  args = ["handle", "float32"]
  launch = ["blockIdx.x"]

[[function]]
name = "steps"
params = ["a: int32[n]"]
  [[function.steps]]
  kernel = "k.f"
  args = ["a", "n"]
  grid = [1]
  block = ["n"]

[[function]]
name = "one"
params = ["a: int32[n]"]
kernel = "k.f"
args = ["a", "n"]
grid = [1]
block = [1]

[[function]]
name = "c"
params = ["x: int32[n]"]
calls = "int c(int *x, int n)"
returns = "status"

[[function]]
name = "c_steps"
params = ["x: int32[n]"]
  [[function.steps]]
  calls = "void d(int *x, int n)"
  args = ["x", "n"]
  [[function.steps]]
  calls = "int c(int *x, int n)"
  returns = "value"
END
echo 'extern "C" __global__ void g(float *a, float b) { *a = b; }' >c.cu
mpack unpack "$DATA/legacy/mlp_llvm.so" -o model
cp model/mpack.toml model.toml
cp -r model/* .
judge=$ROOT/tests/manual/schema_toml.py schema=$ROOT/man/schema/mpack.toml.schema.json
python3 "$judge" "$schema" mpack check -- all.toml model.toml

# what stands in the tests, and what mpack itself writes
mpack init f.ptx "$DATA"/launch/kernels.cl h.c >init.toml
for blob in "$DATA"/formats/*.blob; do
	name=$(basename "$blob")
	mpack unpack -q "$blob" -o "unpacked-$name" 2>/dev/null || true
done
test "$(ls -d unpacked-*/mpack.toml | wc -l)" -gt 10
python3 "$judge" "$schema" init.toml "$DATA"/example/mpack.toml "$DATA"/launch/*.toml unpacked-*/mpack.toml
python3 "$judge" "$schema" --invalid "$DATA/example/broken.toml" "$DATA/example/cases.toml"
