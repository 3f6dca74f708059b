head -c 9000 data/formats/01_opencl_scale.so >a.so
minspect a.so
