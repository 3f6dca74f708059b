cp data/formats/01_opencl_scale.so a.so
minspect 'a.so(devc.o)'
