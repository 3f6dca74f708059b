minspect --size --budget 10KiB data/cuda/cubin/vadd_cuda.so | head -1
minspect -q --size --budget 10KiB data/cuda/cubin/vadd_cuda.so >out
