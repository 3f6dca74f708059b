minspect --budget 1MB data/cuda/cubin/vadd_cuda.so
