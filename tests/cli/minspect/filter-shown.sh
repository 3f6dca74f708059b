# whether a filter found something is told by what was printed, in each action and each kind of file
try() {
	echo "\$ minspect $*"
	minspect "$@" 2>&1
}
gpu=data/gpu/hip.so
echo "== kernels of GPU code, without a module"
for name in saxpy 'sax??' gfx .hip_fatbin:1 nothing; do
	try --functions --filter "$name" $gpu | cut -c -100
	try --functions --json --filter "$name" $gpu | grep -c '"name"\|warning' || :
done
echo "== the summary shows no kernels of GPU code"
try --filter saxpy $gpu | tail -n 1
echo "== sizes, and their table"
try --size --filter saxpy $gpu | grep -v '^ .*sections'
try --size --csv --filter saxpy $gpu data/cuda/cubin/vadd_cuda.so | cut -d , -f 1-9
try --size --csv --filter nothing $gpu | cut -d , -f 1-9
echo "== a parameter is no function"
try --functions --filter 'p?' data/legacy/mlp_llvm.so
try --functions --json --filter 'p?' data/legacy/mlp_llvm.so | grep warning
echo "== archives: one word for all of it"
python3 - <<'PY'
import zipfile
with zipfile.ZipFile("app.whl", "w") as z:
    for name in "gpu/hip.so", "cuda/cubin/vadd_cuda.so", "formats/07_relax_opencl.so":
        z.write("data/" + name, name)
PY
try --functions --filter saxpy app.whl | cut -c -100
try --functions --filter nothing app.whl
try --functions --filter saxpy 'app.whl!/formats/07_relax_opencl.so'
try --filter cuda app.whl
try --filter nothing app.whl
