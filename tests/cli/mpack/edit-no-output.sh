mpack edit data/formats/01_opencl_scale.so --replace /0=x
