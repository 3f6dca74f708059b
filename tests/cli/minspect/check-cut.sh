# a library that was cut behind its last loaded segment: loaders do not mind, tools that read sections do
cat >cut.py <<'END'
import struct
import sys

source, target, less = sys.argv[1], sys.argv[2], int(sys.argv[3])
data = open(source, "rb").read()
at, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
segments = [struct.unpack_from("<IIQQQQQQ", data, at + 56 * i) for i in range(count)]
end = max(s[2] + s[5] for s in segments if s[0] == 1)
assert end < len(data)
open(target, "wb").write(data[: end - less])
END
python3 cut.py data/formats/01_opencl_scale.so module.so 0
python3 cut.py data/formats/01_opencl_scale.so short.so 8
echo "int v(void) { return 1; }" | gcc -shared -fPIC -x c -o plain.so -
python3 cut.py plain.so helper.so 0
python3 -c "import ctypes; print('loaded:', ctypes.CDLL('./helper.so').v())"
check() { minspect check --glibc 2.36 "$@" | sed 's/ on [a-z0-9_-]*[;:]/ on MACHINE:/; s/checked:.*/.../' && echo "status 0" || echo "status $?"; }
check module.so
check helper.so
minspect check module.so --json | jq -c '.files[0].findings[] | [.severity, .check]'
minspect check short.so || echo "status $?"
echo "--- verify, and what needs sections"
minspect verify module.so || echo "status $?"
minspect module.so || echo "status $?"
mpack thin module.so --keep sm_90 -o thin.so || echo "status $?"
mpack unpack module.so -o folder || echo "status $?"
