# What --replace refuses, each with its reason and status.
echo '@compute @workgroup_size(1) fn add_kernel() { }' >new.wgsl
try() {
	mpack edit "data/$1" -o new.blob --replace "$2" ${3:+--replace "$3"} || echo $?
}
try formats/05_webgpu.blob /0=new.wgsl
try formats/05_webgpu.blob /0#ad_kernel=new.wgsl
try formats/05_webgpu.blob /0#add_kernel=new.wgsl /0#add_kernel=new.wgsl
try formats/05_webgpu.blob /0#add_kernel=data/device/two.ptx
try formats/01_opencl_scale.blob /0#scale_kernel=new.wgsl
try formats/01_opencl_scale.blob /0=data/device/two.sm_90.cubin
try formats/03_cuda_ptx.blob /0=data/device/two.sm_90.cubin
try cuda/cubin/vadd_cuda.so /0=data/device/two.ptx
try formats/06_relax_vm.blob /=new.wgsl
try formats/06_relax_vm.blob /#main=new.wgsl
test ! -e new.blob
