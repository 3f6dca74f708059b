show() { echo "--- $*"; minspect --disasm "$@" || echo "status $?"; }

# a host function by the name that callers say, by its symbol, and one that is not exported
show add data/formats/07_relax_opencl.so | head -n 6
minspect --disasm=add data/formats/07_relax_opencl.so >a
minspect --disasm=/0#add data/formats/07_relax_opencl.so | cmp a -
minspect --disasm __tvm_ffi_add data/formats/07_relax_opencl.so | cmp a -
minspect -v --disasm add data/formats/07_relax_opencl.so | sed -n 2,3p
show add_compute_ data/formats/03_cuda_ptx.so | head -n 3
# calls, constants and texts have names
minspect disasm --all data/formats/03_cuda_ptx.so | grep -m 1 'callq.*add_compute_'
minspect disasm --all data/formats/03_cuda_ptx.so | grep -m 1 '"TypeError"'
minspect disasm --all data/formats/03_cuda_ptx.so | grep '^00'
minspect --disasm main data/formats/03_cuda_ptx.so
minspect --disasm data/objects/devc.arm64.o || echo "status $?"

# byte code, and the host function of the same name
show main data/formats/07_relax_opencl.so
minspect --disasm=/#main data/formats/06_relax_vm.blob | sed 1d >listing
head -n "$(wc -l <listing)" data/formats/06_relax_vm.as_text | diff -b - listing | head -n 4
show /#main data/legacy/mlp_vm.so | head -n 4

# kernels as their text, all of a module, all of a blob without host code
show vadd_kernel data/cuda/vadd_opencl.so
show '#vadd_kernel' data/cuda/ptx/vadd_cuda.so | head -n 5
show cubin:text data/embedded/embedded.so | grep -n entry
show data/formats/05_webgpu.blob | head -n 4

minspect --json --disasm main data/formats/03_cuda_ptx.so

# what is not there, and what cannot be done
show ad data/formats/07_relax_opencl.so
show /7 data/formats/07_relax_opencl.so
minspect --disasm=/ data/formats/08_const_loader.blob || echo "status $?"
show data/csource/lib0.c
show data/formats/08_const_loader.blob
show add missing.so
minspect --disasm --verify data/formats/08_const_loader.blob || echo "status $?"
