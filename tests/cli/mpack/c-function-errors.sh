# what a call of a C function refuses, and how it says so
cp "$DATA/launch/cfunctions.c" .
mpack init cfunctions.c >mpack.toml
mpack build -o out.so
refused() {
	status=0
	minspect --run "$@" >/dev/null 2>err || status=$?
	sed 's/^.*error: //; s/; call it with.*//' err
	test "$status" -eq 8
}
refused axpb out.so --input 1001xf32 --out 1001xf32 --input 2
refused axpb out.so --input 3xf32 --out 4xf32 --input 2
refused axpb out.so --input 3xf64 --out 3xf32 --input 2
refused axpb out.so --input 3x1xf32 --out 3xf32 --input 2
refused axpb out.so --input 3xf32 --out 3xf32
refused axpb out.so --input 3xf32 --input 2 --input 2
refused give_i32 out.so --input 2147483648
refused give_i32 out.so --input 1.5
refused all out.so --input 128 --input 0 --input 0 --input 0 --input 0 --input 0 --input 0 --input 0 --input 0 \
	--input 0 --input 0 --out 11xi64
refused all out.so --input 0 --input -1 --input 0 --input 0 --input 0 --input 0 --input 0 --input 0 --input 0 \
	--input 0 --input 0 --out 11xi64
