# members of zip archives: wheels, Android packages, archives in archives
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
cat >make.py <<'END'
import zipfile

def data(name):
    return open(f"data/{name}", "rb").read()


def add(z, name, content, method):
    z.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), content, method)


with zipfile.ZipFile("app.whl", "w") as z:
    add(z, "pkg/lib.so", data("formats/01_opencl_scale.so"), zipfile.ZIP_DEFLATED)
    add(z, "pkg/kernels/cuda.so", data("gpu/cuda.so"), zipfile.ZIP_STORED)
    add(z, "pkg/none.so.1", open("nothing.so", "rb").read(), zipfile.ZIP_DEFLATED)
    add(z, "app-1.0.dist-info/METADATA", "Name: app\n", zipfile.ZIP_STORED)
with zipfile.ZipFile("app.apk", "w") as z:
    add(z, "lib/arm64-v8a/libnothing.so", open("nothing.so", "rb").read(), zipfile.ZIP_DEFLATED)
with zipfile.ZipFile("outer.zip", "w") as z:
    add(z, "in/app.whl", open("app.whl", "rb").read(), zipfile.ZIP_DEFLATED)
    add(z, "lib.a", open("lib.a", "rb").read(), zipfile.ZIP_DEFLATED)
    with z.open(zipfile.ZipInfo("big.so", (2024, 1, 1, 0, 0, 0)), "w", force_zip64=True) as f:
        f.write(data("gpu/hip.so"))
whole = bytearray(open("app.whl", "rb").read())
at = whole.index(data("gpu/cuda.so")[:64])
whole[at + 9000] ^= 1
open("stored.whl", "wb").write(whole)
whole = bytearray(open("app.whl", "rb").read())
whole[whole.index(b"pkg/lib.so") + 100] ^= 0x55
open("deflated.whl", "wb").write(whole)
whole = bytearray(open("app.whl", "rb").read())
at = whole.index(b"PK\1\2")
whole[at + 8] |= 1
open("encrypted.whl", "wb").write(whole)
whole[at + 8] &= ~1
whole[at + 10] = 12
open("bzip2.whl", "wb").write(whole)
open("cut.whl", "wb").write(open("app.whl", "rb").read()[:9000])
with zipfile.ZipFile("bomb.whl", "w") as z:
    add(z, "bomb.so", bytes(200 << 20), zipfile.ZIP_DEFLATED)
END
ar rcsD lib.a data/embedded/embedded.o
echo 'int f(void) { return 1; }' | cc -shared -x c -o nothing.so -
python3 make.py
minspect app.whl | sed 's/ *[0-9.]* KiB  pkg.none/  SIZE pkg\/none/; 1s/[0-9.]* KiB/SIZE/'
minspect 'app.whl!/pkg/lib.so'
minspect --functions 'outer.zip!/in/app.whl!/pkg/lib.so' | tail -n 4
minspect 'outer.zip!/lib.a(embedded.o)' 'outer.zip!/big.so' | grep -v at
# every action that reads: those that hold something, as if each were named
minspect --verify app.whl outer.zip
minspect --size --json app.whl | grep '"file"'
minspect --check --tvm 0.27 --device-arch sm_75 app.whl | grep -v '\[symbol\]'
minspect --extract out 'app.whl!/pkg/lib.so'
minspect --extract plain data/formats/01_opencl_scale.so
diff -r --exclude index.json out plain
minspect --diff data/formats/01_opencl_scale.so 'app.whl!/pkg/lib.so'
minspect --diff 'app.whl!/pkg/lib.so' 'app.whl!/pkg/kernels/cuda.so' | tail -n 1 || test $? = 1
minspect --header - 'app.whl!/pkg/lib.so' | grep -c scale
minspect --json app.whl | grep -v bytes
# a file with such a name is that file
cp data/formats/01_opencl_scale.so 'odd!'
mkdir 'a!'
cp data/formats/01_opencl_scale.so 'a!/lib.so'
minspect 'a!/lib.so' | head -n 1
minspect 'odd!' | head -n 1
# refused
try()
{
	minspect -q "$@" || echo "status $?"
}
try 'app.whl!/lib.so'
try 'app.whl!/pkg/lib.sp'
try 'app.whl!/'
try 'missing.whl!/lib.so'
try 'data/formats/01_opencl_scale.so!/lib.so'
try 'app.whl!/app-1.0.dist-info/METADATA'
try 'outer.zip!/lib.a(none.o)'
try 'stored.whl!/pkg/kernels/cuda.so'
try 'deflated.whl!/pkg/lib.so'
try 'encrypted.whl!/pkg/lib.so'
try 'bzip2.whl!/pkg/lib.so'
try cut.whl
try 'cut.whl!/pkg/lib.so'
try 'bomb.whl!/bomb.so'
try --functions app.apk
try --extract x app.whl
try --run scale 'app.whl!/pkg/lib.so'
