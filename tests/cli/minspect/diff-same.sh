# nothing to say about a file and its copy
cp data/formats/01_opencl_scale.so a.so
minspect --diff data/formats/01_opencl_scale.so a.so
