minspect --functions --verify data/formats/01_opencl_scale.so
