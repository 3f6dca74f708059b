minspect --verfy data/formats/01_opencl_scale.so
