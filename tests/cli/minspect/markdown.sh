# summaries for a pull request: a hostile text ends no fence, no cell and no element
sed 's/__kernel void/````~ <img> |/' data/formats/01_opencl_scale.blob >fence.blob
sed 's/alpha/@team/g; s/scale_kernel/a|`b<i>@c.dx/g' data/formats/01_opencl_scale.blob >names.blob
minspect --markdown --diff data/formats/01_opencl_scale.blob fence.blob || test $? = 1
minspect --markdown --diff data/formats/01_opencl_scale.blob names.blob || test $? = 1
minspect --markdown --diff data/formats/01_opencl_scale.blob data/formats/01_opencl_scale.blob
minspect --markdown --diff data/cuda/cubin/vadd_cuda.so data/cuda/cubin/saxpy_cuda.so || test $? = 1
minspect --markdown --size data/cuda/cubin/vadd_cuda.so names.blob
minspect --markdown --json --size names.blob 2>&1 || echo "status $?"
minspect --markdown names.blob 2>&1 || echo "status $?"
