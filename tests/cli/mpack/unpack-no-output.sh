mpack unpack data/formats/01_opencl_scale.so
