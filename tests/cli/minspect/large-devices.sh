# Thousands of images in a fatbin and in an offload bundle, each with a kernel of its own, which is looked for in none
# of the others; code objects of AMD GPUs with as many kernels, and with sections and names that overlap, which are
# read once.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
set -- fatbin.blob bundle.blob amdgpu.blob amdgpu-tables.blob amdgpu-notes.blob amdgpu-lists.blob
python3 "$ROOT/tests/large/make.py" . "$@" amdgpu-tails.blob
for f; do
	python3 "$ROOT/tests/large/measure.py" $f "minspect FILE" "minspect --functions FILE" \
		"minspect --functions --json FILE" "minspect --verify FILE" "minspect --html OUT FILE" "minspect --diff FILE FILE"
done
python3 "$ROOT/tests/large/measure.py" amdgpu-tails.blob "minspect disasm --all FILE"
