# every kind of value goes in and comes back, in the three calling conventions
cc -shared -fPIC -o ffi.so "$ROOT/tests/modules/ffi.c"
cc -shared -fPIC -DV021 -o ffi021.so "$ROOT/tests/modules/ffi.c"
cc -shared -fPIC -o legacy.so "$ROOT/tests/modules/legacy.c"
for m in ffi ffi021 legacy; do
	echo "$m"
	for v in none true -5 f32=1.5 str=hi str=longer_than_seven bytes=00ff \
		bytes=00112233445566778899 shape=2,3 dtype=int8 device=cuda:1 2x2xi16=1,2,3,4; do
		minspect --run type_of $m.so --input $v >type.txt || { echo "$v refused: $?"; continue; }
		echo "type $(cat type.txt): $(minspect --run echo $m.so --input $v --expect $v)"
	done
done
