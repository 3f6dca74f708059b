# objects that the module makes are read and freed once; an argument has one reference
cc -shared -fPIC -o ffi.so "$ROOT/tests/modules/ffi.c"
cc -shared -fPIC -DV021 -o ffi021.so "$ROOT/tests/modules/ffi.c"
for m in ffi ffi021; do
	minspect --run make_str $m.so
	minspect --run make_tensor $m.so --expect 2x2xf32=1,3,2,4
	minspect --run make_function $m.so
	minspect --run references $m.so --input 1xf32 --expect 1
done
