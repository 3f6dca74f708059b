# A library on standard input: a file there is mapped, and to be changed in a copy of it.
echo '__kernel void scale_kernel(__global float *x, __global float *y, float a, int n) {}' >k.cl
mpack build data/formats/01_opencl_scale.blob -o deploy.so --ldflag -Wl,-z,max-page-size=65536
test "$(wc -c <deploy.so)" -gt 65536 # less would be read, not mapped
cp deploy.so old.so
mpack edit deploy.so -o file.so --replace /0=k.cl
mpack edit - -o mapped.so --replace /0=k.cl <deploy.so
cat deploy.so | mpack edit - -o piped.so --replace /0=k.cl
cmp file.so mapped.so
cmp file.so piped.so
cmp deploy.so old.so
