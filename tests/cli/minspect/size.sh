minspect --size data/formats/07_relax_opencl.blob data/cuda/cubin/vadd_cuda.so
