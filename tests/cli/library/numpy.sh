# the library from Python, by ctypes, with arrays of NumPy
sdk=$(dirname "$BIN")/sdk
[ -e "$sdk" ] || { echo "this build has no library for applications"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "the fixtures are libraries for x86-64"; exit 77; }
python3 -c 'import numpy' 2>/dev/null || { echo "NumPy is not installed"; exit 77; }
python3 "$ROOT/tests/embed/numpy_call.py" "$sdk/lib/libmpk-run.so.0" data/legacy/mlp_llvm.so default \
	data/legacy/mlp.data.npy data/legacy/mlp.extra.npy -- data/legacy/mlp_llvm.out0.npy data/legacy/mlp_llvm.out1.npy
