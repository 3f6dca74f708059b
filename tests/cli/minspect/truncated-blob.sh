head -c 800 data/formats/01_opencl_scale.blob >a.blob
minspect a.blob
