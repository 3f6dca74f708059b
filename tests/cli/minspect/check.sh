# each finding says what is wrong, where, and what to do; nothing of the files or of this machine counts but
# what the options say
mkdir libs
place="--machine x86_64 --glibc 2.36 --libs libs"
# see OPTION... FILE: the verdict and its status
see()
{
	# shellcheck disable=SC2086 # a list of words
	minspect --check $place "$@" || echo "status $?"
}
echo "-- format and loaders"
see --tvm 0.27 data/formats/06_relax_vm.so
see --tvm 0.27 data/formats/07_relax_opencl.so
see --tvm ffi data/formats/06_relax_vm.so
see --tvm 0.27 data/legacy/mlp_vm.so
see --tvm 0.18 data/legacy/mlp_vm.so data/legacy/mulsub_opencl.so
see --tvm 0.17 data/legacy/mlp_vm.so
see --tvm 0.22 data/formats/06_relax_vm.so
see --tvm 0.27 data/formats/02_cuda_source_dynshmem.so
echo "-- the host"
place="--machine aarch64 --glibc 2.36 --libs libs"
see --tvm 0.27 data/formats/14_llvm_noblob.so
place="--machine x86_64 --glibc 2.3 --libs libs"
see --tvm 0.27 data/ffi/ffi_cpp.so
place="--machine x86_64 --glibc 2.36 --libs libs"
see --tvm 0.18 data/legacy/mlp_llvm.so
echo "-- the GPU"
see --tvm 0.27 --device-arch sm_90 --driver 13.0 data/cuda/cubin/vadd_cuda.so
see --tvm 0.27 --device-arch sm_100 data/cuda/cubin/vadd_cuda.so
see --tvm 0.27 --device-arch sm_100 data/cuda/fatbin/vadd_cuda.so
see --tvm 0.27 --device-arch sm_90 --driver 12.4 data/cuda/ptx/vadd_cuda.so
see --tvm 0.27 --device-arch sm_100 --driver 12.4 data/formats/03_cuda_ptx.so
see --tvm 0.27 --device-arch gfx90a data/formats/03_cuda_ptx.so
echo "-- what is not linked yet"
see --tvm 0.27 data/formats/12_syslib_prefix.tar data/formats/08_const_loader.blob
echo "-- nothing said"
see data/formats/07_relax_opencl.so
