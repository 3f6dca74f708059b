# source texts: language, line and work-group of each kernel; PTX of TVM that no driver launches; byte code
minspect --functions data/formats/01_opencl_scale.blob data/formats/03_cuda_ptx.blob data/formats/04_metal.blob \
	data/formats/05_webgpu.blob data/formats/06_relax_vm.blob data/formats/08_const_loader.blob
# images: the kernel says which tensors of a host function are, and in three dimensions also how
minspect --functions data/texture/fixed_b2t_float32.so data/texture/t2b5_act_float32.so | grep -E 'main|OpenCL C:'
# a demanded block, vectors, C++ symbols
cat >k.cl <<'END'
__kernel __attribute__((reqd_work_group_size(8, 4, 1))) void k(__global const float4 *A, __local int *s, float4 v, Other o) { get_global_id(1); }
__kernel __attribute__((reqd_work_group_size(8, 4, 1))) void f(__global const float4 *A, uint n) { get_global_id(1); }
END
mpack init k.cl >mpack.toml
mpack build -q -o k.so && minspect --functions k.so | grep -A 2 '^  f(h'
sed 's/scale/_Z5scalePfPKffi/g' "$DATA/device/two.ptx" >scale.ptx
mpack init scale.ptx >mpack.toml
mpack build -q -o scale.so && minspect --functions scale.so | grep 'run _Z'
