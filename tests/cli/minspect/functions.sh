minspect --functions data/formats/02_cuda_source_dynshmem.so data/ffi/ffi_cpp.so
