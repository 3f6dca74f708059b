# one byte of a kernel's source, one of a kernel's signature
sed 's/__kernel void/__kernel  oid/' data/formats/01_opencl_scale.blob >a.blob
minspect --diff data/formats/01_opencl_scale.blob a.blob || test $? = 1
sed 's/blockIdx.x/blockIdx.y/' data/formats/01_opencl_scale.blob >b.blob
minspect --diff data/formats/01_opencl_scale.blob b.blob || test $? = 1
# added and removed modules, and bytes that mean nothing
{ cat data/formats/01_opencl_scale.blob; printf x; } >c.blob
minspect --diff data/formats/01_opencl_scale.blob c.blob || test $? = 1
minspect --diff data/formats/01_opencl_scale.blob data/formats/07_relax_opencl.blob
