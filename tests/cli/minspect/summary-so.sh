# the summary and tree of a library with an OpenCL kernel
minspect data/formats/01_opencl_scale.so
