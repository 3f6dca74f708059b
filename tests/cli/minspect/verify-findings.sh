# a kernel whose name is not in its code, bytes behind the last module
sed 's/scale_kernel(/other_kernel(/g' data/formats/01_opencl_scale.blob >a.blob
minspect --verify a.blob
