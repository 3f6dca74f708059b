mpack edit data/formats/01_opencl_scale.so -o new.so --replace /7=data/formats/01_opencl_scale.blob
