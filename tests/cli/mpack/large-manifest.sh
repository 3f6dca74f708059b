# Thousands of launch functions, of modules with a kernel each, of steps, parameters and temporaries of one function, and
# of pieces of one source: within the law of memory, and no time that is quadratic.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
set -- functions.toml modules.toml steps.toml pieces.toml standalone.toml
python3 "$ROOT/tests/large/make.py" . one.ptx many.ptx many.cl some.cl many.spv meant.toml rows.toml "$@"
for f; do
	python3 "$ROOT/tests/large/measure.py" $f "mpack check FILE"
	cat said
done
# five thousand names of modules that are nearly right: what was meant is said of as many as there is time for
prlimit --cpu=5 mpack check meant.toml 2>said || echo "status $?"
head -n 1 said
# ten thousand rows that name one file, which is opened and read once
prlimit --cpu=5 mpack check rows.toml 2>said || echo "status $?"
head -n 1 said
