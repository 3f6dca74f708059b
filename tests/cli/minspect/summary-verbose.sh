# -v looks into code and tensors; without it payload bytes are left alone and nothing of that is said
minspect -v data/formats/07_relax_opencl.so data/cuda/cubin/vadd_cuda.so data/formats/05_webgpu.blob data/formats/08_const_loader.blob
minspect data/cuda/cubin/vadd_cuda.so | grep -c registers || true
