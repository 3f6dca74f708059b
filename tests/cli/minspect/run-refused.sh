# What --verify finds errors in is not run, unless its user insists.
cp data/formats/01_opencl_scale.so broken.so
sed -i 's/__kernel void scale_kernel/__kernel void scale_kernex/' broken.so
minspect --verify broken.so || echo "status $?"
call="--input 4xf32=rand --out 4xf32 --input f32=1"
minspect --run scale broken.so $call || echo "status $?"
minspect --run scale broken.so $call --force 2>&1 | grep -c 'not run' || true
