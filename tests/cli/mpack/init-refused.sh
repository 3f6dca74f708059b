# what no manifest can be made of
try() { mpack init "$@" || echo "status $?"; }
try
try missing.cl
printf '__kernel void k(__local float *x) { }\n' >local.cl
try local.cl
printf '#define K(name) __kernel void name(__global float *x) { }\nK(a)\n' >macro.cl
try macro.cl
printf '__kernel void k(__global float *x { }\n' >broken.cl
try broken.cl
: >empty.cl
try empty.cl
printf '{}\n' >model.json
try model.json
cp data/formats/01_opencl_scale.so lib.so
try lib.so
cp lib.so more.so
printf '__kernel void k(__global float *x) { }\n' >k.cl
try lib.so more.so
printf 'int x;\n' >host.c
try lib.so host.c k.cl
try data/formats/14_llvm_noblob.so k.cl
head -c 100 data/device/two.sm_90.cubin >cut.cubin
try cut.cubin
try data/device/kernel.spv
try --output x k.cl
