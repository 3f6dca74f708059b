# threads with barriers, workspace, initialisation: what compiled code asks of its loader
cc -shared -fPIC -o ffi.so "$ROOT/tests/modules/ffi.c"
cc -shared -fPIC -DV021 -o ffi021.so "$ROOT/tests/modules/ffi.c"
cc -shared -fPIC -o legacy.so "$ROOT/tests/modules/legacy.c"
for m in ffi ffi021 legacy; do
	minspect --run parallel $m.so --input 1 --out 1xi32
	minspect --run parallel $m.so --input 37 --out 37xi32
	minspect --run workspace $m.so
done
for m in ffi ffi021; do
	minspect --run init_once $m.so
	minspect --run run_once $m.so
	minspect --run run_once_nested $m.so --timeout 20
	# as many as threads are there and more, so that a late one costs a piece
	tasks=$(TVM_NUM_THREADS=3 minspect --run task_count $m.so)
	test "${tasks#i64=}" -ge 2 && echo "several tasks"
	minspect --run parallel_deep $m.so
	minspect --run parallel_failure $m.so || echo $?
	minspect --run device_workspace $m.so || echo $?
done
