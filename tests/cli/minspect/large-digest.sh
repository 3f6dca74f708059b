# Digests of code within the law of memory and in time that is not quadratic: very many modules, kernels, images and
# functions; names, symbols and sections that overlap; functions that all refer to one table.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
set -- chain.blob flat.blob same.blob fatbin.blob bundle.blob amdgpu.blob amdgpu-tables.blob amdgpu-tails.blob cubin.blob \
	kernels.blob infos.blob functions.so functions-overlap.so functions-same.so references.so slots-again.so images.so
python3 "$ROOT/tests/large/make.py" . "$@" table-a.blob table-b.blob
for f; do
	python3 "$ROOT/tests/large/measure.py" $f "minspect --code-digest FILE"
done
python3 "$ROOT/tests/large/measure.py" table-a.blob "minspect --code-digest --json FILE" "minspect --diff table-b.blob --ignore=noise FILE"
