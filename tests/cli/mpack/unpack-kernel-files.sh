# What is unpacked is there to be changed: another name for a kernel, another text.
mpack unpack data/formats/01_opencl_scale.blob -o dir
sed -i 's/scale_kernel/times_kernel/' dir/mpack.toml dir/1-opencl/kernels.cl
mpack build dir/mpack.toml -o new.blob
minspect new.blob | tail -n 1
