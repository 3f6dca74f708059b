# edit refuses what --verify refuses: a text that is no kernel, a prototype, another table, no module
cp data/formats/01_opencl_scale.blob a.blob
edit() # FILE
{
	mpack edit "$2" -o b.blob --replace "$3=$1" || echo "status $?"
	test ! -e b.blob
}
echo 'How to build: read this. scale_kernel is a kernel.' >README
edit README a.blob /0
printf '# Kernels\n\n## Build\n\nscale_kernel is built by make.\n' >README
edit README a.blob /0
echo '__kernel void scale_kernel(__global float *b, __global float *a, float s, int n);' >proto.cl
edit proto.cl a.blob /0
printf '// Function: other\n__kernel void scale_kernel(__global float *b, __global float *a, float s, int n) {}\n' >other.cl
edit other.cl a.blob /0
mpack unpack data/formats/03_cuda_ptx.blob -o dir 2>/dev/null
sed 's/add_kernel/sub_kernel/' dir/*cuda/kernels.ptx >other.ptx
edit other.ptx data/formats/03_cuda_ptx.blob /0
printf '\1' >one
edit one data/formats/08_const_loader.blob /
edit one data/formats/06_relax_vm.blob /
