sed 's/vadd_kernel(/vsub_kernel(/g' data/cuda/ptx/vadd_cuda.so >a.so
minspect --verify --json a.so
