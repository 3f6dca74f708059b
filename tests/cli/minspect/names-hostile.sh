# whatever names a file has, no action of either program writes what a terminal would obey (tests/fuzz/names.py)
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
bin=$(dirname "$(command -v minspect)")
set -- data/formats/01_opencl_scale.so data/legacy/mulsub_webgpu.so data/cuda/vadd_opencl.so
python3 "$ROOT/tests/fuzz/names.py" --bin "$bin" --seed 3 --count 2 "$@" >out 2>&1 || cat out
tail -n 1 out | sed 's/^[1-9][0-9][0-9]* passed/all passed/'
