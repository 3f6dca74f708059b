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

python3 "$ROOT/tests/page/check_page.py" .
