show() { echo "--- $*"; minspect --show "$@" || echo "status $?"; }

# the module's code, its listing, its graph; a part; a definition; one function
show / data/formats/16_relax_vmtir.blob
show /0 data/formats/04_metal.blob | head -n 4
show '/0#vadd_kernel' data/cuda/vadd_opencl.so
show '#vadd_kernel' data/cuda/ptx/vadd_cuda.so | head -n 8
show '/#main' data/legacy/mlp_vm.so | head -n 3
show 'cubin:text#scale' data/embedded/embedded.so | head -n 3
minspect --show '/0#add_kernel' data/formats/05_webgpu.blob | head -n 6

# tensors, images of a fatbin and a raw payload are bytes
minspect --show '/#w' data/formats/08_const_loader.blob >w.npy
od -An -c w.npy | head -n 1
tail -c 4 w.npy | od -An -d
minspect --show '/0#sm_90' --output image.cubin data/cuda/fatbin/vadd_cuda.so
head -c 4 image.cubin | od -An -c
minspect --show '/0#compute_90' data/cuda/fatbin/vadd_cuda.so | grep -w target
minspect --show / --raw data/formats/16_relax_vmtir.blob >raw
minspect --json data/formats/16_relax_vmtir.blob | jq -r '.files[0].tree[0] | "\(.offset) \(.bytes)"' | {
	read -r offset bytes
	tail -c +$((offset + 1)) data/formats/16_relax_vmtir.blob | head -c "$bytes" | cmp - raw
}

# what cannot be done says so
show '/0#vadd_kernel' data/cuda/cubin/vadd_cuda.so
show '/0#vad_kernel' data/cuda/vadd_opencl.so
show /1 data/cuda/vadd_opencl.so
show / data/formats/08_const_loader.blob
show vadd_kernel --raw data/cuda/vadd_opencl.so
show '' data/cuda/vadd_opencl.so
show / --json data/cuda/vadd_opencl.so
show / data/cuda/vadd_opencl.so data/cuda/vadd_opencl.so
show / --output a --output b data/cuda/vadd_opencl.so
minspect --raw data/cuda/vadd_opencl.so || echo "status $?"
