# a wrong call says which function and argument, what was expected and what came: in a case file the function
# itself, since minspect leaves it to that; typed, minspect before the function runs
export POCL_CACHE_DIR="$PWD/cache"
minspect --devices | grep -q '^opencl:0 ' || { echo "no OpenCL device"; exit 77; }
mpack build data/launch/opencl.toml -o f.so
cat >wrong.toml <<'END'
[[case]]
name = "count"
run = "saxpy"
args = [{ input = "f32=1" }, { input = "5xf32=1" }]
raises = "TypeError: saxpy: takes 3 arguments, got 2, when calling saxpy(alpha: float32, x: Tensor([n], float32), y: Tensor([n], float32))"

[[case]]
name = "scalar"
run = "saxpy"
args = [{ input = "str=one" }, { input = "5xf32=1" }, { input = "5xf32=1" }]
raises = "TypeError: saxpy: argument 'alpha': expected a number (float32), got str"

[[case]]
name = "size"
run = "saxpy"
args = [{ input = "f32=1" }, { input = "5xf32=1" }, { input = "4xf32=1" }]
raises = "ValueError: saxpy: argument 'y': dimension 0 is 4, expected n = 5"

[[case]]
name = "type"
run = "saxpy"
args = [{ input = "f32=1" }, { input = "5xf64=1" }, { input = "5xf32=1" }]
raises = "TypeError: saxpy: argument 'x': expected float32, got float64"

[[case]]
name = "rank"
run = "saxpy"
args = [{ input = "f32=1" }, { input = "5x1xf32=1" }, { input = "5xf32=1" }]
raises = "ValueError: saxpy: argument 'x': expected 1 dimension, got 2"

[[case]]
name = "swapped"
run = "transpose"
args = [{ input = "2x3xf32=1" }, { out = "2x3xf32" }]
raises = "ValueError: transpose: argument 'y': dimension 0 is 2, expected cols = 3"

[[case]]
name = "fixed"
run = "sum"
args = [{ input = "70000xf32=1" }, { out = "2xf32" }]
raises = "ValueError: sum: argument 'total': dimension 0 is 2, expected 1"
END
minspect --cases wrong.toml f.so
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
