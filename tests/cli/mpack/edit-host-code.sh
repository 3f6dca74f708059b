mpack edit data/formats/01_opencl_scale.so -o new.so --replace /=data/formats/01_opencl_scale.blob
