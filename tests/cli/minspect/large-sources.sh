# Texts of kernels with thousands of one thing: within the law of memory, and no time that is quadratic.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
texts="cl-missing.blob cl-same.blob cl-same-programs.blob cl-constant.blob cl-typed.blob cl-params.blob cl-hashes.blob
	cu-missing.blob cu-symbols.blob"
python3 "$ROOT/tests/large/make.py" . $texts metal.blob wgsl.blob
for f in $texts; do
	python3 "$ROOT/tests/large/measure.py" $f "minspect --functions FILE" "minspect --functions --json FILE" \
		"minspect --verify FILE" "minspect --html OUT FILE"
done
for f in cl-missing.blob cl-constant.blob cl-hashes.blob cu-symbols.blob metal.blob wgsl.blob; do
	python3 "$ROOT/tests/large/measure.py" $f "mpack unpack FILE -o OUT"
done
python3 "$ROOT/tests/large/measure.py" wgsl.blob "minspect --verify FILE"
# a library with as many modules as functions, each of which has the list of functions
python3 "$ROOT/tests/large/make.py" . modules.so
python3 "$ROOT/tests/large/measure.py" modules.so "minspect FILE" "minspect --json FILE" "minspect --html OUT FILE"
# what is found of kernels with one name stands once, as long as it is
minspect --functions --all cl-same-programs.blob | grep -c "is in the table twice"
minspect --functions --json cl-same-programs.blob | grep -o "is in the table twice" | wc -l
