# Two tables of forty thousand kernels that have no name in common: compared within the law of memory.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
python3 "$ROOT/tests/large/make.py" . table-a.blob table-b.blob
python3 "$ROOT/tests/large/measure.py" table-a.blob "minspect --diff table-b.blob FILE" \
	"minspect --diff table-b.blob --json FILE" "minspect --diff table-b.blob --markdown FILE"
minspect --diff table-b.blob table-a.blob >said || tail -n 1 said
