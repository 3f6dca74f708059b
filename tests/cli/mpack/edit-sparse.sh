# A library of 20 GiB that is a hole for the most part: what is edited of it is written, the hole stays one and is not
# read. The same library without the hole gives the same bytes.
cp data/formats/01_opencl_scale.so lib.so
chmod u+w lib.so
echo '__kernel void scale_kernel(__global float *b, __global float *a, float s, int n) {}' >k.cl
cp lib.so dense.so
head -c 4194304 /dev/zero >>dense.so
cp --sparse=always dense.so holes.so
[ "$(stat -c %b holes.so)" -lt 1000 ] || { echo "this file system has no holes"; exit 77; }
mpack edit dense.so -o one.so --replace /0=k.cl
mpack edit holes.so -o other.so --replace /0=k.cl
cmp one.so other.so
truncate -s 20G lib.so
prlimit --cpu=5 mpack edit lib.so -o edited.so --replace /0=k.cl
stat -c %s edited.so
echo "$(($(stat -c %b edited.so) < 1000))"
head -c 1048576 one.so >a
head -c 1048576 edited.so >b
minspect show /0 -o was.cl one.so
minspect show /0 -o is.cl edited.so
cmp was.cl is.cl
