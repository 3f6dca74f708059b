# An output never outgrows 64 MiB and 64 times its input without --max-output, and nothing is left of one that would.
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
so=data/formats/07_relax_opencl.so
try()
{
	echo "\$ $*"
	status=0
	"$@" || status=$?
	echo "= $status"
	ls -A out 2>/dev/null
	rm -rf out/* out/.[!.]*
}
mkdir out
try minspect extract out/files $so --max-output 1000
try minspect extract out/files $so --max-output 10kB --digest none
try minspect html out/page.html $so --max-output 1000
try minspect html out/page.html $so $so --max-output 1000
try minspect header out/h.h $so --max-output 10
try minspect baseline out/b.json --update-baseline data/gpu/cuda.so --max-output 10
try minspect svg -o out/map.svg $so --max-output 100
try minspect json -o out/a.json $so --max-output 100
try minspect functions -o out/a.txt $so --max-output 10
try minspect size --csv -o out/a.csv $so --max-output 10
try minspect sbom -o out/a.json $so --max-output 10
try minspect diff $so -o out/a.txt data/gpu/cuda.so --max-output 10
try minspect show /0 -o out/a $so --max-output 10
try minspect dot tree -o out/a.dot $so --max-output 10
try minspect verify --json -o out/a.json $so --max-output 10
# what was there stays
echo kept >out/a.txt
status=0
minspect size -o out/a.txt $so --max-output 10 || status=$?
echo "= $status: $(cat out/a.txt)"
rm out/a.txt
# the shell's file has no more in it than is allowed; a pipe is no file
status=0
minspect json $so --max-output 2kB >shell.json || status=$?
echo "= $status, more than 2000 bytes: $([ "$(stat -c %s shell.json)" -gt 2000 ] && echo yes || echo no)"
minspect json $so --max-output 2kB | python3 -c 'import json, sys; json.load(sys.stdin)'
# enough is enough
minspect json $so -o all.json --max-output "$(minspect json $so | wc -c)"
! minspect json $so -o less.json --max-output "$(($(minspect json $so | wc -c) - 1))"
test ! -e less.json
minspect html - $so $so | grep -c '<title>'
for value in lots 0 -1 1XB ''; do try minspect json -o out/a.json $so --max-output "$value"; done

# The limit without the option goes by what is read: a file of 1 MiB that text is many times as large as
cat >make.py <<'END'
import json, struct
# tensors without bytes: each takes 9 bytes of the file's header and is described at length
names = {"t%x" % i: {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(20000)}
head = json.dumps(names).encode()
open("many.safetensors", "wb").write(struct.pack("<Q", len(head)) + head)
END
python3 make.py
minspect json many.safetensors -o many.json
echo "$(($(stat -c %s many.json) <= (64 << 20) + 64 * $(stat -c %s many.safetensors)))"
# a result of called code is of any size, and has a limit where one is asked for
run() { minspect run gelu data/relax/gelu.so --input 4x48xf32=rand:3 --out 4x48xf32 -o "@$1" "$2" "$3" >/dev/null; }
run out/whole.npy --max-output none
rm out/whole.npy
try run out/less.npy --max-output 800
