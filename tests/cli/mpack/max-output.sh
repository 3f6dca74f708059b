# An output never outgrows 64 MiB and 64 times its input without --max-output, and nothing is left of one that would.
command -v openssl >/dev/null || { echo "openssl is not installed"; exit 77; }
blob=data/formats/01_opencl_scale.blob
try()
{
	echo "\$ $*"
	status=0
	"$@" || status=$?
	echo "= $status"
	ls -A out 2>/dev/null
	rm -rf out/* out/.[!.]*
}

# one file of 1 MiB, packed two hundred times
head -c 1048576 /dev/zero | tr '\0' w >weights.bin
{
	printf '[package]\nname = "many"\n'
	for i in $(seq 200); do
		printf '[[module]]\nid = "m%d"\nkind = "weights"\npayload = "weights.bin"\n' "$i"
		[ "$i" = 200 ] || printf 'imports = ["m%d"]\n' $((i + 1))
	done
} >mpack.toml
mkdir out
for suffix in blob o so a tar; do try mpack build -o out/many.$suffix; done
mpack build -o many.blob --max-output 201MiB
echo "$(($(stat -c %s many.blob) > 200 << 20))"
try mpack build -o out/many.blob --max-output 200MiB
mpack build -o more.blob --max-output none
cmp more.blob many.blob
rm more.blob
# what was there stays
echo kept >out/many.c
status=0
mpack build -o out/many.c --max-output 1KiB || status=$?
echo "= $status: $(cat out/many.c)"
# 200 MiB are no more than the file that is read
rm out/many.c
mpack edit many.blob -o out/edited.blob --replace /0/0=weights.bin
ls out
rm out/edited.blob many.blob
# every command that writes
cp data/formats/01_opencl_scale.so a.so
openssl genpkey -algorithm ed25519 -out key.pem 2>/dev/null
echo '__kernel void scale_kernel(__global float *b, __global float *a, float s, int n) {}' >k.cl
echo 'extern "C" __global__ void k(float *a) {}' >k.cu
for suffix in blob o so a c tar; do try mpack build $blob -o out/a.$suffix --max-output 100; done
# a library on the way, in a folder of a random name
try mpack build $blob --standalone -o out/a.so --max-output 100 2>&1 | sed 's|mpack: /.*/|mpack: TMPDIR/|'
try mpack edit a.so -o out/b.so --replace /0=k.cl --max-output 100
try mpack edit $blob -o out/b.blob --replace /0=k.cl --max-output 100
try mpack sign a.so -o out/b.so --key key.pem --max-output 100
try mpack thin data/gpu/cuda.so -o out/b.so --keep sm_90 --max-output 100
try mpack unpack $blob -o out/files --max-output 100
try mpack init k.cu --max-output 100
# into a pipe, where nothing is a file
mpack init k.cu --max-output 100 2>&1 | grep -c module
for value in lots 0; do try mpack build -o out/a.so --max-output "$value"; done
