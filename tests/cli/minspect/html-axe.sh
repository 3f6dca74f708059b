# what axe-core finds wrong with the page: nothing
command -v chromium >/dev/null || { echo "chromium is not installed"; exit 77; }
python3 -m pip install -q --no-deps --target axe axe-playwright-python >/dev/null 2>&1 ||
	{ echo "axe-core cannot be had from the package index"; exit 77; }

minspect --html model.html data/relax/gelu_opencl.so
minspect --html two.html data/relax/gelu_opencl.so data/relax/gelu.so
minspect --html gpu.html data/gpu/cuda.so data/embedded/embedded.so data/legacy/mlp_llvm.so
minspect --html weights.html data/weights/model.safetensors.index.json

python3 "$ROOT/tests/page/check_axe.py" axe/axe_playwright_python/axe.min.js gpu.html two.html model.html weights.html
