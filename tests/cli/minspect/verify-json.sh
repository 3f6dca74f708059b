sed 's/scale_kernel(/other_kernel(/g' data/formats/01_opencl_scale.blob >a.blob
minspect --verify --json a.blob
