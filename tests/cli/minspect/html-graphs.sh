# the page in Chromium: the front page of a set, graphs of models with many layers, of two models, and a profile
command -v chromium >/dev/null || { echo "chromium is not installed"; exit 77; }

minspect html data/relax/gelu_opencl.so -o model.html
minspect html data/relax/gelu_opencl.so data/relax/gelu.so -o two.html
python3 - <<'END'
import zipfile
with zipfile.ZipFile("set.whl", "w", zipfile.ZIP_DEFLATED) as z:
    for i in range(12):
        z.write(("data/gpu/cuda.so", "data/gpu/hip.so", "data/relax/gelu_opencl.so")[i % 3], f"pkg/lib{i}.so")
END
minspect html set.whl -o set.html

# a model with a profile of a run, and with what is none
minspect run forward data/relax/gelu.so --input 4x24xf32=rand --profile=times.json >/dev/null
minspect html data/relax/gelu.so --times times.json -o times.html
echo '{"traceEvents": [null, {"ph": "X"}, 3' >notimes.json
minspect html data/relax/gelu.so --times notimes.json -o notimes.html

python3 "$ROOT/tests/page/check_page.py" . front transformers graph_differences profiled
