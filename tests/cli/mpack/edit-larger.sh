# A payload that does not fit where the old one is; the library still loads and strips.
mpack unpack data/formats/01_opencl_scale.blob -o dir
{ cat dir/1-opencl/kernels.cl; printf '/* %2000s */' more; } >new.cl
mpack edit data/formats/01_opencl_scale.so -o new.so --replace /0=new.cl
minspect --json new.so | grep -c '"kind": "opencl"'
strip new.so -o stripped.so
minspect stripped.so | tail -n 3
