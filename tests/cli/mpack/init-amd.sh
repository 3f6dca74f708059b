# AMD's metadata tell of each argument whether it is a buffer, a number, or memory of a work-group, and its type
cp data/gpu/params.gfx906.hsaco data/gpu/mix.gfx906.hsaco .
mpack init params.gfx906.hsaco
mpack init mix.gfx906.hsaco || echo "status $?"
# of C++ the types are in the symbols; hidden arguments are none, wherever they stand
minspect --extract hip data/gpu/hip.so >extracted
cp hip/gpu/0-2-gfx90a-xnack+.hsaco hip.hsaco
mpack init hip.hsaco
python3 - <<'PY'
data = bytearray(open("params.gfx906.hsaco", "rb").read())
# the first argument of the first kernel becomes a hidden one: the others move up
at = data.index(b"global_buffer")
data[at:at + 13] = b"hidden_none__"
open("moved.hsaco", "wb").write(data)
PY
mpack init moved.hsaco | grep -A1 '^  name' | head -n 2
# what no table names has its figures, too: of AMD and of NVIDIA, as text and as JSON
cat >some.toml <<END
[package]
name = "some"
[[module]]
id = "amd"
kind = "hip"
format = "hsaco"
data = "params.gfx906.hsaco"
[[module.function]]
name = "all"
args = ["handle", "handle", "int32", "int64", "float32"]
launch = ["blockIdx.x", "threadIdx.x"]
END
cat >cuda.toml <<END
[package]
name = "cuda"
[[module]]
id = "cuda"
kind = "cuda"
format = "cubin"
data = "$DATA/device/sums_spill.sm_90.cubin"
[[module.function]]
name = "copy"
args = ["handle", "handle"]
launch = ["threadIdx.x"]
END
for f in some cuda; do
	mpack build -q $f.toml -o $f.blob
	minspect --functions $f.blob
done
minspect --functions --json some.blob cuda.blob | jq -c '.files[].modules[].code[].unlisted[] | [.name, (.figures[] | .lds_bytes, .stack_bytes, .registers, .max_threads, .block)]'
