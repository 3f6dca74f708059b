# source texts: language, line and work-group of each kernel; PTX of TVM that no driver launches; byte code
minspect --functions data/formats/01_opencl_scale.blob data/formats/03_cuda_ptx.blob data/formats/04_metal.blob \
	data/formats/05_webgpu.blob data/formats/06_relax_vm.blob data/formats/08_const_loader.blob
