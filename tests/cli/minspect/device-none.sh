# no driver, no device: one line and exit status 7
mkdir none
export OCL_ICD_VENDORS="$PWD/none"
minspect --run vadd data/cuda/vadd_opencl.so --input 1024xf32=1 --input 1024xf32=2 --out 1024xf32
