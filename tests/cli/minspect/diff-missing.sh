minspect --diff missing.so data/cuda/ptx/vadd_cuda.so
