# Texts of kernels with thousands of one thing: within the law of memory, and no time that is quadratic.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
python3 "$ROOT/tests/large/make.py" . cl-hashes.blob metal.blob wgsl.blob
for f in cl-hashes.blob metal.blob wgsl.blob; do
	python3 "$ROOT/tests/large/measure.py" $f "minspect --verify FILE" "mpack unpack FILE -o OUT"
done
