# What a wheel or a folder holds is said in one screen: kernels and bytes by device first, then a row for each file that
# holds something; devices of one family in a word, and files without anything counted.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
mkdir -p few many/pkg
cp data/gpu/cuda.so few/a.so
cp data/gpu/hip.so few/b.so
for i in 1 2 3 4 5 6 7 8 9; do
	cp data/gpu/cuda.so many/pkg/cuda$i.so
	cp data/gpu/hip.so many/pkg/hip$i.so
done
echo 'int nothing;' >none.c
cc -shared -o none.so none.c || exit 77
strip none.so
python3 - <<'PY'
import zipfile
none = open("none.so", "rb").read()
with zipfile.ZipFile("app.whl", "w") as z:
    z.write("data/gpu/cuda.so", "pkg/cuda.so")
    for i in range(5):
        z.writestr("pkg/none%d.so" % i, none)
with zipfile.ZipFile("none.whl", "w") as z:
    for i in range(2):
        z.writestr("pkg/none%d.so" % i, none)
PY
minspect few | grep -c GPU
minspect many
minspect --all many | grep -c '^many/pkg'
minspect app.whl | sed 's/archive, [0-9.]* KiB/archive, SIZE/; s/([0-9.]* KiB)/(SIZE)/; s/functions, [0-9.]* KiB/functions, SIZE/; /none/s/^ *[0-9.]* KiB/  SIZE/'
minspect --all app.whl | grep -c none
minspect none.whl | sed 's/archive, [0-9.]* KiB/archive, SIZE/; s/([0-9.]* KiB)/(SIZE)/; s/functions, [0-9.]* KiB/functions, SIZE/; /none/s/^ *[0-9.]* KiB/  SIZE/'
