# Forty and sixty thousand parameters of a model: within the law of memory, and no time that is quadratic.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
python3 "$ROOT/tests/large/make.py" . consts.blob aot.blob graph.blob
for f in consts.blob aot.blob graph.blob; do
	python3 "$ROOT/tests/large/measure.py" $f "minspect FILE" "minspect -v FILE" "minspect --json FILE" "minspect --verify FILE" \
		"minspect --functions --json FILE" "minspect --size FILE" "minspect --html OUT FILE" "minspect --diff FILE FILE"
done
# of one of them, as that writes a file for each
python3 "$ROOT/tests/large/measure.py" consts.blob "minspect --extract OUT FILE"
minspect --show /0#w59999 consts.blob | tail -c 4 | od -An -tx1
