# Very many members of a zip archive are listed once, not looked up by name for each; a large one is unpacked once, and
# the packed bytes behind it take no memory. Members that overlap would be read again and again.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
python3 - <<'PY'
import os, struct, zipfile
library = open("data/formats/01_opencl_scale.so", "rb").read()
with zipfile.ZipFile("names.whl", "w") as z:
    z.writestr("first.so", library)
    for i in range(20000):
        z.writestr("pkg/lib%05d.a" % i, b"!<arch>\n")
with zipfile.ZipFile("sources.whl", "w", zipfile.ZIP_DEFLATED) as z:
    for i in range(20000):
        z.writestr("pkg/m%05d.py" % i, b"import sys\n" * 20)
    for i in range(200):
        z.writestr("pkg/lib%03d.so" % i, library)
# half of it can be packed, half of it not
with zipfile.ZipFile("large.whl", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z:
    z.writestr("large.so", library + os.urandom(60 << 20) + bytes(60 << 20))
# one packed member under very many names
with zipfile.ZipFile("one.zip", "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("a.so", library + bytes(4 << 20))
data = open("one.zip", "rb").read()
at = data.index(b"PK\1\2")
entry = data[at:data.index(b"PK\5\6")]
end = struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, 10000, 10000, len(entry) * 10000, at, 0)
open("overlap.zip", "wb").write(data[:at] + entry * 10000 + end)
PY
for f in names.whl sources.whl; do
	python3 "$ROOT/tests/large/measure.py" $f "minspect FILE" "minspect --json FILE" "minspect --functions FILE" \
		"minspect --verify FILE" "minspect --size FILE"
done
minspect overlap.zip || echo "status $?"
python3 - <<'PY'
import os, resource, subprocess, sys
subprocess.run(["minspect", "large.whl"], stdout=subprocess.DEVNULL, check=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print("large.whl", "ok" if peak < 120 + 24 else "%.0f MiB for 120" % peak)
PY
