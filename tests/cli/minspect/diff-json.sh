minspect --json --diff data/cuda/cubin/vadd_cuda.so data/cuda/ptx/vadd_cuda.so
