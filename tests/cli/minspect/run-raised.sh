# what the function raises is shown with its kind, on one line, made safe for the terminal
cc -shared -fPIC -o ffi.so "$ROOT/tests/modules/ffi.c"
cc -shared -fPIC -o legacy.so "$ROOT/tests/modules/legacy.c"
for f in raise_value_error raise_parts raise_nothing; do
	minspect --run $f ffi.so || echo $?
done
for f in raise_plain raise_kind; do
	minspect --run $f legacy.so || echo $?
done
minspect --run add data/formats/14_llvm_noblob.so --input 4xf32 --input 16xf32 --out 16xf32 || echo $?
