# a function that closes every descriptor has misbehaved; it is named
cc -shared -fPIC -o m.so "$ROOT/tests/modules/ffi.c"
minspect --run close_all m.so
