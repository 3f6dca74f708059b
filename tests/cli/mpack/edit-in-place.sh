# The input is the output, and what is not replaced stays: twice there and back. Source without
# lines that name kernels gets them, as TVM's loader wants them.
cp data/formats/01_opencl_scale.blob a.blob
echo '__kernel void scale_kernel(__global float *b, __global float *a, float s, int n) {}' >new.cl
mpack edit a.blob -o a.blob --replace /0=new.cl
cmp -s a.blob data/formats/01_opencl_scale.blob && exit 1
minspect a.blob | tail -n 3
minspect --extract files a.blob >/dev/null
cat files/*opencl/kernels.cl
minspect --verify a.blob
