# two wheels, two folders: every file that differs is told, also one that holds no module and no code for GPUs
export CUDA_HOME="$PWD/none"
for v in 1 2; do
	echo "int v(void) { return $v; }" | gcc -shared -fPIC -x c -o v$v.so -
done
cat >make.py <<'END'
import sys
import zipfile

name, *files = sys.argv[1:]
with zipfile.ZipFile(name, "w") as z:
    for pair in files:
        path, source = pair.split("=")
        z.writestr(zipfile.ZipInfo(path), open(source, "rb").read())
END
module=data/formats/01_opencl_scale.so
echo "a text" >text.txt
python3 make.py old.whl k/module.so=$module k/helper.so=v1.so k/text.txt=text.txt
python3 make.py new.whl k/module.so=$module k/helper.so=v2.so k/text.txt=text.txt
python3 make.py short.whl k/module.so=$module
python3 make.py other.whl k/module.so=v1.so k/text.txt=text.txt k/more.txt=text.txt
python3 make.py host.whl k/helper.so=v1.so k/text.txt=text.txt
python3 make.py host2.whl k/helper.so=v2.so k/text.txt=text.txt
look() { minspect diff "$@" | sed 's/[0-9.]* KiB/N KiB/g; s/[+-][0-9]* B/N B/'; }
status() { minspect diff "$@" >/dev/null && echo "status 0" || echo "status $?"; }
for pair in "old.whl new.whl" "old.whl short.whl" "old.whl other.whl" "other.whl old.whl" "host.whl host2.whl" \
	"old.whl old.whl" "host.whl host.whl"; do
	echo "== $pair"
	# shellcheck disable=SC2086 # two words
	look $pair
	# shellcheck disable=SC2086
	status $pair
done
# the metadata of two versions are in folders of two names
python3 make.py old-1.0.whl k/helper.so=v1.so k-1.0.dist-info/METADATA=v1.so k-1.0.dist-info/WHEEL=text.txt k-1.0.dist-info/LICENSE=text.txt
python3 make.py new-1.1.whl k/helper.so=v1.so k-1.1.dist-info/METADATA=v2.so k-1.1.dist-info/WHEEL=text.txt k-1.1.dist-info/RECORD=text.txt
look old-1.0.whl new-1.1.whl
minspect diff old-1.0.whl new-1.1.whl --json | jq -c '.files[] | [.file, .other]'
mkdir before after
cp $module before/module.so
cp $module before/other.so
cp v1.so after/module.so
look before after
look after before
status before after
status after before
status before before
minspect diff before after --json | jq -c '.files[] | [.file, .other, (.differences[] | [.change, .what, .name])]'
minspect diff before after --markdown | grep -c file
# many files: the text is cut, data are whole
python3 - <<'END'
import zipfile
for side in 1, 2:
    with zipfile.ZipFile(f"many{side}.whl", "w") as z:
        for i in range(500):
            z.writestr(zipfile.ZipInfo(f"f{i:03}.txt"), str(i * side))
END
minspect diff many1.whl many2.whl | sed -n '1,3p; /more files/,$p'
test "$(minspect diff many1.whl many2.whl | wc -l)" -le 60
minspect diff many1.whl many2.whl --all | grep -c '^~'
minspect diff many1.whl many2.whl --json | jq '.files | length'
# two libraries and two archives that hold no module, by themselves; of archives every member
minspect diff v1.so v1.so
minspect diff v1.so v2.so | head -n 2 | grep -c '^[-+]'
for v in 1 2; do
	echo "int v(void) { return $v; }" | gcc -c -x c -o v.o -
	echo "int w(void) { return 1; }" | gcc -c -x c -o w.o -
	rm -f "l$v.a"
	ar rcsD "l$v.a" v.o w.o
done
ar rcsD l2.a v.o w.o text.txt
minspect diff l1.a l2.a | grep member
tar cf t1.tar v.o w.o
tar cf t2.tar w.o
minspect diff t1.tar t2.tar | grep member | sed 's/: .*//'
minspect diff t1.tar t2.tar >/dev/null || echo "status $?"
minspect diff t1.tar t1.tar
