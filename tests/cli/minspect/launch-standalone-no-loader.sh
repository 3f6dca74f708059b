# neither a standalone library nor minspect finds OpenCL: what to install is said by both
mpack build data/launch/standalone.toml -o f.so
mkdir none
: >none/libOpenCL.so.1
: >none/libOpenCL.so
LD_LIBRARY_PATH=$PWD/none minspect --devices 2>&1 | grep -F "; install OpenCL's loader (Debian: ocl-icd-libopencl1)" | wc -l
LD_LIBRARY_PATH=$PWD/none minspect --run saxpy f.so --input f32=2.5 --input 3xf32=1 --out 3xf32 2>&1 | grep -o '; install .*'
