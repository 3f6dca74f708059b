# statistics of constants, and what the code says, in the document of -v
minspect -v --json data/formats/08_const_loader.blob data/cuda/fatbin/vadd_cuda.so >v.json
python3 - <<'END'
import json
files = json.load(open("v.json"))["files"]
print(json.dumps(files[0]["tree"][0]["tensors"], indent=1))
node = next(n for n in files[1]["tree"] if n["kind"] == "cuda")
print(json.dumps([node["code"], node["kernels"]], indent=1))
END
