# A hundred thousand modules, one below the other or side by side, are shown within the law of memory, 64 MiB and
# four times the file, and in time that does not grow with their square; so are modules of as many kinds, and those
# whose kernels have one name.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
python3 "$ROOT/tests/large/make.py" . chain.blob flat.blob lattice.blob kinds.blob same.blob
for f in chain.blob flat.blob lattice.blob kinds.blob same.blob; do
	python3 "$ROOT/tests/large/measure.py" $f "minspect FILE" "minspect -v FILE" "minspect --json FILE" \
		"minspect --functions --json FILE" "minspect --filter *9 --json FILE" "minspect --verify FILE" \
		"minspect --size FILE" "minspect --size --json FILE" "minspect --size --csv FILE" "minspect --dot tree FILE" \
		"minspect --diff FILE FILE" "minspect --diff data/formats/01_opencl_scale.so --json FILE" "minspect --sbom FILE" \
		"minspect --functions FILE" "minspect --html OUT FILE"
done
# all of it is there: each module once, and how deep the last is
minspect --all chain.blob | grep -c my_kind
minspect --all chain.blob | tail -n 1 | sed 's/.*depth/depth/'
minspect --json chain.blob >chain.json
python3 - <<'END'
import json
tree = json.load(open("chain.json"))["files"][0]["tree"]
print(len(tree), all(m["index"] == i for i, m in enumerate(tree)), tree[99998]["children"])
END
