# the times of many calls
cc -shared -fPIC -o m.so "$ROOT/tests/modules/ffi.c"
minspect --run add_one m.so --input 2xf32=1,2 --out 2xf32 --warmup 2 --repeat 5
