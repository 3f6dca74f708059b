# Kernels and arrays of shared memory, and functions of C++, by the thousand: mpack init takes no time that is quadratic.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
set -- kernels.cu arrays.cu arrays.ptx mangled.cc
python3 "$ROOT/tests/large/make.py" . "$@"
for f; do
	python3 "$ROOT/tests/large/measure.py" $f "mpack init FILE"
done
