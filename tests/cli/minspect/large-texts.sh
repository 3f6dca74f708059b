# Texts of which very many could tell of a function, as they overlap or are pointed at again and again, and names that
# are tails of one; as many kernels as functions that may call them: nothing is read so often that the time is quadratic.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
set -- parentheses.so lengths.so pairs.so dots.so getters.so begins.so pieces.so tails.so images.so
python3 "$ROOT/tests/large/make.py" . "$@"
for f; do
	python3 "$ROOT/tests/large/measure.py" $f "minspect FILE" "minspect --functions FILE" "minspect --functions --json FILE"
done
