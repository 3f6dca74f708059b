minspect --extract out data/formats/01_opencl_scale.so data/formats/04_metal.blob
