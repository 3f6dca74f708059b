# LLVM knows the architecture, but cannot make objects for it.
mpack build data/formats/01_opencl_scale.blob --target nvptx64-nvidia-cuda -o deploy.o
