minspect --functions --json data/formats/01_opencl_scale.so
