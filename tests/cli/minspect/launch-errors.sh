# a wrong call says which function and argument, what was expected and what came
export POCL_CACHE_DIR="$PWD/cache"
minspect --devices | grep -q '^opencl:0 ' || { echo "no OpenCL device"; exit 77; }
mpack build data/launch/opencl.toml -o f.so
wrong() { minspect --run "$@" 2>&1 || echo "status $?"; }
wrong saxpy f.so --input f32=1 --input 5xf32=1
wrong saxpy f.so --input str=one --input 5xf32=1 --input 5xf32=1
wrong saxpy f.so --input f32=1 --input 5xf32=1 --input 4xf32=1
wrong saxpy f.so --input f32=1 --input 5xf64=1 --input 5xf32=1
wrong saxpy f.so --input f32=1 --input 5x1xf32=1 --input 5xf32=1
wrong saxpy f.so --input f32=1 --input none --input 5xf32=1
wrong saxpy f.so --device cpu --input f32=1 --input 5xf32=1 --input 5xf32=1
wrong transpose f.so --input 2x3xf32=1 --out 2x3xf32
wrong sum f.so --input 70000xf32=1 --out 2xf32
