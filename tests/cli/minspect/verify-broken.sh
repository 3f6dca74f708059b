# what cannot be read at all is a finding like any other
head -c 9000 data/formats/01_opencl_scale.so >a.so
minspect --verify a.so data/formats/02_cuda_source_dynshmem.so
