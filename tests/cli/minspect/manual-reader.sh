# A reader written from tvm-blob(5) alone reads as minspect does: every blob here, and one of
# each payload layout of each generation, which a writer makes from the page.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1

for abi in legacy ffi-0.21 ffi; do
	mpack build data/example/mpack.toml --abi "$abi" -o "$abi.blob"
done
files=$(find data/ -name '*.so' -o -name '*_syslib_*.tar' | sort)
bare=$(find data/ -name '*.blob' | sort | sed '/_legacy_/s/^/legacy:/;t;s/^/ffi:/')
test "$(echo "$files" "$bare" | wc -w)" -ge 55
# shellcheck disable=SC2086
python3 "$ROOT/tests/manual/compare.py" --page "$ROOT/man/tvm-blob.5" $files $bare \
	legacy:legacy.blob ffi-0.21:ffi-0.21.blob ffi:ffi.blob

mkdir made
python3 "$ROOT/tests/manual/writer.py" made >made.list
test "$(wc -l <made.list)" -ge 100
# every kind is in the tables of the reader and of the writer
kinds=$(sed -n 's/^\tX("\([^"]*\)",.*/\1/p' "$ROOT/formats/kinds.def")
test "$(echo "$kinds" | wc -w)" -ge 40
for kind in $kinds; do
	for table in reader.py writer.py; do
		grep -q "[\" ]${kind}[\" ]" "$ROOT/tests/manual/$table" || echo "$table has no $kind"
	done
done
# shellcheck disable=SC2046
python3 "$ROOT/tests/manual/compare.py" $(cat made.list)
