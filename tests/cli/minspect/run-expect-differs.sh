# one result is not what was expected, the next is compared all the same
cc -shared -fPIC -o m.so "$ROOT/tests/modules/ffi.c"
minspect --run add_one m.so --input 2x2xf32=1,2,3,4 --out 2x2xf32 --expect 2x2xf32=2,3,4,6 --expect 5
