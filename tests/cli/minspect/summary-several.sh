# constants, a relax executable over host code over kernels; a bare blob; host code alone
minspect data/formats/08_const_loader.blob data/formats/07_relax_opencl.so data/formats/05_webgpu.blob data/formats/14_llvm_noblob.so
