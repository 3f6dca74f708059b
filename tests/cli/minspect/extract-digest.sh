# The index has the digest that was asked for, as other programs print it.
sums()
{
	python3 -c '
import json, sys
for f in json.load(open(sys.argv[1] + "/index.json"))["files"]:
    print(f[sys.argv[2]], "", f["name"])' "$1" "$2"
}
minspect --extract default data/formats/07_relax_opencl.so
minspect --extract xxh128 --digest xxh128 data/formats/07_relax_opencl.so
diff -r default xxh128
! command -v xxh128sum >/dev/null || { sums xxh128 xxh128 | (cd xxh128 && xxh128sum --quiet -c); }
minspect --extract sha256 --digest=sha256 data/formats/07_relax_opencl.so
sums sha256 sha256 | (cd sha256 && sha256sum --quiet -c)
minspect --extract none --digest none data/formats/07_relax_opencl.so
jq -c '.files[] | [.xxh128, .sha256]' none/index.json | sort -u
minspect --extract other --digest md5 data/formats/07_relax_opencl.so || echo "status $?"
minspect --digest sha256 data/formats/07_relax_opencl.so || echo "status $?"
test ! -e other
