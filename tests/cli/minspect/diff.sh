# host code, kernels' code, modules of another kind
minspect --diff data/cuda/cubin/vadd_cuda.so data/cuda/ptx/vadd_cuda.so data/cuda/cubin/saxpy_cuda.so \
	data/cuda/vadd_opencl.so
