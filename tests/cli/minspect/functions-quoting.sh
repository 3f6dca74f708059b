# the call line survives a shell
cp data/formats/01_opencl_scale.so "it's here.so"
minspect --functions "it's here.so"
