# what a reader sees and does, in Chromium: no error, no request, nothing of a file is markup
command -v chromium >/dev/null || { echo "chromium is not installed"; exit 77; }

minspect --html model.html data/relax/gelu_opencl.so
minspect --html two.html data/relax/gelu_opencl.so data/relax/gelu.so
minspect --html graph.html data/legacy/mlp_llvm.so
minspect --html flow.html data/formats/15_relax_cond.blob
python3 -c 'import zipfile
with zipfile.ZipFile("app.whl", "w") as z:
    z.write("data/gpu/cuda.so", "pkg/cuda.so")'
minspect --html gpu.html 'app.whl!/pkg/cuda.so'

minspect --html fatbin.html data/cuda/fatbin/vadd_cuda.so
minspect --html many.html data/cuda/*/vadd_cuda.so data/formats/02_cuda_source_dynshmem.so data/formats/03_cuda_ptx.so data/formats/0[16]*.so \
	data/relax/gelu.so
printf '[package]\nname = "noted"\n[[module]]\nid = "k"\nkind = "cuda"\ndata = "data/device/two.ptx"\nfunction = [{ name = "scale", args = ["handle", "handle", "float32", "int32"], launch = ["blockIdx.x"] }]\n' >noted.toml
mpack build -q noted.toml -o noted.so
minspect --html noted.html noted.so
sed 's/entry scale(/entry stale(/' noted.so >damaged.so
minspect --html damaged.html damaged.so
# the same kernels one module further, one of them with another body, one with another helper
kernel='__kernel void NAME(__global float *a, __global float *b, int n) { int i = get_global_id(0); if (i < n) b[i] = f(a[i]); }'
text()
{
	echo "static float f(float v) { return v $2; }"
	echo "$kernel" | sed "s/NAME/$1/"
}
text scale '/ 2' >one.cl
{ text shift '+ 1'; echo "$kernel" | sed 's/NAME/twice/'; } >two.cl
text scale '/ 3' >one_changed.cl
sed '/shift/s/f(a/2 * f(a/' two.cl >two_changed.cl
library() # NAME ONE TWO IMPORTS
{
	cat >"$1.toml" <<END
[package]
name = "$1"
root = "root"
[[module]]
id = "root"
kind = "example.root"
payload = "one.cl"
imports = [$4]
[[module]]
id = "one"
kind = "opencl"
data = "$2"
function = [{ name = "scale", args = ["handle", "handle", "int32"], launch = ["blockIdx.x"] }]
[[module]]
id = "two"
kind = "opencl"
data = "$3"
function = [{ name = "shift", args = ["handle", "handle", "int32"], launch = ["blockIdx.x"] }, { name = "twice", args = ["handle", "handle", "int32"], launch = ["blockIdx.x"] }]
${5-}
END
	mpack build -q "$1.toml" -o "$1.blob"
}
library old one.cl two.cl '"one", "two"'
library new one_changed.cl two_changed.cl '"one", "two", "net"' '[[module]]
id = "net"
kind = "example.net"
payload = "one.cl"'
minspect --html moved.html old.blob new.blob

printf '</script><!--<script>\342\200\250 "&amp;<b>\n<img src=x onerror=owned=1>\n' >text.bin
cat >hostile.toml <<'END'
[package]
name = "hostile"
[[module]]
id = "a"
kind = "</script><img src=x onerror=owned=1>"
payload = "text.bin"
imports = ["b"]
[[module]]
id = "b"
kind = "<!--<script>"
payload = "text.bin"
END
mpack build -q hostile.toml -o '<img src=x onerror=owned=1>.blob'
minspect --html hostile.html '<img src=x onerror=owned=1>.blob'

# a library of 12 MB, most of it one text
{
	cat "$DATA/launch/kernels.ptx"
	awk 'BEGIN { for (i = 0; i < 380000; i++) print "// mov.u32 %r" i ", %tid.x;" }'
} >large.ptx
cat >large.toml <<'END'
[package]
name = "large"
[[module]]
id = "kernels"
kind = "cuda"
data = "large.ptx"
function = [{ name = "saxpy", args = ["handle", "handle", "float32", "int32"], launch = ["blockIdx.x", "threadIdx.x"] }]
END
mpack build -q large.toml -o data.so
minspect --html large.html data.so

# ten thousand kernels
python3 - <<'END'
names = [f"k{i}" for i in range(10000)]
with open("kernels.ptx", "w") as f:
    f.write(".version 8.0\n.target sm_90\n.address_size 64\n" + "".join(f".visible .entry {n}(.param .u64 a)\n{{\n\tret;\n}}\n" for n in names))
with open("kernels.toml", "w") as f:
    f.write('[package]\nname = "kernels"\n[[module]]\nid = "k"\nkind = "cuda"\ndata = "kernels.ptx"\nfunction = [\n')
    f.write("".join(f'{{ name = "{n}", args = ["handle"], launch = ["blockIdx.x"] }},\n' for n in names) + "]\n")
END
mpack build -q kernels.toml -o kernels.so
minspect --html kernels.html kernels.so

# 25 libraries, each with GPU code and a module
python3 - <<'END'
import zipfile
with zipfile.ZipFile("all.whl", "w", zipfile.ZIP_DEFLATED) as z:
    for i in range(25):
        z.write(("data/gpu/cuda.so", "kernels.so", "data/relax/gelu_opencl.so")[i % 3 if i < 4 else i % 2 * 2], f"pkg/lib{i}.so")
END
minspect --html wheel.html all.whl

# libraries whose kernels have long names, of which a page of all has no room
python3 - <<'END'
import subprocess, zipfile
with zipfile.ZipFile("long.whl", "w", zipfile.ZIP_DEFLATED) as z:
    for lib in range(3):
        names = [f"k{lib}_{i}_{'x' * 600}" for i in range(3000)]
        with open("long.ptx", "w") as f:
            f.write(".version 8.0\n.target sm_90\n.address_size 64\n" + "".join(f".visible .entry {n}(.param .u64 a)\n{{\n\tret;\n}}\n" for n in names))
        with open("long.toml", "w") as f:
            f.write('[package]\nname = "long"\n[[module]]\nid = "k"\nkind = "cuda"\ndata = "long.ptx"\nfunction = [\n')
            f.write("".join(f'{{ name = "{n}", args = ["handle"], launch = ["blockIdx.x"] }},\n' for n in names) + "]\n")
        subprocess.run(["mpack", "build", "-q", "long.toml", "-o", f"long{lib}.so"], check=True)
        z.write(f"long{lib}.so", f"pkg/long{lib}.so")
END
minspect --html long.html long.whl
minspect --html whole.html 'long.whl!/pkg/long1.so'

# machine code with lines: of the host by LLVM, of a GPU by a stand-in for nvdisasm that prints what the real one does
printf 'static int helper(int a)\n{\n\treturn a * a;\n}\n\nint __tvm_ffi_square(void *self, const void *args, int n, void *out)\n{\n\t*(long *)out = helper(n);\n\treturn 0;\n}\n' >host.c
cc -g -O1 -shared -fPIC -o host.so host.c
minspect --html host.html --source host.c host.so
cat >vadd.cu <<'END'
__global__ void vadd(float a, const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = a * x[i];
}
END
minspect --html nosass.html data/cuda/cubin/vadd_cuda.so
mkdir -p cuda/bin
cat >cuda/bin/nvdisasm <<'END'
#!/bin/sh
[ "$1 $3" = "-c -g" ] || exit 1
name=$(strings "$2" | sed -n 's/^\.text\.//p' | head -n 1)
printf '\t.target\tsm_80\n\n//--------------------- .text.%s               --------------------------\n' "$name"
printf '\t.section\t.text.%s,"ax",@progbits\n%s:\n.text.%s:\n' "$name" "$name" "$name"
case $name in copy) set -- /tmp/one/sums.cu 17 19 19 20 ;; *) set -- /src/vadd.cu 3 4 5 6 ;; esac
printf '\t//## File "%s", line %s\n        /*%04x*/                   %s ;\n' "$1" "$2" 0 'S2R R0, SR_TID.X' "$1" "$3" 16 'ISETP.GE.AND P0, PT, R0, c[0x0][0x178], PT' \
	"$1" "$4" 32 'FFMA R7, R2, UR6, RZ' "$1" "$5" 48 EXIT
END
chmod +x cuda/bin/nvdisasm
CUDA_HOME=$PWD/cuda minspect --html lines.html --source data/device/sums.cu data/device/sums_lines.sm_90.cubin
CUDA_HOME=$PWD/cuda minspect --html sass.html --source vadd.cu data/cuda/cubin/vadd_cuda.so

minspect --html weights.html data/weights/model.safetensors.index.json
python3 -c 'import json, struct
shapes = {f"layers.{i}.{n}.weight": [8, k] for i in range(3) for n, k in (("q", 8), ("k", 4))}
head, at = {"__metadata__": {"<img src=x onerror=owned=1>": "</script><script>owned=1</script>"}}, 0
for name, (a, b) in shapes.items():
    head[name] = {"dtype": "F32", "shape": [a, b], "data_offsets": [at, at + 4 * a * b]}
    at += 4 * a * b
text = json.dumps(head).encode()
text += b" " * (-len(text) % 8)
open("layers.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + struct.pack(f"<{at // 4}f", *range(at // 4)))'
minspect --html layers.html layers.safetensors
minspect --html newer.html data/weights/small.safetensors data/weights/small.gguf

python3 "$ROOT/tests/page/check_page.py" .
