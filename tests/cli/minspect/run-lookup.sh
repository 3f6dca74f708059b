# functions the code looks up: a global one, one for a device that is not there, one nobody has
cc -shared -fPIC -o ffi.so "$ROOT/tests/modules/ffi.c"
cc -shared -fPIC -DV021 -o ffi021.so "$ROOT/tests/modules/ffi.c"
cc -shared -fPIC -o legacy.so "$ROOT/tests/modules/legacy.c"
for m in ffi ffi021 legacy; do
	minspect --run set_device $m.so --input 1
	minspect --run set_device $m.so --input 99 2>error || { echo $?; sed 's/.*error: //' error; }
	minspect --run find_nobody $m.so || echo $?
done
