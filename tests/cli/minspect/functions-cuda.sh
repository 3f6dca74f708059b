# what the code of CUDA modules says of its kernels: PTX, machine code and a fatbin of nvcc
for format in ptx cubin fatbin; do
	minspect --functions data/cuda/$format/saxpy_cuda.so
done
