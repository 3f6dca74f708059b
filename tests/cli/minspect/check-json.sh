# the document has what the text says, and what the place was
mkdir libs
minspect --json --check --tvm ffi --machine x86_64 --glibc 2.36 --libs libs --device-arch sm_90 --driver 12.4 \
	data/cuda/ptx/vadd_cuda.so
