# A bill of materials of one file, the same every time; a time only where SOURCE_DATE_EPOCH gives one.
minspect --sbom data/formats/02_cuda_source_dynshmem.so
minspect --sbom=cyclonedx data/formats/02_cuda_source_dynshmem.so >a
minspect --json --sbom data/formats/02_cuda_source_dynshmem.so | cmp - a
minspect --sbom=spdx data/formats/02_cuda_source_dynshmem.so
SOURCE_DATE_EPOCH=1700000000 minspect --sbom=spdx data/formats/01_opencl_scale.blob | grep created
sha256sum data/formats/02_cuda_source_dynshmem.so | cut -d' ' -f1 >sum
grep -c -f sum a
