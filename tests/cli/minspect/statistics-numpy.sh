# the statistics of -v against NumPy's, for the constants of TVM's own libraries
for python in "$ROOT"/out/venv/bin/python python3; do
	"$python" -c 'import numpy' 2>/dev/null && break
done
"$python" -c 'import numpy' 2>/dev/null || { echo "python3 has no numpy"; exit 77; }
files='data/formats/06_relax_vm.so data/formats/08_const_loader.blob data/relax/gelu.so data/relax/embed_dyn.so'
# shellcheck disable=SC2086 # a list
minspect -v --json $files >v.json
number=0
for file in $files; do
	minspect --extract "$number" "$file" >/dev/null
	number=$((number + 1))
done
"$python" - <<'END'
import json, numpy
count = 0
for number, file in enumerate(json.load(open("v.json"))["files"]):
    index = json.load(open(f"{number}/index.json"))
    parts = []
    for entry in index["files"]:
        if entry["name"].endswith(".npy"):
            parts.append(numpy.load(f"{number}/{entry['name']}"))
    tensors = [t for n in file["tree"] for t in n.get("tensors", [])]
    assert len(tensors) == len(parts) > 0, file["file"]
    for tensor, array in zip(tensors, parts):
        assert tensor["shape"] == list(array.shape) and tensor["bytes"] == array.nbytes
        if array.size:
            assert tensor["min"] == array.min() and tensor["max"] == array.max(), tensor
            mean = array.astype(numpy.float64).mean()
            assert abs(tensor["mean"] - mean) <= 1e-12 * max(1, abs(mean)), tensor
        count += 1
print("equal" if count > 3 else count)
END
