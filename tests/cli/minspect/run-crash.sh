# a crash of the module is a result, not an end
cc -shared -fPIC -o m.so "$ROOT/tests/modules/ffi.c"
for f in crash abort_it leave; do
	minspect --run $f m.so || echo $?
done
minspect --run crash m.so
