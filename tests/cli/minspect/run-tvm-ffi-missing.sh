# a library that needs libtvm_ffi.so, where that is not
for found in /usr/local/lib/python3*/*-packages/tvm_ffi /usr/lib/python3/dist-packages/tvm_ffi; do
	test ! -e "$found" || { echo "libtvm_ffi.so is installed for all"; exit 77; }
done
unset VIRTUAL_ENV CONDA_PREFIX MPK_TVM_FFI
HOME=/nonexistent minspect --run mul_ints data/ffi/ffi_cpp.so || echo $?
minspect --run mul_ints --tvm-ffi nowhere.so data/ffi/ffi_cpp.so
