# sound files: one line each
minspect --verify data/formats/01_opencl_scale.so data/relax/gelu.so data/cuda/cubin/vadd_cuda.so
