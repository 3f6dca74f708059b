# Ten thousand kernels and archive members, thirty thousand kernels of a cubin without what launches them, a hundred
# thousand functions and sixty thousand sections: within the law of memory, and no time that is quadratic.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
python3 "$ROOT/tests/large/make.py" . kernels.blob cubin.blob functions.so sections.so many.a cxx.blob infos.blob modes.blob
for f in kernels.blob cubin.blob functions.so sections.so many.a cxx.blob infos.blob modes.blob; do
	python3 "$ROOT/tests/large/measure.py" $f "minspect FILE" "minspect --json FILE" "minspect --functions FILE" \
		"minspect --functions --json FILE" "minspect --verify FILE" "minspect --size --json FILE" "minspect --diff FILE FILE" \
		"minspect -v FILE"
done
for f in kernels.blob cubin.blob functions.so sections.so; do
	python3 "$ROOT/tests/large/measure.py" $f "minspect --extract OUT FILE"
done
