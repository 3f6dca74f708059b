minspect --size --budget 10furlongs data/cuda/cubin/vadd_cuda.so
