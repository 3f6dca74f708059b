# digests of code: what a file prints; that the file's is made of the others as documented; what is in them
minspect --code-digest data/device/sums.sm_90.cubin data/formats/02_cuda_source_dynshmem.so
cat >sum.py <<'END'
# lib/know/canon/FORMAT.md 7, by somebody else
import hashlib, json, sys

for f in json.load(sys.stdin)["files"]:
    text = lambda b: len(b).to_bytes(8, "little") + b
    rows = [[(p[k] or "").encode() for k in ("path", "what", "target", "name")] + [bytes.fromhex(p["digest"])] for p in f["parts"]]
    assert rows == sorted(rows) and rows
    made = text(b"code-digest-1") + b"".join(text(field) for row in rows for field in row)
    assert hashlib.sha256(made).hexdigest() == f["digest"], f["file"]
    assert f["algorithm"] == "code-digest-1"
    print(f["file"], len(rows), "parts")
END
minspect --json --code-digest data/gpu/*.so data/device/*.fatbin data/formats/0*.so data/legacy/*.so | python3 sum.py >made
wc -l <made | tr -d ' '
# the code of a file by itself, in a fatbin and in a library has one digest
minspect --json --code-digest data/device/tiny.none.fatbin data/device/tiny.size.fatbin data/device/tiny.speed.fatbin |
	jq -r '.files[].digest' | sort -u | wc -l | tr -d ' '
# digests of cubins by a program that was written from FORMAT.md alone
python3 "$ROOT/tests/rebuilds/cubin.py" data/device/*.cubin >theirs
for file in data/device/*.cubin; do
	echo "$file"
	minspect --json --code-digest "$file" | jq -r '.files[0].parts | sort_by(.what != "image", .name)[] |
		"\(.digest) \(.what)\(if .name then " " + .name else "" end)"'
done >ours
diff ours theirs
grep -c ' kernel ' ours
