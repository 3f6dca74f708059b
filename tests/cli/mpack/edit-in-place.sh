# The input is the output, and what is not replaced stays: twice there and back.
cp data/formats/01_opencl_scale.blob a.blob
echo '__kernel void other(void) {}' >new.cl
mpack edit a.blob -o a.blob --replace /0=new.cl
cmp -s a.blob data/formats/01_opencl_scale.blob && exit 1
minspect a.blob | tail -n 3
